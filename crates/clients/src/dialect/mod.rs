//! Translates clients' variable syntax into Kitbag's.
//!
//! Kitbag's syntax is `${NAME}` and `${NAME:-default}`. The only values filled in here are the same
//! at every launch: the home, the project, and files that hold a secret. No file can spell
//! `${secret:NAME}`: a client's file must not decide which of Kitbag's secrets a server gets.
//!
//! A text is translated in three steps: each variable is replaced by a placeholder, secrets that
//! the user typed into the text are found, and Kitbag's variables replace the placeholders. The
//! text is not split at its variables before the search for secrets, because a secret is recognized
//! by its context: in `postgres://ann:pw@${HOST}/db` the password is found only in the whole
//! address.

mod expression;
mod placeholder;
mod variable;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::config::{NeededVariable, VariableSource};
use crate::sensitive_text::{SensitiveText, TextPart};
use expression::VariableExpression;
use placeholder::MarkedText;
pub(crate) use variable::{needed_secret, variable};

/// The facts needed to understand the texts of one file.
pub(crate) struct ClientDialect<'a> {
    pub(crate) client: Client,
    pub(crate) home: &'a Path,
    /// The project that the file belongs to, if any.
    pub(crate) project: Option<&'a Path>,
    /// The folder that contains the file.
    pub(crate) folder: &'a Path,
    pub(crate) inputs: &'a BTreeMap<String, ClientPrompt>,
    pub(crate) read_file: ReadFile<'a>,
    /// Set when a variable was replaced by the project's folder.
    pub(crate) folder_used: Cell<bool>,
}

/// Returns the text of a file that another file mentions, if reading it is allowed.
pub(crate) type ReadFile<'a> = Box<dyn Fn(&Path) -> Option<String> + 'a>;

/// A question that the client asks the user.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientPrompt {
    pub(crate) description: String,
    pub(crate) password: bool,
    pub(crate) default: Option<String>,
}

impl ClientDialect<'_> {
    /// Translates a text; `find_secrets` splits it into typed secrets and the rest. Adds variables
    /// that have no value yet to `needed`.
    pub(crate) fn translate(
        &self,
        text: &str,
        needed: &mut Vec<NeededVariable>,
        find_secrets: impl FnOnce(&str) -> Vec<TextPart>,
    ) -> SensitiveText {
        let marked = self.insert_placeholders(text, needed);
        let parts = find_secrets(marked.text()).into_iter();
        SensitiveText::from_parts(parts.flat_map(|part| marked.restore(part)))
    }

    /// True if this client takes variables literally.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(
            self.client,
            Client::ClaudeDesktop | Client::Zed | Client::LmStudio
        )
    }

    /// Resolves a path as the client does.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => self.project.unwrap_or(self.folder).join(text),
        }
    }

    /// Replaces each variable with a placeholder.
    fn insert_placeholders(&self, text: &str, needed: &mut Vec<NeededVariable>) -> MarkedText {
        let mut marked = MarkedText::default();
        let mut rest = text;
        while let Some((before, expression, after)) = expression::split_variable(self.client, rest)
        {
            marked.push_text(before);
            marked.push_variable(self.translate_expression(&expression, needed));
            rest = after;
        }
        marked.push_text(rest);
        marked
    }

    fn translate_expression(
        &self,
        expression: &VariableExpression<'_>,
        needed: &mut Vec<NeededVariable>,
    ) -> TextPart {
        match expression {
            VariableExpression::Secret(name) => {
                needed_secret(name, VariableSource::Keyring, needed)
            }
            VariableExpression::Plain(inside) => self.translate_plain(inside, needed),
        }
    }

    fn translate_plain(&self, inside: &str, needed: &mut Vec<NeededVariable>) -> TextPart {
        let (head, tail) = inside.split_once(':').unwrap_or((inside, ""));
        match head {
            // Claude Code sets this variable only for a project's servers.
            "CLAUDE_PROJECT_DIR" if self.project.is_some() => self.project_folder(needed),
            "env" => environment(tail, needed),
            "input" => self.prompt_answer(tail, needed),
            "file" => self.file(tail, needed),
            "userHome" => TextPart::Literal(self.home.display().to_string()),
            "pathSeparator" | "/" => TextPart::Literal("/".to_owned()),
            "workspaceFolder" | "workspaceRoot" => self.project_folder(needed),
            "workspaceFolderBasename" => self.project_name(needed),
            _ => other(inside, needed),
        }
    }

    /// Returns the project's folder, or a variable for it if there is no project.
    fn project_folder(&self, needed: &mut Vec<NeededVariable>) -> TextPart {
        match self.project {
            Some(project) => {
                self.folder_used.set(true);
                TextPart::Literal(project.display().to_string())
            }
            None => variable("WORKSPACE_FOLDER", VariableSource::Folder, None, needed),
        }
    }

    fn project_name(&self, needed: &mut Vec<NeededVariable>) -> TextPart {
        match self.project.and_then(Path::file_name) {
            Some(name) => TextPart::Literal(name.to_string_lossy().into_owned()),
            None => variable(
                "WORKSPACE_FOLDER_BASENAME",
                VariableSource::Folder,
                None,
                needed,
            ),
        }
    }

    /// Returns the answer to one of the client's questions. If the file does not describe the
    /// question, the answer is treated as a secret.
    fn prompt_answer(&self, id: &str, needed: &mut Vec<NeededVariable>) -> TextPart {
        let prompt = self.inputs.get(id).cloned().unwrap_or(ClientPrompt {
            password: true,
            ..ClientPrompt::default()
        });
        let source = VariableSource::Asked(prompt.description);
        if prompt.password {
            needed_secret(id, source, needed)
        } else {
            let name = variable::name_for(id);
            variable(&name, source, prompt.default.as_deref(), needed)
        }
    }

    /// Returns the content of a file, which is treated as a secret.
    fn file(&self, path: &str, needed: &mut Vec<NeededVariable>) -> TextPart {
        let path = self.path(path);
        if let Some(text) = (self.read_file)(&path) {
            return TextPart::Secret(text.trim_end_matches(['\r', '\n']).to_owned());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        needed_secret(&name, VariableSource::File(path.clone()), needed)
    }
}

fn environment(text: &str, needed: &mut Vec<NeededVariable>) -> TextPart {
    let (name, default) = with_default(text);
    variable(name, VariableSource::Environment, default, needed)
}

/// Translates an environment variable, or a variable of a kind that only the client knows.
fn other(inside: &str, needed: &mut Vec<NeededVariable>) -> TextPart {
    let (name, default) = with_default(inside);
    let source = if variable::is_name(name) {
        VariableSource::Environment
    } else {
        VariableSource::Foreign
    };
    variable(name, source, default, needed)
}

fn with_default(text: &str) -> (&str, Option<&str>) {
    match text.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret;

    #[track_caller]
    fn check(client: Client, text: &str, expected: &str, wanted: &[&str]) {
        let files =
            |path: &Path| (path == Path::new("/home/ann/key")).then(|| "s3cret\n".to_owned());
        let input = |password, default: Option<&str>| ClientPrompt {
            description: "Which?".to_owned(),
            password,
            default: default.map(str::to_owned),
        };
        let inputs = BTreeMap::from([
            ("api-key".to_owned(), input(true, None)),
            ("region".to_owned(), input(false, Some("eu"))),
            ("zone".to_owned(), input(false, None)),
        ]);
        let dialect = ClientDialect {
            client,
            home: Path::new("/home/ann"),
            project: (client == Client::VsCode).then_some(Path::new("/home/ann/shop")),
            folder: Path::new("/home/ann"),
            inputs: &inputs,
            read_file: Box::new(files),
            folder_used: Cell::default(),
        };
        let mut variables = Vec::new();
        let value = dialect.translate(text, &mut variables, |text| secret::split("API_KEY", text));
        let names: Vec<_> = variables
            .iter()
            .map(|variable| variable.name.as_str())
            .collect();
        assert_eq!(
            (value.mask_secrets().as_str(), names.as_slice()),
            (expected, wanted),
            "{text}"
        );
    }

    #[test]
    fn every_variable_syntax_is_translated() {
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
    fn no_client_syntax_reaches_a_stored_secret() {
        let files = |path: &Path| path.ends_with("empty").then(String::new);
        let sly = ClientPrompt {
            default: Some("x}${secret:a".to_owned()),
            ..ClientPrompt::default()
        };
        for client in Client::ALL {
            let dialect = ClientDialect {
                client,
                home: Path::new("/home/ann"),
                project: Some(Path::new("/shop")),
                folder: Path::new("/shop"),
                inputs: &BTreeMap::from([("sly".to_owned(), sly.clone())]),
                read_file: Box::new(files),
                folder_used: Cell::default(),
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
                let value = dialect.translate(text, &mut variables, |text| {
                    vec![TextPart::Literal(text.to_owned())]
                });
                let template = value.reveal_secrets();
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
