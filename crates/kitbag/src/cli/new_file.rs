//! Writes a new file and never overwrites one.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::failure::Advise as _;

/// Writes a file that must not exist yet.
pub(super) fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file
        .with_context(|| format!("cannot write {}", path.display()))
        .advise(|| "choose a new file in an existing folder".to_owned())?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
