//! The path by which Kitbag was called, for files that record how to call it again.
//!
//! It survives upgrades where the executable's own path does not: package managers install each
//! version in its own folder and update a link.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub(super) fn invoked_path() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("cannot find the path of the kitbag executable")?;
    let word = env::args_os().next().unwrap_or_default();
    let (cwd, path) = (
        env::current_dir().unwrap_or_default(),
        env::var_os("PATH").unwrap_or_default(),
    );
    Ok(resolve_word(&word, &cwd, &path)
        .filter(|named| is_same(named, &program))
        .unwrap_or(program))
}

/// Returns the path where a shell finds the word. It may be another program: the caller chooses
/// `argv[0]`.
fn resolve_word(word: &OsStr, cwd: &Path, path: &OsStr) -> Option<PathBuf> {
    let word = Path::new(word);
    if word.components().count() > 1 || word.is_absolute() {
        return std::path::absolute(cwd.join(word)).ok();
    }
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(word))
        .find(|found| found.is_file())
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_resolved_like_in_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("kitbag"), "").unwrap();
        let check = |word: &str, path: &Path, expected: Option<PathBuf>| {
            assert_eq!(
                resolve_word(OsStr::new(word), folder, path.as_os_str()),
                expected,
                "{word}"
            );
        };
        check("kitbag", folder, Some(folder.join("kitbag")));
        check("kitbag", Path::new("relative"), None);
        check("./kitbag", Path::new(""), Some(folder.join("./kitbag")));
        check("/opt/kitbag", Path::new(""), Some("/opt/kitbag".into()));
        check("", folder, None);
    }
}
