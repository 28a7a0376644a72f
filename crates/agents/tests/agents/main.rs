//! The data, the questions about it, and the server that answers them, tested from outside.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod data;
mod doubt;
mod export;
mod protocol;
mod suite;

use std::path::{Path, PathBuf};

/// The folder with `agents/` and `framework/` in it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
