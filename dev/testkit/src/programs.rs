//! Programs built next to the test, and programs written by a test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the path of the program under test.
#[must_use]
pub fn kitbag() -> PathBuf {
    program_path("kitbag")
}

/// Returns the path of the server that tests launch.
#[must_use]
pub fn testbed() -> String {
    let path = program_path("kitbag-testbed");
    path.to_str().expect("build paths are text").to_owned()
}

/// Writes an executable script; parent directories are created.
pub fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Cargo puts a test into the directory `deps` below the programs of the same profile.
fn program_path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo build --workspace` first",
        path.display()
    );
    path
}
