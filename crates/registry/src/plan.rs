//! One way to run a server, with gaps where a person has to say something.

use crate::choose::Kind;
use crate::input::{Answers, Input, Inputs};
use crate::launch::CommandLine;
use crate::server::{Package, Remote, RemoteKind};
use crate::text::{Filling, Text, Unknown};

#[derive(Debug)]
pub struct Plan {
    pub kind: Kind,
    /// The package or the address, as the entry names it.
    pub source: String,
    pub inputs: Vec<Input>,
    reach: Reach,
}

#[derive(Debug)]
enum Reach {
    Launch(CommandLine),
    Remote {
        url: Text,
        transport: RemoteKind,
        headers: Vec<(String, Text)>,
    },
}

/// A plan without gaps. Whoever made it spelt the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    Launch {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
    Remote {
        url: String,
        transport: RemoteKind,
        headers: Vec<(String, String)>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("it comes as a bundle (MCPB), and Kitbag cannot run those")]
    Bundle,
    #[error("it comes as a package of the kind `{found}`, which Kitbag does not know")]
    UnknownType { found: String },
    #[error(
        "its package speaks `{found}` once it is launched, and Kitbag speaks to programs over stdio"
    )]
    NotStdio { found: String },
    #[error("`{found}` cannot be the name or the version of a package")]
    OddName { found: String },
    #[error("its package is kept at {host}, where no runner looks by itself")]
    Elsewhere { host: String },
}

impl Plan {
    pub(crate) fn of_package(package: &Package, kind: Kind) -> Result<Self, PlanError> {
        let mut inputs = Inputs::default();
        let line = CommandLine::of(package, kind, &mut inputs)?;
        let spoken = &package.transport.kind;
        if spoken != "stdio" {
            return Err(PlanError::NotStdio {
                found: spoken.clone(),
            });
        }
        let version = package
            .version
            .as_deref()
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        let source = format!("{}{version}", package.identifier);
        Ok(Self {
            kind,
            source,
            inputs: inputs.0,
            reach: Reach::Launch(line),
        })
    }

    pub(crate) fn of_remote(remote: &Remote) -> Self {
        let mut inputs = Inputs::default();
        let gap = Unknown::Gap { secret: false };
        let url = Text::with_gaps(&mut inputs, &remote.url, &remote.variables, gap);
        // There is no address with a part left out.
        for name in url.gaps() {
            inputs
                .0
                .iter_mut()
                .filter(|input| input.name == name)
                .for_each(|input| input.required = true);
        }
        let headers = remote.headers.iter().map(|header| {
            let unknown = Unknown::Gap {
                secret: header.value.facts.is_secret,
            };
            (
                header.name.clone(),
                Text::of(&mut inputs, &header.name, &header.value, false, unknown),
            )
        });
        let headers = headers.collect();
        let reach = Reach::Remote {
            url,
            transport: remote.kind,
            headers,
        };
        Self {
            kind: Kind::Remote,
            source: remote.url.clone(),
            inputs: inputs.0,
            reach,
        }
    }

    /// What must be on the PATH.
    pub fn program(&self) -> Option<&'static str> {
        match &self.reach {
            Reach::Launch(line) => Some(line.command),
            Reach::Remote { .. } => None,
        }
    }

    /// The words that would run or the address that would be reached, with the gaps named.
    pub fn preview(&self) -> Vec<String> {
        match &self.reach {
            Reach::Launch(line) => line.preview(),
            Reach::Remote { url, .. } => vec![url.to_string()],
        }
    }

    /// Without its gaps, or which of them must not stay open. What the author wrote goes through
    /// `literally`, which spells it so that it means these very letters.
    pub fn fill(
        &self,
        answers: &Answers,
        literally: impl Fn(&str) -> String,
    ) -> Result<Filled, Vec<&Input>> {
        let open =
            |input: &&Input| input.required && input.default.is_none() && !answers.has(input);
        let missing: Vec<_> = self.inputs.iter().filter(open).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let filling = Filling {
            inputs: &self.inputs,
            answers,
            literally: &literally,
        };
        Ok(match &self.reach {
            Reach::Launch(line) => {
                let (args, env) = line.fill(filling);
                Filled::Launch {
                    command: line.command.to_owned(),
                    args,
                    env,
                }
            }
            Reach::Remote {
                url,
                transport,
                headers,
            } => {
                let one = |text: &Text| text.fill(filling).into_iter().next();
                Filled::Remote {
                    url: one(url).expect("every gap of an address is required"),
                    transport: *transport,
                    headers: headers
                        .iter()
                        .filter_map(|(name, text)| Some((name.clone(), one(text)?)))
                        .collect(),
                }
            }
        })
    }
}

impl PlanError {
    pub(crate) fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Bundle => {
                "look for another server, or install the bundle in a client that takes it"
                    .to_owned()
            }
            Self::UnknownType { .. } | Self::Elsewhere { .. } => {
                "install it as its website says, then: kitbag servers add NAME -- COMMAND"
                    .to_owned()
            }
            Self::NotStdio { .. } => {
                "start it yourself, then: kitbag servers add NAME http://127.0.0.1:PORT/mcp"
                    .to_owned()
            }
            Self::OddName { .. } => return None,
        })
    }
}
