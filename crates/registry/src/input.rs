//! The inputs that the user must provide before a server can run, and the answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server::Facts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanInput {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
    pub secret: bool,
    /// True if it may have several values.
    pub repeated: bool,
    pub default: Option<String>,
    /// An example of an answer.
    pub placeholder: Option<String>,
    /// If not empty, the answer must be one of them.
    pub choices: Vec<String>,
    pub format: InputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputFormat {
    Text,
    Number,
    Boolean,
    /// A file or a directory on this machine.
    Path,
}

/// The reasons to reject an answer. The answer is not quoted, because it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongAnswer {
    #[error("`{name}` must be one of {}", choices.join(", "))]
    NotOneOf { name: String, choices: Vec<String> },
    #[error("`{name}` must be a number")]
    NotANumber { name: String },
    #[error("`{name}` must be true or false")]
    NotABoolean { name: String },
    #[error("`{name}` was specified twice")]
    Twice { name: String },
}

/// The answers by the names of the inputs, in the configuration's spelling.
#[derive(Default)]
pub struct PlanAnswers(BTreeMap<String, Vec<String>>);

impl PlanAnswers {
    pub fn add(&mut self, input: &PlanInput, answer: String) -> Result<(), WrongAnswer> {
        let answers = self.0.entry(input.name.clone()).or_default();
        if !answers.is_empty() && !input.repeated {
            return Err(WrongAnswer::Twice {
                name: input.name.clone(),
            });
        }
        answers.push(answer);
        Ok(())
    }

    pub fn has(&self, input: &PlanInput) -> bool {
        self.0.contains_key(&input.name)
    }

    pub(crate) fn get(&self, name: &str) -> &[String] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl std::fmt::Debug for PlanAnswers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl PlanInput {
    /// Fails if the answer does not match the input.
    pub fn check(&self, answer: &str) -> Result<(), WrongAnswer> {
        self.check_choice(answer)?;
        let name = self.name.clone();
        match self.format {
            InputFormat::Number if answer.parse::<f64>().is_err() => {
                Err(WrongAnswer::NotANumber { name })
            }
            InputFormat::Boolean if !matches!(answer, "true" | "false") => {
                Err(WrongAnswer::NotABoolean { name })
            }
            _ => Ok(()),
        }
    }
}

impl PlanInput {
    fn check_choice(&self, answer: &str) -> Result<(), WrongAnswer> {
        if self.choices.is_empty() || self.choices.iter().any(|choice| choice == answer) {
            return Ok(());
        }
        Err(WrongAnswer::NotOneOf {
            name: self.name.clone(),
            choices: self.choices.clone(),
        })
    }
}

/// The inputs of a plan, with unique names.
#[derive(Debug, Default)]
pub(crate) struct PlanInputs(pub(crate) Vec<PlanInput>);

impl PlanInputs {
    /// Marks the inputs with these names as required.
    pub(crate) fn require<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            let inputs = self.0.iter_mut();
            for input in inputs.filter(|input| input.name == name) {
                input.required = true;
            }
        }
    }

    /// Returns the name of the input for the user. An identical input is added once; another one
    /// with the same name gets a number.
    pub(crate) fn add(&mut self, name: &str, facts: &Facts, repeated: bool) -> String {
        let name = shell_safe_name(name);
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let mut names = [name.clone()].into_iter().chain(numbered);
        names
            .find(|name| self.merge_or_insert(name, facts, repeated))
            .expect("there are more numbers than inputs")
    }

    /// Returns true if the name was free, or belongs to an identical input.
    fn merge_or_insert(&mut self, name: &str, facts: &Facts, repeated: bool) -> bool {
        let Some(input) = self.0.iter_mut().find(|input| input.name == name) else {
            self.0.push(new_input(name, facts, repeated));
            return true;
        };
        let is_same = input.description == facts.description;
        if is_same {
            input.required |= facts.is_required;
            input.secret |= facts.is_secret;
        }
        is_same
    }
}

/// Replaces characters that a shell would interpret, because users copy commands with these names
/// into a shell.
fn shell_safe_name(name: &str) -> String {
    if name.is_empty() {
        return "value".to_owned();
    }
    name.replace(
        |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.'),
        "_",
    )
}

fn new_input(name: &str, facts: &Facts, repeated: bool) -> PlanInput {
    PlanInput {
        name: name.to_owned(),
        description: non_empty(&facts.description),
        required: facts.is_required,
        secret: facts.is_secret,
        repeated,
        default: facts.default.clone().filter(|text| !text.is_empty()),
        placeholder: facts.placeholder.clone().filter(|text| !text.is_empty()),
        choices: facts.choices.clone(),
        format: InputFormat::from_name(facts.format.as_deref()),
    }
}

fn non_empty(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.trim().is_empty())
}

impl InputFormat {
    fn from_name(text: Option<&str>) -> Self {
        match text {
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("filepath") => Self::Path,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_unique_names_without_shell_characters() {
        let facts = |description: &str| Facts {
            description: Some(description.to_owned()),
            ..Facts::default()
        };
        let mut inputs = PlanInputs::default();
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
