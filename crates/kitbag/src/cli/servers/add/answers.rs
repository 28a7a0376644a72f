//! Values that a registry entry requires, from flags or from the user at the terminal.

use std::io::Write as _;

use anyhow::{Context as _, anyhow};
use kitbag_config::Environment;
use kitbag_domain::ServerName;
use kitbag_registry::{EntryName, InputFormat, PlanAnswers, PlanInput, RunPlan};

use crate::cli::ask;
use crate::cli::failure::{Advise as _, with_advice};
use crate::cli::output::{Output, pluralize, stderr, strip_controls, to_one_line};
use crate::import::staged_secrets::StagedSecrets;
use kitbag_launch_review::words::visible;

/// The server that the values are for, and the staged secrets among them.
pub(super) struct AnswerContext<'a> {
    pub(super) server: &'a ServerName,
    pub(super) secrets: &'a mut StagedSecrets,
    pub(super) environment: &'a Environment,
}

/// Collects the values from flags, and asks for missing ones at a terminal.
pub(super) fn collect_answers(
    plan: &RunPlan,
    given: &[(String, String)],
    context: &mut AnswerContext<'_>,
    output: Output,
) -> anyhow::Result<PlanAnswers> {
    let mut answers = PlanAnswers::default();
    for (key, value) in given {
        let input = find_input(plan, key)?;
        answers.add(input, context.stage_value(input, value)?)?;
    }
    if !output.json && ask::is_interactive() {
        let missing: Vec<_> = plan
            .inputs
            .iter()
            .filter(|it| it.required && !answers.has(it))
            .collect();
        for input in missing {
            ask_for_input(input, context, &mut answers)
                .with_context(|| format!("no value for `{}`", input.name))?;
        }
    }
    Ok(answers)
}

/// Returns an error that lists missing values and the command to pass them.
pub(super) fn missing_error(
    missing: &[&PlanInput],
    name: &EntryName,
    given: &[(String, String)],
) -> anyhow::Error {
    let width = missing
        .iter()
        .map(|input| input.name.chars().count())
        .max()
        .unwrap_or_default();
    let lines: Vec<_> = missing
        .iter()
        .map(|input| format_input(input, width))
        .collect();
    let mut command = format!("kitbag servers add {name}");
    for (key, _) in given {
        command.push_str(&format!(" --set {key}=…"));
    }
    // The command never expands a variable of the same name: the author of the entry chose the name.
    for input in missing {
        command.push_str(&format!(" --set {}=…", input.name));
    }
    let error = anyhow!(lines.join("\n"));
    let values = pluralize(missing.len(), "value");
    with_advice(error.context(format!("`{name}` needs {values}")), command)
}

fn format_input(input: &PlanInput, width: usize) -> String {
    let line = format!("{:width$}  {}", input.name, describe_input(input));
    line.trim_end().to_owned()
}

/// Describes an input in one line.
pub(crate) fn describe_input(input: &PlanInput) -> String {
    let what = match input.format {
        InputFormat::Text => None,
        InputFormat::Number => Some("a number".to_owned()),
        InputFormat::Boolean => Some("true or false".to_owned()),
        InputFormat::Path => Some("a path".to_owned()),
    };
    let facts = [
        input.secret.then(|| "a secret".to_owned()),
        what,
        (!input.choices.is_empty()).then(|| format!("one of {}", input.choices.join(", "))),
        input
            .placeholder
            .as_ref()
            .map(|text| format!("for example {text}")),
    ];
    let facts: Vec<_> = facts.into_iter().flatten().collect();
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!("({})", facts.join(", "))
    };
    to_one_line(&format!(
        "{} {facts}",
        input.description.as_deref().unwrap_or_default()
    ))
}

/// Returns the input for a key; a program's flag may be written with its dashes.
fn find_input<'a>(plan: &'a RunPlan, key: &str) -> anyhow::Result<&'a PlanInput> {
    let plain = key.trim_start_matches('-');
    let inputs = &plan.inputs;
    let named = inputs.iter().find(|input| input.name == plain);
    let spelt_alike = inputs
        .iter()
        .find(|input| input.name.eq_ignore_ascii_case(plain));
    named
        .or(spelt_alike)
        .ok_or_else(|| anyhow!("the server has no setting `{key}`"))
        .advise(|| suggest_input(plain, inputs))
}

fn suggest_input(name: &str, inputs: &[PlanInput]) -> String {
    let names: Vec<_> = inputs.iter().map(|input| input.name.as_str()).collect();
    match kitbag_domain::nearest_name(name, names.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if names.is_empty() => "omit --set: the server has no settings".to_owned(),
        None => format!("its settings are {}", names.join(", ")),
    }
}

/// Asks until the input accepts the answer.
fn ask_for_input(
    input: &PlanInput,
    context: &mut AnswerContext<'_>,
    answers: &mut PlanAnswers,
) -> anyhow::Result<()> {
    let (name, explanation) = (&input.name, describe_input(input));
    print_line(&if explanation.is_empty() {
        name.clone()
    } else {
        format!("{name}: {explanation}")
    });
    let default = input.default.as_deref();
    let mut question = default.map_or("> ".to_owned(), |default| {
        format!("[{}] > ", visible(default))
    });
    loop {
        let typed = if input.secret {
            ask::read_secret(&question)?
        } else {
            ask::read_line(&question)?
        };
        let value = match typed.trim() {
            // The default comes from the author of the entry and is used if the user enters nothing.
            "" if answers.has(input) || default.is_some() => return Ok(()),
            "" => {
                print_line("A value is required.");
                continue;
            }
            typed => typed.to_owned(),
        };
        match context.stage_value(input, &value) {
            Ok(answer) => answers.add(input, answer)?,
            Err(error) => {
                print_line(&format!("{error:#}"));
                continue;
            }
        }
        if !input.repeated {
            return Ok(());
        }
        question = "another, or Enter to finish > ".to_owned();
    }
}

/// A password may contain `${`, but hardly a whole name in braces.
fn has_variable(value: &str) -> bool {
    value
        .split("${")
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .any(|(name, _)| {
            let name = name.split(":-").next().unwrap_or(name);
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-'))
        })
}

fn print_line(text: &str) {
    // Nothing can be done if stderr is closed.
    let _unheard = writeln!(stderr(), "{}", strip_controls(text));
}

impl AnswerContext<'_> {
    /// Returns the value for the configuration: a variable is kept, and a secret is stored and
    /// referenced.
    fn stage_value(&mut self, input: &PlanInput, value: &str) -> anyhow::Result<String> {
        if has_variable(value) {
            return Ok(value.to_owned());
        }
        input.check(value)?;
        if input.secret {
            return Ok(self.secrets.stage(self.server, &input.name, value));
        }
        Ok(if input.format == InputFormat::Path {
            self.to_absolute(value)
        } else {
            value.to_owned()
        })
    }

    /// Makes the path absolute: the gateway may be started in another directory.
    fn to_absolute(&self, text: &str) -> String {
        let path = match (text.strip_prefix("~/"), &self.environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.environment.cwd.join(text),
        };
        path.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_distinguished_from_a_password() {
        for (value, expected) in [
            ("${TOKEN}", true),
            ("Bearer ${secret:git.TOKEN}", true),
            ("${A:-b c}", true),
            ("pa$${word", false),
            ("${}", false),
            ("${not a name}", false),
            ("plain", false),
        ] {
            assert_eq!(has_variable(value), expected, "{value}");
        }
    }
}
