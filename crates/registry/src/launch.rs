//! A package as a command line: which program runs it, and in which order the words go.

use crate::address::address;
use crate::choose::Kind;
use crate::input::Inputs;
use crate::plan::PlanError;
use crate::server::{Argument, Facts, NamedValue, Package};
use crate::text::{Filling, Text, Unknown};

/// A command line with gaps.
#[derive(Debug)]
pub(crate) struct CommandLine {
    pub(crate) command: &'static str,
    words: Vec<Word>,
    env: Vec<(String, Text)>,
}

#[derive(Debug)]
enum Word {
    Fixed(String),
    /// `--flag value`, or only the value.
    Argument {
        flag: Option<String>,
        text: Text,
    },
    /// A flag that is there or not.
    Switch {
        flag: String,
        text: Text,
        on_by_default: bool,
    },
    /// Hands a variable on into a container, if it has a value.
    HandOn {
        variable: String,
    },
}

/// The programs that run packages. Any other that an author hints at is not taken: it would be
/// any program at all.
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
    pub(crate) fn of(
        package: &Package,
        kind: Kind,
        inputs: &mut Inputs,
    ) -> Result<Self, PlanError> {
        let runner = Runner::of(package, kind)?;
        let name = address(package, kind)?;
        let hidden = |argument: &&Argument| kind == Kind::Oci && as_variable(argument).is_some();
        let (variables, plain): (Vec<_>, Vec<_>) =
            package.runtime_arguments.iter().partition(hidden);
        let runtime = arguments(plain, inputs);
        let own = arguments(&package.package_arguments, inputs);
        let more: Vec<_> = variables.into_iter().filter_map(as_variable).collect();
        let env: Vec<_> = package
            .environment_variables
            .iter()
            .chain(&more)
            .map(|it| {
                (
                    it.name.clone(),
                    Text::of(inputs, &it.name, &it.value, false, Unknown::Itself),
                )
            })
            .collect();
        let variables = env.iter().map(|(variable, _)| variable.clone());
        let words = runner.words(name, runtime, own, variables);
        Ok(Self {
            command: runner.program(),
            words,
            env,
        })
    }

    /// Its words, with the gaps named.
    pub(crate) fn preview(&self) -> Vec<String> {
        let words = self.words.iter().flat_map(|word| match word {
            Word::Fixed(text) => vec![text.clone()],
            Word::Argument { flag, text } => {
                flag.iter().cloned().chain([text.to_string()]).collect()
            }
            Word::Switch { flag, .. } => vec![format!("[{flag}]")],
            Word::HandOn { variable } => vec!["-e".to_owned(), variable.clone()],
        });
        [self.command.to_owned()].into_iter().chain(words).collect()
    }

    pub(crate) fn fill(&self, filling: Filling<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let env: Vec<(String, String)> = self
            .env
            .iter()
            .filter_map(|(name, text)| Some((name.clone(), text.fill(filling).into_iter().next()?)))
            .collect();
        let args = self
            .words
            .iter()
            .flat_map(|word| word.fill(filling, &env))
            .collect();
        (args, env)
    }
}

impl Word {
    fn fill(&self, filling: Filling<'_>, env: &[(String, String)]) -> Vec<String> {
        match self {
            Self::Fixed(text) => vec![(filling.literally)(text)],
            Self::Argument { flag, text } => {
                let flag = flag.as_deref().map(filling.literally);
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
                let flag = (filling.literally)(flag);
                match text.fill(filling).first().map(String::as_str) {
                    Some("true") => vec![flag],
                    Some("false") if !on_by_default => Vec::new(),
                    Some(other) => vec![format!("{flag}={other}")],
                    None => Vec::new(),
                }
            }
            Self::HandOn { variable } if env.iter().any(|(name, _)| name == variable) => {
                vec!["-e".to_owned(), (filling.literally)(variable)]
            }
            Self::HandOn { .. } => Vec::new(),
        }
    }
}

impl Runner {
    fn of(package: &Package, kind: Kind) -> Result<Self, PlanError> {
        let hint = package.runtime_hint.as_deref();
        Ok(match (kind, hint) {
            (Kind::Npm, Some("bunx")) => Self::Bunx,
            (Kind::Npm, _) => Self::Npx,
            (Kind::Pypi, Some("pipx")) => Self::Pipx,
            (Kind::Pypi, _) => Self::Uvx,
            (Kind::Nuget, _) => Self::Dnx,
            (Kind::Oci, Some("podman")) => Self::Podman,
            (Kind::Oci, _) => Self::Docker,
            (Kind::Mcpb, _) => return Err(PlanError::Bundle),
            (Kind::Remote | Kind::Other, _) => {
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

    /// The words after the program: its own, the package, and the package's.
    fn words(
        self,
        name: String,
        runtime: Vec<Word>,
        own: Vec<Word>,
        variables: impl Iterator<Item = String>,
    ) -> Vec<Word> {
        let given: Vec<_> = runtime
            .iter()
            .filter_map(Word::spelt)
            .map(str::to_owned)
            .collect();
        let unless = |word: &str, same: &[&str]| {
            let there = given
                .iter()
                .any(|it| it == word || same.contains(&it.as_str()));
            (!there).then(|| Word::Fixed(word.to_owned()))
        };
        let mut words = Vec::new();
        match self {
            Self::Npx => words.extend(unless("-y", &["--yes"])),
            Self::Pipx => words.extend(unless("run", &[])),
            Self::Docker | Self::Podman => {
                // A subcommand comes first, wherever its author put it.
                words.push(Word::Fixed("run".to_owned()));
                words.extend(unless("-i", &["--interactive", "-it"]));
                words.extend(unless("--rm", &[]));
            }
            Self::Bunx | Self::Uvx | Self::Dnx => {}
        }
        let in_container = matches!(self, Self::Docker | Self::Podman);
        words.extend(
            runtime
                .into_iter()
                .filter(|word| !(in_container && word.spelt() == Some("run"))),
        );
        if in_container {
            words.extend(variables.map(|variable| Word::HandOn { variable }));
        }
        words.push(Word::Fixed(name));
        if self == Self::Dnx {
            words.extend(unless("--yes", &["-y"]));
            // What follows is not for `dnx` itself.
            words.extend((!own.is_empty()).then(|| Word::Fixed("--".to_owned())));
        }
        words.extend(own);
        words
    }
}

fn arguments<'a>(
    arguments: impl IntoIterator<Item = &'a Argument>,
    inputs: &mut Inputs,
) -> Vec<Word> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, argument)| word(argument, index, inputs))
        .collect()
}

fn word(argument: &Argument, index: usize, inputs: &mut Inputs) -> Word {
    let Argument {
        name,
        value_hint,
        is_repeated,
        value,
    } = argument;
    let text = |inputs: &mut Inputs, name: &str| {
        Text::of(inputs, name, value, *is_repeated, Unknown::Itself)
    };
    let Some(flag) = name.clone() else {
        let name = value_hint
            .clone()
            .unwrap_or_else(|| format!("argument-{}", index + 1));
        return Word::Argument {
            flag: None,
            text: text(inputs, &name),
        };
    };
    let facts = &value.facts;
    let is_bare = *facts == Facts::default() && value_hint.is_none();
    // A flag of which nothing else is said, or whose value is empty, is all there is.
    if is_bare || facts.value.as_deref() == Some("") {
        return Word::Fixed(flag);
    }
    let text = text(inputs, flag.trim_start_matches('-'));
    if facts.format.as_deref() == Some("boolean") {
        let on_by_default = facts.default.as_deref() == Some("true");
        return Word::Switch {
            flag,
            text,
            on_by_default,
        };
    }
    Word::Argument {
        flag: Some(flag),
        text,
    }
}

/// `-e NAME=value` is a variable like any other; on the command line everybody on the machine could
/// read its value.
fn as_variable(argument: &Argument) -> Option<NamedValue> {
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

impl Word {
    /// The letters it begins with, if they are known.
    fn spelt(&self) -> Option<&str> {
        match self {
            Self::Fixed(text)
            | Self::Argument {
                flag: Some(text), ..
            }
            | Self::Switch { flag: text, .. } => Some(text),
            Self::Argument { flag: None, text } => text.as_fixed(),
            Self::HandOn { .. } => None,
        }
    }
}
