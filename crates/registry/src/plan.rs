//! One way to run a server, with gaps for the user's answers.

use kitbag_domain::Remedy;

use crate::choose::RunKind;
use crate::input::{PlanAnswers, PlanInput, PlanInputs};
use crate::launch::CommandLine;
use crate::server::{NamedValue, Package, RegistryRemote, RemoteKind};
use crate::text::{GapFilling, GapText, UnknownGap};

#[derive(Debug)]
pub struct RunPlan {
    pub kind: RunKind,
    /// The package or the address, as written in the entry.
    pub source: String,
    pub inputs: Vec<PlanInput>,
    reach: PlannedReach,
}

#[derive(Debug)]
enum PlannedReach {
    Launch(CommandLine),
    Remote {
        url: GapText,
        transport: RemoteKind,
        headers: Vec<(String, GapText)>,
    },
}

/// A plan without gaps, with answers in the configuration's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilledPlan {
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
    #[error("it is a bundle (MCPB), which Kitbag cannot run")]
    Bundle,
    #[error("its package has the unknown kind `{found}`")]
    UnknownType { found: String },
    #[error("its package uses the transport `{found}`, but Kitbag runs programs over stdio only")]
    NotStdio { found: String },
    #[error("`{found}` is not a valid name or version of a package")]
    OddName { found: String },
    #[error("its package is on {host}, which no runner uses by default")]
    Elsewhere { host: String },
}

impl RunPlan {
    pub(crate) fn for_package(package: &Package, kind: RunKind) -> Result<Self, PlanError> {
        let mut inputs = PlanInputs::default();
        let line = CommandLine::for_package(package, kind, &mut inputs)?;
        let transport = &package.transport.kind;
        if transport != "stdio" {
            return Err(PlanError::NotStdio {
                found: transport.clone(),
            });
        }
        Ok(Self {
            kind,
            source: package_source(package),
            inputs: inputs.0,
            reach: PlannedReach::Launch(line),
        })
    }

    pub(crate) fn for_remote(remote: &RegistryRemote) -> Self {
        let mut inputs = PlanInputs::default();
        let gap = UnknownGap::Gap { secret: false };
        let url = GapText::with_gaps(&mut inputs, &remote.url, &remote.variables, gap);
        // An address with a missing part leads nowhere.
        inputs.require(url.gaps());
        let headers = remote.headers.iter();
        let headers = headers
            .map(|header| header_text(header, &mut inputs))
            .collect();
        Self {
            kind: RunKind::Remote,
            source: remote.url.clone(),
            reach: PlannedReach::Remote {
                url,
                transport: remote.kind,
                headers,
            },
            inputs: inputs.0,
        }
    }

    /// Returns the program that must be on the PATH.
    pub fn program(&self) -> Option<&'static str> {
        match &self.reach {
            PlannedReach::Launch(line) => Some(line.command),
            PlannedReach::Remote { .. } => None,
        }
    }

    /// Returns the words of the command or the remote address, with the names of the gaps.
    pub fn preview(&self) -> Vec<String> {
        match &self.reach {
            PlannedReach::Launch(line) => line.preview(),
            PlannedReach::Remote { url, .. } => vec![url.to_string()],
        }
    }

    /// Fills the gaps, or returns the required gaps that are still open. The author's text is
    /// escaped with `escape`, so that it contains no variables.
    pub fn fill(
        &self,
        answers: &PlanAnswers,
        escape: impl Fn(&str) -> String,
    ) -> Result<FilledPlan, Vec<&PlanInput>> {
        let mut missing: Vec<_> = self.inputs.iter().collect();
        missing.retain(|input| input.required && input.default.is_none() && !answers.has(input));
        if !missing.is_empty() {
            return Err(missing);
        }
        let filling = GapFilling {
            inputs: &self.inputs,
            answers,
            escape: &escape,
        };
        Ok(self.reach.fill(filling))
    }
}

fn package_source(package: &Package) -> String {
    match &package.version {
        Some(version) => format!("{} {version}", package.identifier),
        None => package.identifier.clone(),
    }
}

fn header_text(header: &NamedValue, inputs: &mut PlanInputs) -> (String, GapText) {
    let unknown = UnknownGap::Gap {
        secret: header.value.facts.is_secret,
    };
    let text = GapText::new(inputs, &header.name, &header.value, false, unknown);
    (header.name.clone(), text)
}

impl PlannedReach {
    fn fill(&self, filling: GapFilling<'_>) -> FilledPlan {
        match self {
            Self::Launch(line) => {
                let (args, env) = line.fill(filling);
                FilledPlan::Launch {
                    command: line.command.to_owned(),
                    args,
                    env,
                }
            }
            Self::Remote {
                url,
                transport,
                headers,
            } => {
                let url = url.fill_once(filling);
                FilledPlan::Remote {
                    url: url.expect("every gap of an address is required"),
                    transport: *transport,
                    headers: fill_pairs(headers, filling),
                }
            }
        }
    }
}

/// Fills the values of variables or headers. Values with an open gap are omitted.
pub(crate) fn fill_pairs(
    pairs: &[(String, GapText)],
    filling: GapFilling<'_>,
) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .filter_map(|(name, text)| Some((name.clone(), text.fill_once(filling)?)))
        .collect()
}

impl Remedy for PlanError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Bundle => {
                "search for another server, or install the bundle in a client that supports it"
                    .to_owned()
            }
            Self::UnknownType { .. } | Self::Elsewhere { .. } => {
                "follow its website's instructions, then run: kitbag servers add NAME -- COMMAND"
                    .to_owned()
            }
            Self::NotStdio { .. } => {
                "start it yourself, then run: kitbag servers add NAME http://127.0.0.1:PORT/mcp"
                    .to_owned()
            }
            Self::OddName { .. } => return None,
        })
    }
}
