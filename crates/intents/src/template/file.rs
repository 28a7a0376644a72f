//! A template in a TOML file, and the position of a mistake in it.

use std::path::{Path, PathBuf};

use kitbag_domain::Remedy;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::text::{MAX_CODE, SpottedProblem, TemplateText};
use super::{IntentTemplate, TemplateProblem};
use crate::set::TemplateOrigin;

/// A file to parse as a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFile {
    pub path: PathBuf,
    pub text: String,
    pub origin: TemplateOrigin,
}

/// A file that is not a valid template, with the position of the mistake; line and column are
/// one-based.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {problem}", path.display())]
pub struct TemplateFileError {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
    pub problem: TemplateProblem,
}

impl IntentTemplate {
    /// In bytes: the program, and as much again for everything else.
    pub const MAX_FILE_BYTES: usize = 2 * MAX_CODE;

    /// Parses a template from the text of a file. The path is only for messages.
    pub fn from_toml(path: &Path, text: &str) -> Result<Self, TemplateFileError> {
        read(text).map_err(|(offset, problem)| {
            let (line, column) = line_and_column(text, offset);
            TemplateFileError {
                path: path.to_owned(),
                line,
                column,
                problem,
            }
        })
    }

    /// Returns the text of a file with this template.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string_pretty(self)
    }
}

impl Remedy for TemplateFileError {
    fn remedy(&self) -> Option<String> {
        self.problem.remedy()
    }
}

fn read(text: &str) -> Result<IntentTemplate, (usize, TemplateProblem)> {
    let most = IntentTemplate::MAX_FILE_BYTES;
    if text.len() > most {
        return Err((0, TemplateProblem::FileTooLarge { most }));
    }
    let written: TemplateText = toml::from_str(text).map_err(|error| syntax(&error))?;
    written
        .check()
        .map_err(|found| (offset_of(text, &found), found.problem))
}

fn syntax(error: &toml::de::Error) -> (usize, TemplateProblem) {
    let message = error.message().to_owned();
    let offset = error.span().map_or(0, |span| span.start);
    (offset, TemplateProblem::Syntax { message })
}

/// Returns the offset of a problem in the file; 0 if its position is unknown.
fn offset_of(text: &str, found: &SpottedProblem) -> usize {
    let Ok(table) = DeTable::parse(text) else {
        return 0;
    };
    let start = find_offset(table.get_ref(), &found.spot).unwrap_or(0);
    start + offset_in_literal(&text[start..], found.offset)
}

fn find_offset(table: &DeTable<'_>, spot: &[String]) -> Option<usize> {
    let (key, rest) = spot.split_first()?;
    let value = table.get(key.as_str())?;
    Some(offset_in(value, rest))
}

fn offset_in(value: &Spanned<DeValue<'_>>, spot: &[String]) -> usize {
    let here = value.span().start;
    let Some((key, rest)) = spot.split_first() else {
        return here;
    };
    let inner = match key.parse::<usize>() {
        Ok(number) => value.get_ref().get(number),
        Err(_) => value.get_ref().get(key.as_str()),
    };
    inner.map_or(here, |inner| offset_in(inner, rest))
}

/// Returns the distance from the opening quotes of a literal text to an offset in the text. In
/// other kinds of text, escapes shift everything, so it is 0.
fn offset_in_literal(value: &str, offset: usize) -> usize {
    match value.strip_prefix("'''") {
        Some(text) if offset > 0 => 3 + first_newline(text) + offset,
        _ => 0,
    }
}

/// TOML drops a newline directly after the opening quotes.
fn first_newline(text: &str) -> usize {
    match text {
        _ if text.starts_with("\r\n") => 2,
        _ if text.starts_with('\n') => 1,
        _ => 0,
    }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"name = "list_errors"
description = "Lists recent errors."
intents = ["list errors", "show recent errors in {project}"]
uses = ["sentry.list_issues"]
cache_seconds = 60
code = '''
const { project } = params;
return await tools.sentry.list_issues({ project });
'''

[parameters.project]
type = "string"
description = "The project."
pattern = "^[a-z-]+$"

[parameters.limit]
type = "integer"
default = 25
minimum = 1
"#;

    #[test]
    fn a_template_is_read_and_its_file_can_be_written_again() {
        let template = IntentTemplate::from_toml(Path::new("a.toml"), GOOD).unwrap();
        let schema = template.parameters().schema();
        assert_eq!(schema["required"], serde_json::json!(["project"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["limit"]["minimum"], 1);
        assert!(template.read_only());
        let written = template.to_toml().unwrap();
        let again = IntentTemplate::from_toml(Path::new("b.toml"), &written).unwrap();
        assert_eq!(again, template, "{written}");
        assert_eq!(again.fingerprint(), template.fingerprint());
    }

    #[test]
    fn a_mistake_is_reported_with_its_position_and_a_remedy() {
        let long = format!("cache_seconds = 60\n# {}", "x".repeat(70_000));
        for (from, to, expected) in [
            (
                "name = \"list",
                "name = \"List",
                "1:8: `List_errors` is not a valid template name => write lower-case",
            ),
            (
                "name = ",
                "nane = ",
                "1:1: this cannot be read: unknown field `nane`",
            ),
            ("= 60", "= ", "5:17: this cannot be read"),
            (
                "= 60",
                "= 100000",
                "5:17: results may be cached for at most 86400",
            ),
            (
                "cache",
                "read_only = false\ncache",
                "6:17: results of a program that writes",
            ),
            (
                "in {project}\"",
                "in {proj}\"",
                "3:27: the intent `show recent errors in {proj}` reads `proj`",
            ),
            (
                "\"list errors\"",
                "\"{limit}\"",
                "3:12: the intent `{limit}` has no words",
            ),
            (
                "sentry.list_issues\"]",
                "list_issues\"]",
                "4:9: `list_issues` names no tool",
            ),
            (
                "{ project });",
                "{ q: 'in:{project}' });",
                "8:48: `{project}` expects text => read the value from `params`",
            ),
            (
                "default = 25",
                "default = \"25\"",
                "16:1: the parameter `limit` has a default that does not match",
            ),
            (
                "type = \"integer\"",
                "type = \"int\"",
                "16:1: the parameter `limit` has no known `type`",
            ),
            (
                "minimum = 1",
                "code = \"1\"",
                "move `code` above the first [parameters.…] table",
            ),
            ("cache_seconds = 60", &long, "1:1: the file has more than"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = GOOD.replacen(from, to, 1);
            let error = IntentTemplate::from_toml(Path::new("a.toml"), &text).unwrap_err();
            let message = format!("{error} => {}", error.remedy().unwrap_or_default());
            let mut parts = expected.split(" => ");
            assert!(
                parts.all(|part| message.contains(part)),
                "{message}\nnot {expected}"
            );
        }
    }
}
