//! The programs that were built beside the test, and programs that a test writes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the path of the program under test.
#[must_use]
pub fn kitbag() -> PathBuf {
    built("kitbag")
}

/// Returns the path of the server that tests launch.
#[must_use]
pub fn testbed() -> String {
    let path = built("kitbag-testbed");
    path.to_str().expect("build paths are text").to_owned()
}

/// Writes a script that can be run; folders on the way are made.
pub fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Cargo puts a test into the folder `deps` below the programs of the same profile.
fn built(name: &str) -> PathBuf {
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
