//! Which of the ways to run a server fits this machine.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::plan::{Plan, PlanError};
use crate::server::{Package, RemoteKind, Server};

/// How a server is run, in the order of what suits most people: what starts here without a
/// container, then what runs elsewhere, then containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Npm,
    Pypi,
    Nuget,
    Remote,
    Oci,
    Mcpb,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("the entry says neither what to launch nor where the server runs")]
    Nothing,
    #[error("there is no way of the kind `{wanted}`")]
    NotOffered { wanted: Kind, offered: Vec<Kind> },
    #[error(transparent)]
    Unusable(#[from] PlanError),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is none of npm, pypi, nuget, oci, remote")]
pub struct UnknownKind {
    found: String,
}

/// The best way there is, or the best of the kind that is wanted. `on_path` says whether a
/// program is there.
pub fn choose(
    server: &Server,
    wanted: Option<Kind>,
    on_path: impl Fn(&str) -> bool,
) -> Result<Plan, ChoiceError> {
    let offered = kinds(server);
    let plans = plans(server).filter(|(kind, _)| wanted.is_none_or(|wanted| wanted == *kind));
    let (mut usable, mut useless) = (Vec::new(), None);
    for (_, plan) in plans {
        match plan {
            Ok(plan) => usable.push(plan),
            Err(error) => useless = useless.or(Some(error)),
        }
    }
    let runs_here = |plan: &Plan| plan.program().is_none_or(&on_path);
    let best = usable
        .into_iter()
        .min_by_key(|plan| (!runs_here(plan), plan.kind));
    match (best, useless, wanted) {
        (Some(plan), _, _) => Ok(plan),
        (None, Some(error), _) => Err(error.into()),
        (None, None, Some(wanted)) if !offered.is_empty() => {
            Err(ChoiceError::NotOffered { wanted, offered })
        }
        (None, None, _) => Err(ChoiceError::Nothing),
    }
}

/// The kinds of ways there are, each once.
pub fn kinds(server: &Server) -> Vec<Kind> {
    let remote = server.remotes.first().map(|_| Kind::Remote);
    let mut kinds: Vec<_> = server.packages.iter().map(Kind::of).chain(remote).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn plans(server: &Server) -> impl Iterator<Item = (Kind, Result<Plan, PlanError>)> {
    let packages = server.packages.iter().map(|package| {
        let kind = Kind::of(package);
        (kind, Plan::of_package(package, kind))
    });
    let newer_first = [RemoteKind::StreamableHttp, RemoteKind::Sse];
    let remotes = newer_first
        .into_iter()
        .flat_map(|kind| server.remotes.iter().filter(move |it| it.kind == kind));
    packages.chain(remotes.map(|remote| (Kind::Remote, Ok(Plan::of_remote(remote)))))
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Nuget => "nuget",
            Self::Remote => "remote",
            Self::Oci => "oci",
            Self::Mcpb => "mcpb",
            Self::Other => "other",
        }
    }

    fn of(package: &Package) -> Self {
        match package.registry_type.as_str() {
            "npm" => Self::Npm,
            "pypi" => Self::Pypi,
            "nuget" => Self::Nuget,
            "oci" | "docker" => Self::Oci,
            "mcpb" => Self::Mcpb,
            _ => Self::Other,
        }
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let known = [Self::Npm, Self::Pypi, Self::Nuget, Self::Oci, Self::Remote];
        let named = known.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| UnknownKind {
            found: text.to_owned(),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ChoiceError {
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Nothing => Some("its website or repository may say how to run it".to_owned()),
            Self::NotOffered { offered, .. } => {
                let offered: Vec<_> = offered
                    .iter()
                    .map(|kind| format!("--package {kind}"))
                    .collect();
                Some(format!("choose what there is: {}", offered.join(", ")))
            }
            Self::Unusable(error) => error.remedy(),
        }
    }
}
