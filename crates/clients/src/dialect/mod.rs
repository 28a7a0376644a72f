//! Every client's way to write a variable, translated into ours.
//!
//! Ours are `${NAME}` and `${NAME:-default}`. Nothing is filled in here except what is the same at
//! every launch: the home, the project, and files that hold a secret. No file can spell
//! `${secret:NAME}`: which secrets of ours a server gets is not for a client's file to say.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::found::{Source, Variable};
use crate::secret;
use crate::value::{Part, Value};

/// What must be known to understand the texts of one file.
pub(crate) struct Speech<'a> {
    pub(crate) client: Client,
    pub(crate) home: &'a Path,
    /// The folder the file speaks for, if it is a project's.
    pub(crate) project: Option<&'a Path>,
    /// Where the file lies.
    pub(crate) folder: &'a Path,
    pub(crate) inputs: BTreeMap<String, Input>,
    pub(crate) files: &'a dyn Fn(&Path) -> Option<String>,
    /// Whether the folder of the project stands for a variable somewhere.
    pub(crate) fixed: Cell<bool>,
}

/// A question of the client to the person.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    pub(crate) description: String,
    pub(crate) password: bool,
    pub(crate) default: Option<String>,
}

impl Speech<'_> {
    /// The text in our words; `literal` finds the secrets that were typed into it.
    pub(crate) fn translate(
        &self,
        text: &str,
        variables: &mut Vec<Variable>,
        literal: impl FnOnce(&str) -> Vec<Part>,
    ) -> Value {
        // While secrets are looked for, a character that nobody types stands for each variable.
        let mut spoken = Vec::new();
        let mut marked = String::new();
        let mut rest = text;
        while let Some((before, expression, after)) = self.next(rest) {
            marked.push_str(before);
            marked.extend(stand_in(spoken.len()));
            spoken.push(self.speak(&expression, variables));
            rest = after;
        }
        marked.push_str(rest);
        let unmarked = |part: Part| match part {
            Part::Literal(text) => unmark(&text, &spoken),
            // Half a variable and half a secret is a variable, unless the other half is a key.
            Part::Secret(text) if text.contains(is_stand_in) => secret::keys_in(&text)
                .into_iter()
                .flat_map(|part| match part {
                    Part::Literal(text) => unmark(&text, &spoken),
                    key => vec![key],
                })
                .collect(),
            whole => vec![whole],
        };
        Value::of(literal(&marked).into_iter().flat_map(unmarked))
    }

    /// Whether this client fills in variables at all.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(
            self.client,
            Client::ClaudeDesktop | Client::Zed | Client::LmStudio
        )
    }

    /// What stands before the next variable, the variable, and what stands after.
    fn next<'t>(&self, text: &'t str) -> Option<(&'t str, Expression<'t>, &'t str)> {
        let mut at = 0;
        while let Some(step) = text[at..].find(['$', '{']) {
            at += step;
            if let Some((expression, length)) = self.expression(&text[at..]) {
                return Some((&text[..at], expression, &text[at + length..]));
            }
            at += 1;
        }
        None
    }

    /// The variable a text begins with, and how long it is.
    fn expression<'t>(&self, text: &'t str) -> Option<(Expression<'t>, usize)> {
        let enclosed = |open: &str, close: &str| {
            let inside = text.strip_prefix(open)?.split_once(close)?.0;
            Some((inside, open.len() + inside.len() + close.len()))
        };
        if let Some((inside, length)) = enclosed("${{", "}}") {
            let name = inside.trim().strip_prefix("secrets.")?.trim();
            return Some((Expression::Kept(name), length));
        }
        if let Some((inside, length)) = enclosed("${", "}") {
            return Some((Expression::Braced(inside), length));
        }
        if self.client == Client::Opencode {
            let (inside, length) = enclosed("{", "}")?;
            let known = inside.starts_with("env:") || inside.starts_with("file:");
            return known.then_some((Expression::Braced(inside), length));
        }
        if self.client == Client::Gemini {
            let name = text.strip_prefix('$')?;
            let length = name
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            return is_name(&name[..length])
                .then_some((Expression::Braced(&name[..length]), length + 1));
        }
        None
    }

    fn speak(&self, expression: &Expression<'_>, variables: &mut Vec<Variable>) -> Part {
        let inside = match expression {
            Expression::Kept(name) => return wanted(name, Source::Keyring, variables),
            Expression::Braced(inside) => *inside,
        };
        let (head, tail) = inside
            .split_once(':')
            .map_or((inside, ""), |(head, tail)| (head, tail));
        match head {
            // Claude Code sets it for the servers of a project, and nobody does elsewhere.
            "CLAUDE_PROJECT_DIR" if self.project.is_some() => self.project_folder(variables),
            "env" => {
                let (name, default) = with_default(tail);
                variable(name, Source::Environment, default, variables)
            }
            "input" => {
                match self.inputs.get(tail).cloned().unwrap_or(Input {
                    password: true,
                    ..Input::default()
                }) {
                    input if input.password => {
                        wanted(tail, Source::Asked(input.description), variables)
                    }
                    input => {
                        let name = variable_name(tail);
                        variable(
                            &name,
                            Source::Asked(input.description),
                            input.default.as_deref(),
                            variables,
                        )
                    }
                }
            }
            "file" => {
                let path = self.path(tail);
                match (self.files)(&path) {
                    Some(text) => Part::Secret(text.trim_end_matches(['\r', '\n']).to_owned()),
                    None => {
                        let name = path.file_name().map(|it| it.to_string_lossy().into_owned());
                        wanted(&name.unwrap_or_default(), Source::File(path), variables)
                    }
                }
            }
            "userHome" => Part::Literal(self.home.display().to_string()),
            "pathSeparator" | "/" => Part::Literal("/".to_owned()),
            "workspaceFolder" | "workspaceRoot" => self.project_folder(variables),
            "workspaceFolderBasename" => match self.project.and_then(Path::file_name) {
                Some(name) => Part::Literal(name.to_string_lossy().into_owned()),
                None => variable("WORKSPACE_FOLDER_BASENAME", Source::Folder, None, variables),
            },
            _ => {
                let (name, default) = with_default(inside);
                let source = if is_name(name) {
                    Source::Environment
                } else {
                    Source::Foreign
                };
                variable(name, source, default, variables)
            }
        }
    }

    /// The folder itself, or what stands for it where none is known.
    fn project_folder(&self, variables: &mut Vec<Variable>) -> Part {
        match self.project {
            Some(project) => {
                self.fixed.set(true);
                Part::Literal(project.display().to_string())
            }
            None => variable("WORKSPACE_FOLDER", Source::Folder, None, variables),
        }
    }

    /// A path as the client understands it.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => self.project.unwrap_or(self.folder).join(text),
        }
    }
}

const STAND_INS: std::ops::RangeInclusive<char> = '\u{f0000}'..='\u{ffffd}';

fn stand_in(index: usize) -> Option<char> {
    STAND_INS.clone().nth(index)
}

fn is_stand_in(c: char) -> bool {
    STAND_INS.contains(&c)
}

/// A template with the variables back in their places.
fn unmark(text: &str, spoken: &[Part]) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in text.split_inclusive(is_stand_in) {
        let mark = piece.chars().last().filter(|c| is_stand_in(*c));
        let plain = &piece[..piece.len() - mark.map_or(0, char::len_utf8)];
        let index = mark.map(|mark| mark as usize - *STAND_INS.start() as usize);
        parts.push(Part::Literal(plain.to_owned()));
        parts.extend(index.and_then(|index| spoken.get(index)).cloned());
    }
    parts
}

enum Expression<'t> {
    /// `${…}`, `{…}` or `$…`, without what encloses it.
    Braced(&'t str),
    /// `${{ secrets.NAME }}`
    Kept(&'t str),
}

/// A variable of the environment, in our spelling. What a template would read as something else is
/// these very letters.
pub(crate) fn variable(
    name: &str,
    source: Source,
    default: Option<&str>,
    variables: &mut Vec<Variable>,
) -> Part {
    /// What Kitbag itself keeps in the environment is for Kitbag alone.
    const OURS: [&str; 2] = ["secret:", "KITBAG_"];
    let is_ours = OURS
        .iter()
        .any(|begin| name.trim_start().starts_with(begin));
    let spelt = match default {
        Some(default) => format!("${{{name}:-{default}}}"),
        None => format!("${{{name}}}"),
    };
    if is_ours || name.contains(['{', '}', '$']) || name.is_empty() {
        return Part::Literal(spelt);
    }
    match default {
        Some(default) if default.contains(['{', '}']) => return Part::Literal(default.to_owned()),
        Some(_) => {}
        None => note(
            Variable {
                name: name.to_owned(),
                source,
            },
            variables,
        ),
    }
    Part::Template(spelt)
}

/// A secret that has to be supplied, under the name that the file has for it.
pub(crate) fn wanted(name: &str, source: Source, variables: &mut Vec<Variable>) -> Part {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(64).map(fits).collect();
    let name = if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    };
    note(
        Variable {
            name: format!("{WANTED}{name}"),
            source,
        },
        variables,
    );
    Part::Wanted(name)
}

/// Before the name of a variable that is a secret.
pub(crate) const WANTED: &str = "secret:";

fn note(variable: Variable, variables: &mut Vec<Variable>) {
    if !variables.contains(&variable) {
        variables.push(variable);
    }
}

fn variable_name(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect()
}

fn with_default(text: &str) -> (&str, Option<&str>) {
    text.split_once(":-")
        .map_or((text, None), |(name, default)| (name, Some(default)))
}

fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(client: Client, text: &str, expected: &str, wanted: &[&str]) {
        let files =
            |path: &Path| (path == Path::new("/home/ann/key")).then(|| "s3cret\n".to_owned());
        let input = |password, default: Option<&str>| Input {
            description: "Which?".to_owned(),
            password,
            default: default.map(str::to_owned),
        };
        let inputs = BTreeMap::from([
            ("api-key".to_owned(), input(true, None)),
            ("region".to_owned(), input(false, Some("eu"))),
            ("zone".to_owned(), input(false, None)),
        ]);
        let speech = Speech {
            client,
            home: Path::new("/home/ann"),
            project: (client == Client::VsCode).then_some(Path::new("/home/ann/shop")),
            folder: Path::new("/home/ann"),
            inputs,
            files: &files,
            fixed: Cell::default(),
        };
        let mut variables = Vec::new();
        let value = speech.translate(text, &mut variables, |text| secret::split("API_KEY", text));
        let names: Vec<_> = variables.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            (value.masked().as_str(), names.as_slice()),
            (expected, wanted),
            "{text}"
        );
    }

    #[test]
    fn every_spelling_of_a_variable_becomes_ours() {
        use Client::*;
        check(
            ClaudeCode,
            "a ${TOKEN} b ${URL:-http://x/}",
            "a ${TOKEN} b ${URL:-http://x/}",
            &["TOKEN"],
        );
        check(ClaudeCode, "$TOKEN {env:X} $ {", "…", &[]);
        check(
            Cursor,
            "${env:A}-${env:A}-${env:B:-b}",
            "${A}-${A}-${B:-b}",
            &["A"],
        );
        check(Cursor, "${userHome}/x${/}y", "/home/ann/x/y", &[]);
        check(
            Cursor,
            "${workspaceFolder}/x",
            "${WORKSPACE_FOLDER}/x",
            &["WORKSPACE_FOLDER"],
        );
        check(
            VsCode,
            "${workspaceFolder}/${workspaceFolderBasename}",
            "/home/ann/shop/shop",
            &[],
        );
        check(
            VsCode,
            "${CLAUDE_PROJECT_DIR:-.}/x",
            "/home/ann/shop/x",
            &[],
        );
        check(
            ClaudeCode,
            "${CLAUDE_PROJECT_DIR:-.}/x",
            "${CLAUDE_PROJECT_DIR:-.}/x",
            &[],
        );
        check(
            VsCode,
            "Bearer ${input:api-key}",
            "Bearer ${secret:api-key}",
            &["secret:api-key"],
        );
        check(
            VsCode,
            "${input:region}${input:zone}",
            "${REGION:-eu}${ZONE}",
            &["ZONE"],
        );
        check(
            VsCode,
            "${input:unknown}",
            "${secret:unknown}",
            &["secret:unknown"],
        );
        check(
            VsCode,
            "${command:pick}",
            "${command:pick}",
            &["command:pick"],
        );
        check(
            Gemini,
            "$TOKEN/${B} $1",
            "${TOKEN}/${B} $1",
            &["TOKEN", "B"],
        );
        check(Opencode, "Bearer {env:A} {x}", "Bearer ${A} {x}", &["A"]);
        check(Opencode, "{file:~/key}", "…", &[]);
        check(
            Opencode,
            "{file:./none}",
            "${secret:none}",
            &["secret:none"],
        );
        check(Windsurf, "${file:/home/ann/key}", "…", &[]);
        check(
            ClaudeCode,
            "https://h/${A}?key=abc&b=${B}",
            "https://h/${A}?key=…&b=${B}",
            &["A", "B"],
        );
        check(ClaudeCode, "Bearer ${A:-}", "Bearer ${A:-}", &[]);
        check(Cursor, "${env:A}:sk-0123456789abcdef/x", "${A}:…/x", &["A"]);
        check(Continue, "${{ secrets.A }}", "${secret:A}", &["secret:A"]);
    }

    #[test]
    fn no_spelling_of_any_client_reaches_a_secret_of_ours() {
        let files = |path: &Path| path.ends_with("empty").then(String::new);
        let sly = Input {
            default: Some("x}${secret:a".to_owned()),
            ..Input::default()
        };
        for client in Client::ALL {
            let speech = Speech {
                client,
                home: Path::new("/home/ann"),
                project: Some(Path::new("/shop")),
                folder: Path::new("/shop"),
                inputs: BTreeMap::from([("sly".to_owned(), sly.clone())]),
                files: &files,
                fixed: Cell::default(),
            };
            for text in [
                "${secret:a}",
                "${secret:a:-x}",
                "${env:secret:a}",
                "{env:secret:a}",
                "${ secret:a}",
                "$${file:/empty}{secret:a}",
                "${/}${file:/empty}$${file:/empty}{secret:a}",
                "https://h/?x=$%7Bsecret:a%7D&y=$%7bsecret:a%7d",
                "${X:-${secret:a}}",
                "${input:sly}",
                "${KITBAG_SECRET_KEY}",
                "${env:KITBAG_SECRET_KEY}",
            ] {
                let mut variables = Vec::new();
                let value = speech.translate(text, &mut variables, |text| {
                    vec![Part::Literal(text.to_owned())]
                });
                let template = value.revealed();
                let looked_up = template
                    .split("${")
                    .skip(1)
                    .filter_map(|rest| rest.split_once('}'));
                for (name, _) in looked_up {
                    let name = name.split(":-").next().unwrap();
                    let reached =
                        name.trim_start().starts_with("secret:") || name.starts_with("KITBAG_");
                    assert!(!reached, "{client}: {text} becomes {template}");
                }
                assert!(
                    !template.contains("$%7Bsecret") && !template.contains("$%7bsecret"),
                    "{template}"
                );
            }
        }
    }
}
