//! The type of an object with its members.

use serde_json::{Map, Value};

use super::{
    comment, literal,
    type_text::TypeText,
    type_writer::{Spot, TypeWriter, list},
};

/// Replaces omitted members.
const OMITTED: &str = "/*…*/";

impl TypeWriter<'_> {
    pub(super) fn members(&self, object: &Map<String, Value>, spot: &Spot) -> TypeText {
        let members = DeclaredMembers::from_object(object);
        let others = self.other_members(object, &spot.deeper());
        if members.is_empty() {
            return others.map_or_else(TypeText::object, |it| {
                TypeText::one(format!("Record<string, {}>", it.text))
            });
        }
        if spot.level >= self.levels {
            return TypeText::object();
        }
        let mut lines = self.lines(&members, spot);
        lines.extend(others.map(|it| format!("[key: string]: {}", it.text)));
        if members.optional.len() > self.extent.optional {
            lines.push(OMITTED.to_owned());
        }
        TypeText::one(self.wrap_in_braces(&lines, spot.level))
    }

    fn lines(&self, members: &DeclaredMembers<'_>, spot: &Spot) -> Vec<String> {
        let required = members.required.iter().map(|it| (it, ""));
        let optional = members.optional.iter().take(self.extent.optional);
        let all = required.chain(optional.map(|it| (it, "?")));
        all.map(|((name, schema), mark)| self.line(name, mark, schema, spot))
            .collect()
    }

    fn line(&self, name: &str, mark: &str, schema: &Value, spot: &Spot) -> String {
        let value = self.type_of_member(schema, mark, &spot.deeper()).text;
        let line = format!("{}{mark}: {value}", literal::name(name));
        match self.comment(schema) {
            Some(comment) => format!("{comment}\n{}{line}", indent(spot.level + 1)),
            None => line,
        }
    }

    /// The type of a member, which is optional if `mark` says so.
    pub(super) fn type_of_member(&self, schema: &Value, mark: &str, spot: &Spot) -> TypeText {
        let whole = self.type_of(schema, spot);
        match mark.is_empty() || self.extent.has_null {
            true => whole,
            false => whole.without_null(),
        }
    }

    fn comment(&self, schema: &Value) -> Option<String> {
        let text = self.extent.has_comments.then(|| comment::text(schema))?;
        comment::line(&text)
    }

    fn wrap_in_braces(&self, lines: &[String], level: usize) -> String {
        if !self.extent.has_lines {
            return format!("{{ {} }}", lines.join("; "));
        }
        let lines: String = lines
            .iter()
            .map(|line| end_member(line, level + 1))
            .collect();
        format!("{{\n{lines}{}}}", indent(level))
    }

    /// The type of members that the schema does not name.
    fn other_members(&self, object: &Map<String, Value>, spot: &Spot) -> Option<TypeText> {
        let patterns = object.get("patternProperties").and_then(Value::as_object);
        let patterns = patterns.into_iter().flat_map(|it| it.values());
        let additional = object
            .get("additionalProperties")
            .filter(|it| it.is_object());
        let types: Vec<TypeText> = patterns
            .chain(additional)
            .map(|it| self.type_of(it, spot))
            .collect();
        (!types.is_empty()).then(|| TypeText::union(types))
    }
}

/// TypeScript rejects a semicolon after nothing.
fn end_member(line: &str, level: usize) -> String {
    let end = if line == OMITTED { "" } else { ";" };
    format!("{}{line}{end}\n", indent(level))
}

fn indent(level: usize) -> String {
    "  ".repeat(level)
}

/// The members of an object that a schema names.
pub(super) struct DeclaredMembers<'a> {
    pub(super) required: Vec<(&'a str, &'a Value)>,
    pub(super) optional: Vec<(&'a str, &'a Value)>,
}

impl<'a> DeclaredMembers<'a> {
    pub(super) fn from_object(object: &'a Map<String, Value>) -> Self {
        let names: Vec<&str> = list(object, "required").filter_map(Value::as_str).collect();
        let properties = object.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        let known = properties.map(|(name, schema)| (name.as_str(), schema));
        let (mut required, optional): (Vec<_>, Vec<_>) =
            known.partition(|(name, _)| names.contains(name));
        for name in names {
            if !required.iter().any(|(known, _)| *known == name) {
                required.push((name, &Value::Bool(true)));
            }
        }
        Self { required, optional }
    }

    fn is_empty(&self) -> bool {
        self.required.is_empty() && self.optional.is_empty()
    }
}
