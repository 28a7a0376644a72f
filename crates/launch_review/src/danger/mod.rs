//! The forms of a command line, variable or address that can do more than start a server.
//!
//! A mark is not a verdict: many good servers mount a folder. It shows the user where to look
//! before agreeing. Only the text is judged; nothing is looked up.
//!
//! # Layout
//! - `program`: programs that take another program as an argument, or other rights; `interpreter`:
//!   programs that run the text of one of their options
//! - `container`: ways out of a container
//! - `package`: packages that do not come from the usual registries
//! - `address`: addresses that mislead, or whose traffic others can read
//! - `variable`: variables that control the program they are set for

mod address;
mod container;
mod interpreter;
mod package;
mod program;
#[cfg(test)]
mod tests;
mod variable;

use std::fmt;
use std::iter::once;
use std::path::Path;

use kitbag_config::edit::Reach;
use serde::{Serialize, Serializer};

use super::words::{fill_defaults, is_hidden, variables, visible};

/// A form, and the reason for marking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    form: String,
    reason: &'static str,
}

impl Danger {
    pub(super) fn new(form: &str, reason: &'static str) -> Self {
        Self {
            form: visible(form),
            reason,
        }
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.form, self.reason)
    }
}

impl Serialize for Danger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns everything that a user should check twice. `project` is the folder that the launch came
/// with.
pub fn dangers(reach: &Reach, project: Option<&Path>) -> Vec<Danger> {
    let mut distinct = Vec::new();
    for danger in all_dangers(reach, project) {
        if !distinct.contains(&danger) {
            distinct.push(danger);
        }
    }
    distinct
}

fn all_dangers(reach: &Reach, project: Option<&Path>) -> Vec<Danger> {
    match reach {
        Reach::Launch {
            command,
            args,
            env,
            cwd,
        } => {
            let words: Vec<_> = once(command)
                .chain(args)
                .map(|word| fill_defaults(word))
                .collect();
            let mut found = Vec::new();
            if !variables(command).is_empty() {
                let reason = "which program this is depends on a variable";
                found.push(Danger::new(command, reason));
            }
            found.extend(program::dangers(&words));
            found.extend(project.and_then(|_| program::project_program_danger(&words)));
            found.extend(container::dangers(&words));
            found.extend(package::dangers(&words));
            found.extend(env.iter().filter_map(|(name, _)| variable::danger(name)));
            found.extend(
                words
                    .iter()
                    .filter_map(|word| address::unencrypted_address(word)),
            );
            found.extend(
                words
                    .iter()
                    .filter_map(|word| project_file_danger(word, project?)),
            );
            found.extend(words.iter().filter_map(|word| hidden_text_danger(word)));
            found.extend(hidden_text_dangers(env));
            found.extend(cwd.iter().filter_map(|path| hidden_text_danger(path)));
            found
        }
        Reach::Remote { url, headers, .. } => {
            let mut found = address::dangers(&fill_defaults(url));
            found.extend(hidden_text_danger(url));
            found.extend(hidden_text_dangers(headers));
            found
        }
    }
}

/// Returns the name of a program without its folder, extension and version: `python` for
/// `/usr/bin/python3.12`.
fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.to_lowercase();
    let name = strip_extension(strip_extension(&name, [".exe", ".cmd"]), [".js", ".mjs"]);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if bare.is_empty() { name } else { bare }.to_owned()
}

fn strip_extension<'a>(name: &'a str, endings: [&str; 2]) -> &'a str {
    let mut shorter = endings.iter().filter_map(|end| name.strip_suffix(end));
    shorter.next().unwrap_or(name)
}

/// Returns a word that is an option, with the value after its `=`.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    if !word.starts_with('-') || word == "-" {
        return None;
    }
    Some(match word.split_once('=') {
        Some((flag, value)) => (flag, Some(value)),
        None => (word, None),
    })
}

fn hidden_text_dangers(pairs: &[(String, String)]) -> impl Iterator<Item = Danger> {
    let texts = pairs.iter().flat_map(|(name, value)| [name, value]);
    texts.filter_map(|text| hidden_text_danger(text))
}

fn hidden_text_danger(text: &str) -> Option<Danger> {
    text.contains(is_hidden)
        .then(|| Danger::new(text, "has invisible or misleading characters"))
}

/// Marks a word that names a file of the project.
fn project_file_danger(word: &str, project: &Path) -> Option<Danger> {
    const SCRIPTS: [&str; 8] = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".rb", ".pl"];
    let word = option(word).and_then(|(_, value)| value).unwrap_or(word);
    let path = Path::new(word);
    let inside = path.is_absolute() && path.starts_with(project) && path != project;
    let script = SCRIPTS.iter().any(|end| word.ends_with(end)) && !word.contains("://");
    let relative =
        word.starts_with("./") || word.starts_with("../") || (script && path.is_relative());
    (inside || relative).then(|| Danger::new(word, "is a file that comes with the project"))
}
