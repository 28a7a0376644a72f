//! Chooses the best way to run a server on this machine.

use std::fmt;
use std::str::FromStr;

use kitbag_domain::Remedy;
use serde::Serialize;

use crate::plan::{PlanError, RunPlan};
use crate::server::{Package, RegistryRemote, RegistryServer, RemoteKind};

/// The ways to run a server, in the order that suits most users: packages that start without a
/// container, then remote servers, then containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
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
    #[error("the entry has neither a package nor a remote address")]
    Nothing,
    #[error("the entry cannot be run as `{wanted}`")]
    NotOffered {
        wanted: RunKind,
        offered: Vec<RunKind>,
    },
    #[error(transparent)]
    Unusable(#[from] PlanError),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind `{found}`; expected npm, pypi, nuget, oci or remote")]
pub struct UnknownRunKind {
    found: String,
}

/// Returns the best way, or the best of the wanted kind. `on_path` returns true if a program is on
/// the PATH.
pub fn choose(
    server: &RegistryServer,
    wanted: Option<RunKind>,
    on_path: impl Fn(&str) -> bool,
) -> Result<RunPlan, ChoiceError> {
    let offered = offered_kinds(server);
    let plans = all_plans(server).filter(|(kind, _)| wanted.is_none_or(|wanted| wanted == *kind));
    let (mut usable, mut useless) = (Vec::new(), None);
    for (_, plan) in plans {
        match plan {
            Ok(plan) => usable.push(plan),
            Err(error) => useless = useless.or(Some(error)),
        }
    }
    // A plan whose program is installed comes before a better one whose program is not.
    let best = usable
        .into_iter()
        .min_by_key(|plan| (!plan.program().is_none_or(&on_path), plan.kind));
    best.ok_or_else(|| choice_error(useless, wanted, offered))
}

fn choice_error(
    useless: Option<PlanError>,
    wanted: Option<RunKind>,
    offered: Vec<RunKind>,
) -> ChoiceError {
    match (useless, wanted) {
        (Some(error), _) => error.into(),
        (None, Some(wanted)) if !offered.is_empty() => ChoiceError::NotOffered { wanted, offered },
        (None, _) => ChoiceError::Nothing,
    }
}

/// Returns the kinds of ways that an entry offers, without duplicates.
pub fn offered_kinds(server: &RegistryServer) -> Vec<RunKind> {
    let remote = server.remotes.first().map(|_| RunKind::Remote);
    let mut kinds: Vec<_> = server
        .packages
        .iter()
        .map(RunKind::for_package)
        .chain(remote)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn all_plans(
    server: &RegistryServer,
) -> impl Iterator<Item = (RunKind, Result<RunPlan, PlanError>)> {
    let packages = server.packages.iter().map(package_plan);
    // The newer transport comes first.
    let newer = remotes_of_kind(server, RemoteKind::StreamableHttp);
    let remotes = newer.chain(remotes_of_kind(server, RemoteKind::Sse));
    packages.chain(remotes.map(|remote| (RunKind::Remote, Ok(RunPlan::for_remote(remote)))))
}

fn package_plan(package: &Package) -> (RunKind, Result<RunPlan, PlanError>) {
    let kind = RunKind::for_package(package);
    (kind, RunPlan::for_package(package, kind))
}

fn remotes_of_kind(
    server: &RegistryServer,
    kind: RemoteKind,
) -> impl Iterator<Item = &RegistryRemote> {
    let remotes = server.remotes.iter();
    remotes.filter(move |remote| remote.kind == kind)
}

impl RunKind {
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

    fn for_package(package: &Package) -> Self {
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

impl FromStr for RunKind {
    type Err = UnknownRunKind;

    fn from_str(text: &str) -> Result<Self, UnknownRunKind> {
        let known = [Self::Npm, Self::Pypi, Self::Nuget, Self::Oci, Self::Remote];
        let named = known.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| UnknownRunKind {
            found: text.to_owned(),
        })
    }
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Remedy for ChoiceError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Nothing => Some("see its website or repository for how to run it".to_owned()),
            Self::NotOffered { offered, .. } => {
                let options = offered.iter().map(|kind| format!("--package {kind}"));
                let options: Vec<_> = options.collect();
                Some(format!("choose one of: {}", options.join(", ")))
            }
            Self::Unusable(error) => error.remedy(),
        }
    }
}
