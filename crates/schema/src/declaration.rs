//! The signature of a tool in TypeScript, from which a model writes a correct call:
//! `tools.github.create_issue(args: { title: string; labels?: string[] }): Promise<any> // Opens an
//! issue`.

mod comment;
mod line;
mod literal;
mod members;
#[cfg(test)]
mod tests;
mod type_text;
mod type_writer;

use std::cell::Cell;

use kitbag_domain::text::{first_sentence, strip_to_one_line};
use kitbag_wire::RawObject;
use serde_json::Value;

use line::guided_summary;
use type_text::TypeText;
use type_writer::{Spot, TypeWriter};

pub use line::{LineDetail, parameter_type, signature};

/// How much of a tool is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclarationSize {
    /// One line: the names and types of the arguments, and the first sentence of the description.
    Short,
    /// The same line with the sentences that explain how to fill the arguments.
    Guided,
    /// Several lines, with descriptions, defaults and limits as comments.
    Full,
}

/// Returns the declaration of a tool under the expression with which a program calls it.
///
/// The definition is the server's text. Each part of it is shown as a type or in a comment that it
/// cannot escape, without invisible characters. A schema too large for the size loses comments
/// first, then its depth, then optional members, which `/*…*/` replaces.
#[must_use]
pub fn declaration(call: &str, definition: &RawObject, size: DeclarationSize) -> String {
    let tool = ToolSchemas::from_definition(definition);
    let (extents, most) = match size {
        DeclarationSize::Short | DeclarationSize::Guided => (SHORT.as_slice(), MAX_SHORT),
        DeclarationSize::Full => (FULL.as_slice(), MAX_FULL),
    };
    let mut texts = extents.iter().map(|extent| tool.declare(call, extent));
    let fitting = texts.by_ref().find(|text| text.len() <= most);
    let (before, after) = tool.comments(size);
    let signature = fitting.unwrap_or_else(|| tool.declare(call, &LEAST));
    format!("{before}{signature}{after}")
}

/// Returns the expression with which a program calls a tool: `tools.github.create_issue`.
#[must_use]
pub fn member_call(server: &str, tool: &str) -> String {
    format!("tools{}{}", literal::member(server), literal::member(tool))
}

/// In bytes. The tools of real servers need 200 on average.
const MAX_SHORT: usize = 1_000;
/// In bytes: about a thousand tokens.
const MAX_FULL: usize = 4_096;

/// The parts of a schema that a declaration shows.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// Nested objects, beginning with the arguments themselves.
    levels: usize,
    output_levels: usize,
    /// Optional members of one object, in addition to all required ones.
    optional: usize,
    /// Values of an enumeration; one with more is shown as the type of its values.
    choices: usize,
    /// True if an optional member may be null. A call without it usually means the same.
    has_null: bool,
    has_comments: bool,
    has_lines: bool,
}

/// From the most to the least that a line shows.
const SHORT: [Extent; 3] = [
    LINE,
    Extent {
        levels: 1,
        optional: 4,
        ..LINE
    },
    Extent {
        levels: 1,
        optional: 2,
        choices: 2,
        ..LINE
    },
];

/// From the most to the least that several lines show.
const FULL: [Extent; 4] = [
    LINES,
    Extent {
        has_comments: false,
        ..LINES
    },
    Extent {
        has_comments: false,
        levels: 4,
        output_levels: 2,
        ..LINES
    },
    Extent {
        has_comments: false,
        levels: 2,
        output_levels: 1,
        optional: 40,
        choices: 8,
        ..LINES
    },
];

const LINE: Extent = Extent {
    levels: 2,
    output_levels: 1,
    optional: 8,
    choices: 8,
    has_null: false,
    has_comments: false,
    has_lines: false,
};

const LINES: Extent = Extent {
    levels: 12,
    output_levels: 12,
    optional: usize::MAX,
    choices: 40,
    has_null: true,
    has_comments: true,
    has_lines: true,
};

/// Used if a schema has more required members than fit any size.
const LEAST: Extent = Extent {
    levels: 0,
    output_levels: 0,
    ..LINE
};

/// The parts of a definition that a declaration is made from.
struct ToolSchemas {
    input: Value,
    output: Option<Value>,
    description: String,
}

impl ToolSchemas {
    fn from_definition(definition: &RawObject) -> Self {
        let described = ["description", "title"];
        let mut texts = described.iter().filter_map(|key| definition.read(key));
        Self {
            input: definition.read("inputSchema").unwrap_or_default(),
            output: definition.read("outputSchema"),
            description: texts
                .find(|text: &String| !text.is_empty())
                .unwrap_or_default(),
        }
    }

    fn declare(&self, call: &str, extent: &Extent) -> String {
        let arguments = self.arguments(extent);
        let result = self.result(extent);
        format!("{call}({arguments}): Promise<{}>", result.text)
    }

    fn arguments(&self, extent: &Extent) -> String {
        let arguments = write_type(&self.input, extent, extent.levels);
        if needs_arguments(&self.input) {
            return format!("args: {}", arguments.text);
        }
        let has_none = self.input.is_null() || arguments.is_plain_object();
        if has_none {
            String::new()
        } else {
            format!("args?: {}", arguments.text)
        }
    }

    fn result(&self, extent: &Extent) -> TypeText {
        let output = self.output.as_ref();
        output.map_or_else(TypeText::unknown_result, |output| {
            write_type(output, extent, extent.output_levels)
        })
    }

    /// The comment before several lines, or after one.
    fn comments(&self, size: DeclarationSize) -> (String, String) {
        let text = match size {
            DeclarationSize::Full => {
                let comment = comment::line(&strip_to_one_line(&self.description));
                let line = comment.map_or_else(String::new, |comment| format!("{comment}\n"));
                return (line, String::new());
            }
            DeclarationSize::Short => first_sentence(&self.description),
            DeclarationSize::Guided => guided_summary(&self.description, &self.input),
        };
        match text.as_str() {
            "" => (String::new(), String::new()),
            text => (String::new(), format!(" // {text}")),
        }
    }
}

fn write_type(schema: &Value, extent: &Extent, levels: usize) -> TypeText {
    let writer = TypeWriter {
        root: schema,
        extent,
        levels,
        parts_left: Cell::new(MAX_PARTS),
    };
    writer.type_of(schema, &Spot::default())
}

/// The most parts of a schema to visit. A schema whose references double with each level would take
/// forever.
const MAX_PARTS: usize = 5_000;

/// False if a call without arguments is certainly valid.
fn needs_arguments(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let has_required = required.is_some_and(|names| !names.is_empty());
    let combined = ["$ref", "allOf", "anyOf", "oneOf"];
    has_required || combined.iter().any(|key| schema.get(key).is_some())
}
