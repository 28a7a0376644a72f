//! Checks that cover the whole repository.
//!
//! # Layout
//! - [`edges`]: allowed dependencies between crates
//! - [`documents`]: paths, links and functions named in documents exist
//! - [`tidy`]: rules for every file

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the repository has failed"
)]

mod documents;
mod edges;
mod tidy;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the checkout.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("tests are started by cargo");
    Path::new(&here)
        .ancestors()
        .nth(2)
        .expect("xtask is two folders below the root")
        .to_owned()
}

/// Every text file of the repository, by its path relative to the root.
fn texts() -> Vec<(String, String)> {
    let root = root();
    let mut texts = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_symlink() || NOT_OURS.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(&root).unwrap();
                texts.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    texts.sort();
    assert!(
        texts.iter().any(|(path, _)| path == "Cargo.toml"),
        "{} is not a checkout",
        root.display()
    );
    texts
}

/// Folders ignored by git, and its own.
const NOT_OURS: [&str; 5] = [".git", ".tools", "target", "node_modules", "__pycache__"];
