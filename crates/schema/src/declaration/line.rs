//! A tool in one line, for a context without room for its schema: `github__create_issue(owner,
//! repo, title, body?: string) · Opens an issue`.

use std::cell::Cell;

use kitbag_domain::text::{first_sentence, strip_to_one_line};
use kitbag_wire::RawObject;
use serde_json::Value;

use super::members::DeclaredMembers;
use super::type_writer::{Spot, TypeWriter};
use super::{Extent, LINE, MAX_PARTS};
use crate::usage::usage;

/// How much of a tool its line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineDetail {
    /// The parameters, and the first sentence of the description.
    Brief,
    /// Additionally the members of objects within the arguments, and the sentences that explain how
    /// to fill the arguments.
    Guided,
}

/// In bytes. A longer list of parameters is shown without the members of objects.
const MAX_PARAMETERS: usize = 400;

const BRIEF: Extent = Extent {
    levels: 1,
    optional: 6,
    choices: 5,
    ..LINE
};

const GUIDED: Extent = Extent { levels: 2, ..BRIEF };

/// Returns the line for a definition under its exposed name.
#[must_use]
pub fn signature(name: &str, definition: &RawObject, detail: LineDetail) -> String {
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    let guided = (detail == LineDetail::Guided).then(|| parameters(&schema, &GUIDED));
    let parameters = guided
        .filter(|text| text.len() <= MAX_PARAMETERS)
        .unwrap_or_else(|| parameters(&schema, &BRIEF));
    let about = match detail {
        LineDetail::Brief => first_sentence(&description),
        LineDetail::Guided => guided_summary(&description, &schema),
    };
    let separator = if about.is_empty() { "" } else { " · " };
    format!("{name}({parameters}){separator}{about}")
}

/// Returns the first sentence of a description and the sentences that explain how to fill the
/// arguments.
pub(super) fn guided_summary(description: &str, schema: &Value) -> String {
    let first = first_sentence(description);
    let usage = usage(description, schema);
    match (first.is_empty(), usage.is_empty()) {
        (_, true) => first,
        (true, false) => usage,
        (false, false) => format!("{first}. {usage}"),
    }
}

/// Returns the type of a parameter.
#[must_use]
pub fn parameter_type(schema: &Value, name: &str) -> String {
    let part = schema.get("properties").and_then(|it| it.get(name));
    part.map_or_else(String::new, |part| {
        let text = writer(schema, &GUIDED).type_of(part, &Spot::default().deeper());
        strip_to_one_line(&text.text)
    })
}

/// Returns the parameters, required ones first. Only some of the optional ones are shown.
fn parameters(schema: &Value, extent: &Extent) -> String {
    let Some(object) = schema.as_object() else {
        return String::new();
    };
    let members = DeclaredMembers::from_object(object);
    let writer = writer(schema, extent);
    let required = members.required.iter();
    let required = required.map(|(name, part)| match writer.parameter(part, "") {
        // Most parameters are strings, so that type is omitted.
        kind if kind == "string" => strip_to_one_line(name),
        kind => format!("{}: {kind}", strip_to_one_line(name)),
    });
    let optional = members.optional.iter().take(extent.optional);
    let optional = optional.map(|(name, part)| {
        format!(
            "{}?: {}",
            strip_to_one_line(name),
            writer.parameter(part, "?")
        )
    });
    let mut shown: Vec<String> = required.chain(optional).collect();
    if members.optional.len() > extent.optional {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

impl TypeWriter<'_> {
    fn parameter(&self, part: &Value, mark: &str) -> String {
        self.type_of_member(part, mark, &Spot::default().deeper())
            .text
    }
}

fn writer<'a>(schema: &'a Value, extent: &'a Extent) -> TypeWriter<'a> {
    TypeWriter {
        root: schema,
        extent,
        levels: extent.levels,
        parts_left: Cell::new(MAX_PARTS),
    }
}
