//! A file that a command writes for the person, who has none of that name yet.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use super::failure::Advise as _;

/// Writes a file, and refuses to write over one.
pub(super) fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file
        .with_context(|| format!("{} cannot be written", path.display()))
        .advise(|| "choose a file that does not exist yet, in a folder that does".to_owned())?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
