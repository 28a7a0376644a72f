//! The path by which Kitbag was called, for the code that writes down how to call it again.
//!
//! It stays valid over upgrades where the program's own path does not: package managers put each
//! version into a folder of its own and turn a link to the newest.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub(super) fn invoked_path() -> anyhow::Result<PathBuf> {
    let program =
        env::current_exe().context("the operating system does not say where Kitbag is")?;
    let word = env::args_os().next().unwrap_or_default();
    let (cwd, path) = (
        env::current_dir().unwrap_or_default(),
        env::var_os("PATH").unwrap_or_default(),
    );
    Ok(resolve_word(&word, &cwd, &path)
        .filter(|named| is_same(named, &program))
        .unwrap_or(program))
}

/// Returns the path where a shell finds the word, which need not be us: a caller may hand over any
/// first word.
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
    fn a_word_is_found_as_a_shell_finds_it() {
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
