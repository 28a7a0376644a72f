//! What a person has to say before a server can run, and what they said.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server::Facts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
    pub secret: bool,
    /// Whether it may be given several times.
    pub repeated: bool,
    pub default: Option<String>,
    /// What an answer may look like.
    pub placeholder: Option<String>,
    /// If there are any, the answer is one of them.
    pub choices: Vec<String>,
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Text,
    Number,
    Boolean,
    /// A file or a folder on this machine.
    Path,
}

/// An answer is not quoted: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongAnswer {
    #[error("`{name}` must be one of {}", choices.join(", "))]
    NotOneOf { name: String, choices: Vec<String> },
    #[error("`{name}` must be a number")]
    NotANumber { name: String },
    #[error("`{name}` must be true or false")]
    NotABoolean { name: String },
    #[error("`{name}` is given twice")]
    Twice { name: String },
}

/// By the names of the inputs, as they should stand in the configuration.
#[derive(Default)]
pub struct Answers(BTreeMap<String, Vec<String>>);

impl Answers {
    pub fn give(&mut self, input: &Input, answer: String) -> Result<(), WrongAnswer> {
        let answers = self.0.entry(input.name.clone()).or_default();
        if !answers.is_empty() && !input.repeated {
            return Err(WrongAnswer::Twice {
                name: input.name.clone(),
            });
        }
        answers.push(answer);
        Ok(())
    }

    pub fn has(&self, input: &Input) -> bool {
        self.0.contains_key(&input.name)
    }

    pub(crate) fn of(&self, name: &str) -> &[String] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Input {
    /// Whether an answer can be meant.
    pub fn check(&self, answer: &str) -> Result<(), WrongAnswer> {
        let name = || self.name.clone();
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == answer) {
            return Err(WrongAnswer::NotOneOf {
                name: name(),
                choices: self.choices.clone(),
            });
        }
        match self.format {
            Format::Number if answer.parse::<f64>().is_err() => {
                Err(WrongAnswer::NotANumber { name: name() })
            }
            Format::Boolean if !matches!(answer, "true" | "false") => {
                Err(WrongAnswer::NotABoolean { name: name() })
            }
            _ => Ok(()),
        }
    }
}

/// The inputs of a plan, each name once.
#[derive(Debug, Default)]
pub(crate) struct Inputs(pub(crate) Vec<Input>);

impl Inputs {
    /// The name it is asked under. The same question is asked once; another one that goes by the
    /// same name gets a number.
    pub(crate) fn add(&mut self, name: &str, facts: &Facts, repeated: bool) -> String {
        let name = harmless(name);
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        for name in [name.clone()].into_iter().chain(numbered) {
            match self.0.iter_mut().find(|input| input.name == name) {
                None => {
                    self.0.push(describe(&name, facts, repeated));
                    return name;
                }
                Some(input) if input.description == facts.description => {
                    input.required |= facts.is_required;
                    input.secret |= facts.is_secret;
                    return name;
                }
                Some(_) => {}
            }
        }
        unreachable!("there are more numbers than inputs")
    }
}

/// People are shown names in commands that they may copy into a shell.
fn harmless(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            c
        } else {
            '_'
        }
    };
    if name.is_empty() {
        "value".to_owned()
    } else {
        name.chars().map(letter).collect()
    }
}

fn describe(name: &str, facts: &Facts, repeated: bool) -> Input {
    Input {
        name: name.to_owned(),
        description: facts
            .description
            .clone()
            .filter(|text| !text.trim().is_empty()),
        required: facts.is_required,
        secret: facts.is_secret,
        repeated,
        default: facts.default.clone().filter(|text| !text.is_empty()),
        placeholder: facts.placeholder.clone().filter(|text| !text.is_empty()),
        choices: facts.choices.clone(),
        format: match facts.format.as_deref() {
            Some("number") => Format::Number,
            Some("boolean") => Format::Boolean,
            Some("filepath") => Format::Path,
            _ => Format::Text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_questions_never_share_a_name_and_none_has_letters_that_a_shell_reads() {
        let facts = |description: &str| Facts {
            description: Some(description.to_owned()),
            ..Facts::default()
        };
        let mut inputs = Inputs::default();
        let names = [
            ("value", "a"),
            ("value", "b"),
            ("value", "a"),
            ("x; rm -r ~ #", "c"),
            ("", "d"),
            ("", "e"),
        ]
        .map(|(name, description)| inputs.add(name, &facts(description), false));
        assert_eq!(
            names,
            [
                "value",
                "value-2",
                "value",
                "x__rm_-r____",
                "value-3",
                "value-4"
            ]
        );
    }
}
