//! Text of the configuration with variables.

use std::fmt;
use std::sync::Arc;

use crate::Remedy;

/// Text with `${VARIABLE}`, `${VARIABLE:-default}` or `${secret:NAME}`, which is expanded when a
/// server is reached.
///
/// It may also contain a secret typed into the configuration, so it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Template(String);

/// Looks up a variable in the environment, or in the store for `secret:NAME`.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A variable has neither a value nor a default.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct MissingVariable {
    pub variable: String,
}

impl Template {
    /// The prefix of a variable whose value is in the store.
    pub const SECRET: &str = "secret:";

    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns a template of a URL that has passed a URL parser, which encodes the braces of
    /// variables.
    pub fn from_url(url: &str) -> Self {
        let mut text = String::new();
        let mut rest = url;
        while let Some((before, (inside, after))) = rest
            .split_once("$%7B")
            .and_then(|(before, after)| Some((before, after.split_once("%7D")?)))
        {
            text.extend([before, "${", inside, "}"]);
            rest = after;
        }
        Self(text + rest)
    }

    /// Returns the text as written, with its variables. It may contain a secret, so it must not be
    /// shown.
    pub fn source(&self) -> &str {
        &self.0
    }

    /// Returns the names of its variables for the lookup.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self
            .split_pieces()
            .filter_map(|piece| Some(piece.variable?.name));
        // `${:-$}` spells a dollar sign that begins no variable.
        names.filter(|name| !name.is_empty())
    }

    pub fn resolve(
        &self,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<String, MissingVariable> {
        let mut filled = String::with_capacity(self.0.len());
        for Piece { plain, variable } in self.split_pieces() {
            filled.push_str(plain);
            if let Some(variable) = variable {
                filled.push_str(&variable.resolve(&lookup)?);
            }
        }
        Ok(filled)
    }

    fn split_pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = Some(self.0.as_str());
        std::iter::from_fn(move || {
            let (piece, after) = Piece::split_first(rest?);
            rest = after;
            Some(piece)
        })
    }
}

/// A piece of a template's text, and the variable after it.
struct Piece<'a> {
    plain: &'a str,
    variable: Option<Variable<'a>>,
}

struct Variable<'a> {
    name: &'a str,
    default: Option<&'a str>,
}

impl<'a> Piece<'a> {
    /// Returns the first piece of a text, and the text after its variable.
    fn split_first(text: &'a str) -> (Self, Option<&'a str>) {
        let found = text
            .split_once("${")
            .and_then(|(plain, after)| Some((plain, after.split_once('}')?)));
        match found {
            Some((plain, (inside, after))) => {
                let variable = Some(Variable::parse(inside));
                (Self { plain, variable }, Some(after))
            }
            None => (
                Self {
                    plain: text,
                    variable: None,
                },
                None,
            ),
        }
    }
}

impl<'a> Variable<'a> {
    fn parse(inside: &'a str) -> Self {
        match inside.split_once(":-") {
            Some((name, default)) => Self {
                name,
                default: Some(default),
            },
            None => Self {
                name: inside,
                default: None,
            },
        }
    }

    fn resolve(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<String, MissingVariable> {
        lookup(self.name)
            .or_else(|| self.default.map(str::to_owned))
            .ok_or_else(|| MissingVariable {
                variable: self.name.to_owned(),
            })
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(…)")
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl MissingVariable {
    fn describe(&self) -> String {
        match self.secret_name() {
            Some(secret) => format!("there is no secret `{secret}` in the store"),
            None if self.is_foreign() => format!("Kitbag cannot expand `{}`", self.variable),
            None => format!("the environment variable `{}` is not set", self.variable),
        }
    }

    /// Describes the missing variable in a few words: `missing variable GITHUB_TOKEN`.
    pub fn short_label(&self) -> String {
        match self.secret_name() {
            Some(secret) => format!("missing secret {secret}"),
            None => format!("missing variable {}", self.variable),
        }
    }

    /// True for a variable such as `config:editor.theme`, which only the client of its import can
    /// expand.
    fn is_foreign(&self) -> bool {
        self.variable.contains(':')
    }

    fn secret_name(&self) -> Option<&str> {
        self.variable.strip_prefix(Template::SECRET)
    }
}

impl Remedy for MissingVariable {
    fn remedy(&self) -> Option<String> {
        Some(match self.secret_name() {
            Some(secret) => format!("set it: kitbag secret set {secret}"),
            None if self.is_foreign() => {
                format!("replace ${{{}}} in the configuration", self.variable)
            }
            None => format!("set it: export {}=…", self.variable),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(template: &str, expect: Result<&str, &str>) {
        let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let got = Template::new(template).resolve(lookup);
        assert_eq!(
            got.as_deref().map_err(|missing| missing.variable.as_str()),
            expect
        );
    }

    #[test]
    fn variables_are_filled_in_and_a_missing_one_is_named() {
        check("Bearer ${TOKEN}", Ok("Bearer s3cret"));
        check("${A:-x}-${TOKEN}-${B:-}", Ok("x-s3cret-"));
        check("plain $TOKEN ${unclosed", Ok("plain $TOKEN ${unclosed"));
        check("${MISSING}", Err("MISSING"));
        check("${secret:KEY}", Err("secret:KEY"));
    }

    #[test]
    fn every_variable_to_look_up_is_listed() {
        for text in [
            "${A}-${B:-x}-${secret:c}",
            "${:-$}{secret:x} ${A",
            "${A${B}",
            "${A:-${B}}",
            "plain",
        ] {
            let asked = RefCell::new(BTreeSet::new());
            let template = Template::new(text);
            let filled = template.resolve(|name| {
                asked.borrow_mut().insert(name.to_owned());
                (!name.is_empty()).then(String::new)
            });
            filled.unwrap();
            asked.borrow_mut().remove("");
            let named: BTreeSet<_> = template.variables().map(str::to_owned).collect();
            assert_eq!(named, asked.into_inner());
        }
    }

    #[test]
    fn a_missing_variable_has_a_remedy_for_its_kind() {
        for (variable, expected) in [
            (
                "KEY",
                "the environment variable `KEY` is not set => set it: export KEY=…",
            ),
            (
                "config:a.b",
                "Kitbag cannot expand `config:a.b` => replace ${config:a.b} in the configuration",
            ),
            (
                "secret:KEY",
                "there is no secret `KEY` in the store => set it: kitbag secret set KEY",
            ),
        ] {
            let missing = MissingVariable {
                variable: variable.to_owned(),
            };
            let remedy = missing.remedy().unwrap();
            assert_eq!(format!("{missing} => {remedy}"), expected);
        }
    }

    #[test]
    fn variables_in_a_url_are_found_in_every_part() {
        for (url, expected) in [
            (
                "https://a/$%7BX%7D/mcp?k=$%7Bsecret:a.b%7D&y",
                "https://a/${X}/mcp?k=${secret:a.b}&y",
            ),
            (
                "https://u:$%7BPW%7D@a/?q=$%7BQ:-1%7D",
                "https://u:${PW}@a/?q=${Q:-1}",
            ),
            ("https://a/%7Bx%7D", "https://a/%7Bx%7D"),
        ] {
            assert_eq!(Template::from_url(url).source(), expected);
        }
    }

    #[test]
    fn a_template_never_shows_its_text() {
        assert!(!format!("{:?}", Template::new("s3cret")).contains("s3cret"));
    }
}
