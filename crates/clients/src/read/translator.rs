//! Translates the texts of one server, and collects notes for the user.

use std::path::Path;

use url::Url;

use super::settings::ServerSettings;
use crate::config::{FileFault, ImportNote, NeededVariable, VariableSource};
use crate::dialect::{ClientDialect, needed_secret, variable};
use crate::secret;
use crate::sensitive_text::{SensitiveText, TextPart};
use crate::tree::Node;

pub(super) type Pairs = Vec<(String, String)>;

pub(super) struct TextTranslator<'a> {
    pub(super) dialect: &'a ClientDialect<'a>,
    pub(super) needed: Vec<NeededVariable>,
    pub(super) notes: Vec<ImportNote>,
}

impl<'a> TextTranslator<'a> {
    pub(super) fn new(dialect: &'a ClientDialect<'a>) -> Self {
        Self {
            dialect,
            needed: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn text(
        &mut self,
        text: &str,
        find_secrets: impl FnOnce(&str) -> Vec<TextPart>,
    ) -> SensitiveText {
        self.dialect.translate(text, &mut self.needed, find_secrets)
    }

    /// Translates a text that is never a secret.
    pub(super) fn plain(&mut self, text: &str) -> SensitiveText {
        self.text(text, plain)
    }

    pub(super) fn pairs(&mut self, pairs: Pairs) -> Vec<(String, SensitiveText)> {
        let mut translated = Vec::new();
        for (name, text) in pairs {
            let value = self.text(&text, |text| secret::split(&name, text));
            translated.push((name, value));
        }
        translated
    }

    /// An environment variable after a plain text.
    pub(super) fn variable(&mut self, name: &str, before: &str) -> SensitiveText {
        let variable = variable(name, VariableSource::Environment, None, &mut self.needed);
        SensitiveText::from_parts([TextPart::Literal(before.to_owned()), variable])
    }

    /// Variables that are named without a value: Codex passes its own on, Goose stores them in its
    /// keyring.
    pub(super) fn passed_on_variables(
        &mut self,
        settings: &ServerSettings<'_>,
    ) -> Result<Vec<(String, SensitiveText)>, FileFault> {
        let mut variables = Vec::new();
        let listed = settings.get("env_vars").and_then(Node::list);
        for name in listed.unwrap_or_default().iter().filter_map(listed_name) {
            variables.push((name.to_owned(), self.variable(name, "")));
        }
        for name in settings.words(&["env_keys"])? {
            let secret = needed_secret(&name, VariableSource::Keyring, &mut self.needed);
            variables.push((name, SensitiveText::from_parts([secret])));
        }
        Ok(variables)
    }

    /// Adds the variables of a file with lines of `NAME=value`. Variables that the client sets
    /// itself take precedence.
    pub(super) fn read_env_file(
        &mut self,
        settings: &ServerSettings<'_>,
        env: &mut Vec<(String, SensitiveText)>,
    ) -> Result<(), FileFault> {
        let Some(path) = settings.text(&["envFile"])? else {
            return Ok(());
        };
        let path = self.dialect.path(&self.plain(path).mask_secrets());
        let Some(text) = (self.dialect.read_file)(&path) else {
            self.not_carried("envFile");
            return Ok(());
        };
        for (name, value) in text.lines().filter_map(env_line) {
            if !env.iter().any(|(known, _)| known == name) {
                let secret = TextPart::Secret(value.to_owned());
                env.push((name.to_owned(), SensitiveText::from_parts([secret])));
            }
        }
        self.notes.push(ImportNote::EnvFile { path });
        Ok(())
    }

    /// Translates the path of a folder. Variables that stay unresolved in it are not carried over,
    /// so they are not needed either.
    pub(super) fn plain_folder(&self, text: &str) -> String {
        let mut unneeded = Vec::new();
        let folder = self.dialect.translate(text, &mut unneeded, plain);
        folder.mask_secrets()
    }

    /// Returns the folder to launch in. A project's server that refers to files there must be
    /// launched there.
    pub(super) fn folder(&mut self, cwd: Option<String>, words: &[String]) -> Option<String> {
        let Some(cwd) = cwd else {
            return self.project_folder(words);
        };
        // A folder is not a template, so a variable in it could never be filled in.
        if cwd.contains("${") {
            return self.without_cwd();
        }
        if Path::new(&cwd).is_absolute() || cwd.starts_with('~') {
            return Some(cwd);
        }
        // A relative path is only defined in a project.
        match self.dialect.project {
            Some(project) => Some(project.join(&cwd).display().to_string()),
            None => self.without_cwd(),
        }
    }

    fn project_folder(&mut self, words: &[String]) -> Option<String> {
        let project = self.dialect.project?;
        if !words.iter().any(|word| refers_to_file(word)) {
            return None;
        }
        let folder = project.display().to_string();
        self.notes.push(ImportNote::LaunchedIn {
            folder: folder.clone(),
        });
        Some(folder)
    }

    fn without_cwd(&mut self) -> Option<String> {
        self.not_carried("cwd");
        None
    }

    fn not_carried(&mut self, key: &str) {
        self.notes.push(ImportNote::NotCarried {
            keys: vec![key.to_owned()],
        });
    }

    pub(super) fn address(&mut self, server: &str, text: &str) -> Result<SensitiveText, FileFault> {
        self.try_address(text).map_err(|reason| FileFault::Address {
            server: server.to_owned(),
            reason,
        })
    }

    fn try_address(&mut self, text: &str) -> Result<SensitiveText, String> {
        let text = self.with_fixed_host(text);
        let text = text.ok_or("it begins with a variable")?;
        let value = self.text(&text, secret::address);
        // Secrets are masked before parsing, so that no error can quote one.
        let url = Url::parse(&value.mask_secrets()).map_err(|error| error.to_string())?;
        match url.scheme() {
            "http" | "https" => Ok(value),
            other => Err(format!("unsupported scheme `{other}:`")),
        }
    }

    /// Replaces a variable at the start of an address with its default.
    fn with_fixed_host(&mut self, text: &str) -> Option<String> {
        let variable = text.strip_prefix("${");
        let Some((inside, after)) = variable.and_then(|rest| rest.split_once('}')) else {
            return Some(text.to_owned());
        };
        let (_, default) = inside.split_once(":-")?;
        self.notes.push(ImportNote::TookDefault);
        Some(format!("{default}{after}"))
    }
}

fn plain(text: &str) -> Vec<TextPart> {
    vec![TextPart::Literal(text.to_owned())]
}

fn listed_name(item: &Node) -> Option<&str> {
    item.text().or(item.get("name").and_then(Node::text))
}

fn env_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.trim_start_matches("export ").split_once('=')?;
    Some((name.trim(), value.trim().trim_matches(['"', '\''])))
}

/// True for `.`, `./server.js` or `src/server.py`, which only mean something in the project.
fn refers_to_file(word: &str) -> bool {
    if word == "." || word.starts_with("./") || word.starts_with("../") {
        return true;
    }
    let scripts = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh"];
    let is_script = scripts.iter().any(|end| word.ends_with(end));
    is_script && !word.starts_with(['/', '~', '-', '$', '@']) && !word.contains(':')
}
