//! The measured sets: queries with known answers, and the tools they choose from.
//!
//! A set is a directory with `tools.jsonl` and `queries.jsonl`, in the format of `kitbag eval
//! retrieval`. Sets that are too large for the repository come from a directory outside it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xtask::repository::Repository;

use crate::convert;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) group: Group,
    pub(crate) name: String,
    pub(crate) dataset: PathBuf,
    /// Directories whose tools are added to the set's.
    pub(crate) catalogs: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Alone,
    AmongCatalogs,
    AmongRealTools,
    Published,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "alone",
            Self::AmongCatalogs => "among all catalogs",
            Self::AmongRealTools => "among the real tools",
            Self::Published => "published by a peer",
        })
    }
}

/// Everything to measure; sets in other formats are converted into `scratch`.
pub(crate) fn all(
    repository: &Repository,
    data: Option<&Path>,
    scratch: &Path,
) -> anyhow::Result<Vec<Case>> {
    let cases = match data {
        Some(data) => outside(data, scratch)?,
        None => in_the_repository(repository),
    };
    if cases.is_empty() {
        bail!("no sets were found; the folder given with --data should have retrieval/dev in it");
    }
    Ok(cases)
}

/// The most realistic set: many real servers, everyday queries.
pub(crate) fn most_real(repository: &Repository, data: Option<&Path>) -> Case {
    let real = data.map(|data| Case {
        group: Group::AmongRealTools,
        name: REAL_INTENTS.to_owned(),
        dataset: data.join(DEV).join(REAL_INTENTS),
        catalogs: vec![data.join(REAL_CATALOG)],
    });
    real.unwrap_or_else(|| in_the_repository(repository).swap_remove(0))
}

/// Directories with tools, the real ones first.
pub(crate) fn tool_folders(
    repository: &Repository,
    data: Option<&Path>,
) -> anyhow::Result<Vec<PathBuf>> {
    let Some(data) = data else {
        return Ok(OURS.map(|name| repository.evals().join(name)).to_vec());
    };
    let mut folders = vec![data.join(REAL_CATALOG)];
    folders.extend(folders_in(&data.join(CATALOGS))?);
    Ok(folders)
}

const OURS: [&str; 2] = ["small", "p0"];
const DEV: &str = "retrieval/dev";
const CATALOGS: &str = "retrieval/catalogs";
const REAL_CATALOG: &str = "real-mcp-catalog";
const REAL_INTENTS: &str = "real_intents";

fn in_the_repository(repository: &Repository) -> Vec<Case> {
    let folders = OURS.map(|name| repository.evals().join(name));
    let case = |group, catalogs: &dyn Fn(&Path) -> Vec<PathBuf>| {
        let sets = OURS.iter().zip(&folders);
        let one = |(name, dataset): (&&str, &PathBuf)| Case {
            group,
            name: (*name).to_owned(),
            dataset: dataset.clone(),
            catalogs: catalogs(dataset),
        };
        sets.map(one).collect::<Vec<_>>()
    };
    let others = |own: &Path| folders.iter().filter(|it| *it != own).cloned().collect();
    [
        case(Group::Alone, &|_| Vec::new()),
        case(Group::AmongCatalogs, &others),
    ]
    .concat()
}

fn outside(data: &Path, scratch: &Path) -> anyhow::Result<Vec<Case>> {
    let catalogs = folders_in(&data.join(CATALOGS))?;
    let mut cases = Vec::new();
    for (group, catalogs) in [(Group::Alone, Vec::new()), (Group::AmongCatalogs, catalogs)] {
        for dataset in folders_in(&data.join(DEV))? {
            cases.push(Case {
                group,
                name: name_of(&dataset),
                dataset,
                catalogs: catalogs.clone(),
            });
        }
    }
    let real = data.join(REAL_CATALOG);
    if real.is_dir() {
        let dataset = data.join(DEV).join(REAL_INTENTS);
        let name = REAL_INTENTS.to_owned();
        cases.push(Case {
            group: Group::AmongRealTools,
            name,
            dataset,
            catalogs: vec![real],
        });
    }
    for dataset in convert::peers_sets(&data.join("peers"), scratch)? {
        let (group, catalogs) = (Group::Published, Vec::new());
        cases.push(Case {
            group,
            name: name_of(&dataset),
            dataset,
            catalogs,
        });
    }
    Ok(cases)
}

/// The subdirectories by name; none if the directory does not exist.
fn folders_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    folders.retain(|it| it.join("tools.jsonl").is_file());
    folders.sort();
    Ok(folders)
}

fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
