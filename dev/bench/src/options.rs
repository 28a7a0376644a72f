//! The flags common to the benchmarks of search.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) json: bool,
    /// A directory with sets that are too large for the repository; its layout is in
    /// docs/retrieval.md.
    pub(crate) data: Option<PathBuf>,
    /// Install missing programs for comparison.
    pub(crate) install: bool,
    /// The largest number of tools of a speed curve.
    pub(crate) up_to: Option<usize>,
}

impl Options {
    pub(crate) fn parse(chore: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            data: std::env::var_os(DATA).map(PathBuf::from),
            ..Self::default()
        };
        let mut rest = arguments;
        while let [flag, after @ ..] = rest {
            rest = match (*flag, after) {
                ("--json", _) => {
                    options.json = true;
                    after
                }
                ("--install", _) => {
                    options.install = true;
                    after
                }
                ("--data", [folder, after @ ..]) => {
                    options.data = Some(PathBuf::from(folder));
                    after
                }
                ("--up-to", [number, after @ ..]) => {
                    options.up_to = Some(number.parse().context("--up-to takes a whole number")?);
                    after
                }
                _ => bail!(
                    "`cargo xtask bench {chore}` does not take {flag}, or wants a value for it"
                ),
            };
        }
        if let Some(folder) = &mut options.data {
            *folder = fs::canonicalize(&*folder)
                .with_context(|| format!("finding {}", folder.display()))?;
        }
        Ok(options)
    }
}

const DATA: &str = "KITBAG_BENCH_DATA";
