//! Rules for the repository as a whole, which hold however the code inside it changes.
//!
//! # Layout
//! - [`edges`]: which crate may know which
//! - [`tidy`]: how every file looks
//! - [`documents`]: what the documents point at exists
//! - [`shape`]: the goals that were met are not missed again

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the repository has failed"
)]

mod documents;
mod edges;
mod shape;
mod tidy;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the checkout.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("tests are started by cargo");
    Path::new(&here)
        .parent()
        .expect("the chores lie one folder below the root")
        .to_owned()
}

/// Every text file of the repository, by its path from the root.
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
        "{} is no checkout",
        root.display()
    );
    texts
}

/// Folders that git ignores or keeps for itself.
const NOT_OURS: [&str; 5] = [".git", ".tools", "target", "node_modules", "__pycache__"];
