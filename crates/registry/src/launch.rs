//! The command line for a package: the program that runs it, and the order of the words.

use crate::address::package_name;
use crate::choose::RunKind;
use crate::input::PlanInputs;
use crate::plan::{PlanError, fill_pairs};
use crate::server::{Argument, Facts, NamedValue, Package};
use crate::text::{GapFilling, GapText, UnknownGap};

/// A command line with gaps.
#[derive(Debug)]
pub(crate) struct CommandLine {
    pub(crate) command: &'static str,
    words: Vec<CommandWord>,
    env: Vec<(String, GapText)>,
}

#[derive(Debug)]
enum CommandWord {
    Fixed(String),
    /// `--flag value`, or only the value.
    Argument {
        flag: Option<String>,
        text: GapText,
    },
    /// An optional flag.
    Switch {
        flag: String,
        text: GapText,
        on_by_default: bool,
    },
    /// Passes a variable into a container, if it has a value.
    PassVariable {
        variable: String,
    },
}

/// The programs that run packages. An author's hint at another program is ignored, because it could
/// be any program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Npx,
    Bunx,
    Uvx,
    Pipx,
    Dnx,
    Docker,
    Podman,
}

impl CommandLine {
    pub(crate) fn for_package(
        package: &Package,
        kind: RunKind,
        inputs: &mut PlanInputs,
    ) -> Result<Self, PlanError> {
        let runner = Runner::for_package(package, kind)?;
        let name = package_name(package, kind)?;
        let (variables, plain) = runtime_arguments(package, kind);
        let runtime = argument_words(plain, inputs);
        let own = argument_words(&package.package_arguments, inputs);
        let variables = package.environment_variables.iter().chain(&variables);
        let env: Vec<_> = variables
            .map(|variable| variable_text(variable, inputs))
            .collect();
        let variables = env.iter().map(|(variable, _)| variable.clone());
        let words = runner.build_words(name, runtime, own, variables);
        Ok(Self {
            command: runner.program(),
            words,
            env,
        })
    }

    /// Returns the words, with the names of the gaps.
    pub(crate) fn preview(&self) -> Vec<String> {
        let words = self.words.iter().flat_map(CommandWord::preview);
        [self.command.to_owned()].into_iter().chain(words).collect()
    }

    pub(crate) fn fill(&self, filling: GapFilling<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let env = fill_pairs(&self.env, filling);
        let words = self.words.iter();
        let args = words.flat_map(|word| word.fill(filling, &env)).collect();
        (args, env)
    }
}

impl CommandWord {
    fn from_text(text: impl Into<String>) -> Self {
        Self::Fixed(text.into())
    }

    fn preview(&self) -> Vec<String> {
        match self {
            Self::Fixed(text) => vec![text.clone()],
            Self::Argument { flag, text } => {
                flag.iter().cloned().chain([text.to_string()]).collect()
            }
            Self::Switch { flag, .. } => vec![format!("[{flag}]")],
            Self::PassVariable { variable } => vec!["-e".to_owned(), variable.clone()],
        }
    }

    fn fill(&self, filling: GapFilling<'_>, env: &[(String, String)]) -> Vec<String> {
        match self {
            Self::Fixed(text) => vec![(filling.escape)(text)],
            // The flag is repeated before each value.
            Self::Argument { flag, text } => {
                let flag = flag.as_deref().map(filling.escape);
                let values = text.fill(filling).into_iter();
                values
                    .flat_map(|value| flag.clone().into_iter().chain([value]))
                    .collect()
            }
            Self::Switch {
                flag,
                text,
                on_by_default,
            } => {
                let flag = (filling.escape)(flag);
                match text.fill_once(filling).as_deref() {
                    None => Vec::new(),
                    Some("true") => vec![flag],
                    Some("false") if !on_by_default => Vec::new(),
                    Some(other) => vec![format!("{flag}={other}")],
                }
            }
            Self::PassVariable { variable } if env.iter().any(|(name, _)| name == variable) => {
                vec!["-e".to_owned(), (filling.escape)(variable)]
            }
            Self::PassVariable { .. } => Vec::new(),
        }
    }
}

impl Runner {
    fn for_package(package: &Package, kind: RunKind) -> Result<Self, PlanError> {
        let hint = package.runtime_hint.as_deref();
        Ok(match (kind, hint) {
            (RunKind::Npm, Some("bunx")) => Self::Bunx,
            (RunKind::Npm, _) => Self::Npx,
            (RunKind::Pypi, Some("pipx")) => Self::Pipx,
            (RunKind::Pypi, _) => Self::Uvx,
            (RunKind::Nuget, _) => Self::Dnx,
            (RunKind::Oci, Some("podman")) => Self::Podman,
            (RunKind::Oci, _) => Self::Docker,
            (RunKind::Mcpb, _) => return Err(PlanError::Bundle),
            (RunKind::Remote | RunKind::Other, _) => {
                return Err(PlanError::UnknownType {
                    found: package.registry_type.clone(),
                });
            }
        })
    }

    fn program(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Bunx => "bunx",
            Self::Uvx => "uvx",
            Self::Pipx => "pipx",
            Self::Dnx => "dnx",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Returns the words after the program: the runner's own words, the package, and the package's
    /// words.
    fn build_words(
        self,
        name: String,
        runtime: Vec<CommandWord>,
        own: Vec<CommandWord>,
        variables: impl Iterator<Item = String>,
    ) -> Vec<CommandWord> {
        let mut words = self.default_words(&runtime);
        let consent = (self == Self::Dnx).then(|| unless_given("--yes", &["-y"], &runtime));
        words.extend(runtime.into_iter().filter(|word| {
            // A container's subcommand is one of the default words.
            !self.is_container() || word.leading_text() != Some("run")
        }));
        if self.is_container() {
            words.extend(variables.map(|variable| CommandWord::PassVariable { variable }));
        }
        words.push(CommandWord::Fixed(name));
        words.extend(consent.flatten());
        if self == Self::Dnx && !own.is_empty() {
            // The words after two dashes are not for `dnx` itself.
            words.push(CommandWord::from_text("--"));
        }
        words.extend(own);
        words
    }

    /// Returns the words that the program needs before all others, unless the author has written
    /// them.
    fn default_words(self, given: &[CommandWord]) -> Vec<CommandWord> {
        let words = match self {
            Self::Npx => vec![unless_given("-y", &["--yes"], given)],
            Self::Pipx => vec![unless_given("run", &[], given)],
            Self::Docker | Self::Podman => vec![
                Some(CommandWord::from_text("run")),
                unless_given("-i", &["--interactive", "-it"], given),
                unless_given("--rm", &[], given),
            ],
            Self::Bunx | Self::Uvx | Self::Dnx => Vec::new(),
        };
        words.into_iter().flatten().collect()
    }

    fn is_container(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }
}

/// Returns the word, unless it is already present, in this or another spelling.
fn unless_given(word: &str, same: &[&str], given: &[CommandWord]) -> Option<CommandWord> {
    let mut given = given.iter().filter_map(CommandWord::leading_text);
    let is_given = given.any(|other| other == word || same.contains(&other));
    (!is_given).then(|| CommandWord::from_text(word))
}

/// Splits the runner's arguments into variables for a container and the rest.
fn runtime_arguments(package: &Package, kind: RunKind) -> (Vec<NamedValue>, Vec<&Argument>) {
    let (mut variables, mut rest) = (Vec::new(), Vec::new());
    for argument in &package.runtime_arguments {
        match to_variable(argument) {
            Some(variable) if kind == RunKind::Oci => variables.push(variable),
            _ => rest.push(argument),
        }
    }
    (variables, rest)
}

fn variable_text(variable: &NamedValue, inputs: &mut PlanInputs) -> (String, GapText) {
    let NamedValue { name, value } = variable;
    let text = GapText::new(inputs, name, value, false, UnknownGap::Itself);
    (name.clone(), text)
}

fn argument_words<'a>(
    arguments: impl IntoIterator<Item = &'a Argument>,
    inputs: &mut PlanInputs,
) -> Vec<CommandWord> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, argument)| argument_word(argument, index, inputs))
        .collect()
}

fn argument_word(argument: &Argument, index: usize, inputs: &mut PlanInputs) -> CommandWord {
    let facts = &argument.value.facts;
    // A flag without a description, or with an empty value, has no value.
    let is_described = *facts != Facts::default() || argument.value_hint.is_some();
    let is_bare = !is_described || facts.value.as_deref() == Some("");
    let name = match (&argument.name, &argument.value_hint) {
        (Some(flag), _) if is_bare => return CommandWord::from_text(flag),
        (Some(flag), _) => flag.trim_start_matches('-').to_owned(),
        (None, Some(hint)) => hint.clone(),
        (None, None) => format!("argument-{}", index + 1),
    };
    let repeated = argument.is_repeated;
    let text = GapText::new(inputs, &name, &argument.value, repeated, UnknownGap::Itself);
    match argument.name.clone() {
        Some(flag) if facts.format.as_deref() == Some("boolean") => CommandWord::Switch {
            flag,
            text,
            on_by_default: facts.default.as_deref() == Some("true"),
        },
        flag => CommandWord::Argument { flag, text },
    }
}

/// Converts `-e NAME=value` to a variable like any other. On the command line, every process of the
/// machine could read its value.
fn to_variable(argument: &Argument) -> Option<NamedValue> {
    if !matches!(argument.name.as_deref(), Some("-e" | "--env")) {
        return None;
    }
    let (name, rest) = argument.value.facts.value.as_deref()?.split_once('=')?;
    if name.contains('{') {
        return None;
    }
    let mut value = argument.value.clone();
    value.facts.value = Some(rest.to_owned());
    Some(NamedValue {
        name: name.to_owned(),
        value,
    })
}

impl CommandWord {
    /// Returns the known beginning of the text.
    fn leading_text(&self) -> Option<&str> {
        match self {
            Self::Fixed(text)
            | Self::Argument {
                flag: Some(text), ..
            }
            | Self::Switch { flag: text, .. } => Some(text),
            Self::Argument { flag: None, text } => text.as_fixed(),
            Self::PassVariable { .. } => None,
        }
    }
}
