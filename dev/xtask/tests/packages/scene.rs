//! A folder with packages, a place to install them, and a home for the user who does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) struct Scene {
    folder: PathBuf,
}

impl Scene {
    /// Makes the packages of one kind.
    #[track_caller]
    pub(crate) fn make(kind: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packages-{kind}"));
        // What a failed test has left.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("prefix")).unwrap();
        fs::create_dir_all(folder.join("home")).unwrap();
        let scene = Self { folder };
        let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
        dist.args(["dist", "--only", kind, "--target"])
            .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
            .arg("--binary")
            .arg(binary())
            .arg("--out")
            .arg(scene.out());
        // xz takes a minute for an unoptimized binary. A test may run outside of git.
        dist.env("DPKG_DEB_COMPRESSOR_TYPE", "gzip")
            .env("DPKG_DEB_COMPRESSOR_LEVEL", "1")
            .env("SOURCE_DATE_EPOCH", "1700000000");
        run(&mut dist);
        scene
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// An empty folder to install into.
    pub(crate) fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Returns the package whose name begins and ends like this.
    #[track_caller]
    pub(crate) fn package(&self, start: &str, end: &str) -> PathBuf {
        let names = fs::read_dir(self.out()).unwrap();
        let names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let found = names
            .iter()
            .find(|name| name.starts_with(start) && name.ends_with(end));
        self.out()
            .join(found.unwrap_or_else(|| panic!("no {start}…{end} among {names:?}")))
    }

    /// A command of a user with nothing but this home.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    /// Uses an installed program, which must not write next to itself.
    #[track_caller]
    pub(crate) fn check_use(&self, kitbag: &Path) {
        let installed = files(&self.prefix());
        let say = |words: &[&str]| run(self.command(kitbag).args(words));
        assert_eq!(say(&["--version"]), format!("kitbag {VERSION}\n"));
        let found = say(&["search", "what can copilot do"]);
        assert!(found.contains("agents__lookup_capability"), "{found}");
        let words = [
            "agents__lookup_capability",
            "agent=copilot",
            "capability=mcp",
        ];
        let answer = say(&[&["call"], &words[..]].concat());
        assert!(answer.contains("MCP Support"), "{answer}");
        say(&["demo"]);
        assert_eq!(files(&self.prefix()), installed);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What a failed test leaves helps to explain it.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Cargo puts a test into the directory `deps` below the programs of the same profile.
pub(crate) fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("kitbag");
    let advice = "is missing: run `cargo build --workspace` first";
    assert!(path.exists(), "{} {advice}", path.display());
    path
}

/// The folder of `cargo xtask setup`.
pub(crate) fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    std::env::var_os("KITBAG_TOOLS").map_or(here, PathBuf::from)
}

/// Returns the output of a command that must succeed.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Every file below a folder, by its path in it. Links are files, too.
pub(crate) fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found
}
