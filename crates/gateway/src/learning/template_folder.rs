//! The operator's own templates: the TOML files of one directory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kitbag_intents::{IntentTemplate, TemplateFile, TemplateOrigin};

/// The files of a directory, and the unreadable ones.
#[derive(Debug, Default)]
pub struct TemplateFolder {
    pub files: Vec<TemplateFile>,
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// More files than this were not put there by hand.
const MOST_FILES: usize = 500;

impl TemplateFolder {
    /// Reads all files, in the order of their names. A missing directory counts as empty.
    pub fn read(path: &Path) -> Self {
        let mut folder = Self::default();
        match list_toml_files(path) {
            Ok(paths) => paths.into_iter().for_each(|path| folder.add_file(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => folder.unreadable.push((path.to_owned(), error)),
        }
        folder
    }

    fn add_file(&mut self, path: PathBuf) {
        match read_template_text(&path) {
            Ok(text) => self.files.push(TemplateFile {
                path,
                text,
                origin: TemplateOrigin::Own,
            }),
            Err(error) => self.unreadable.push((path, error)),
        }
    }
}

fn list_toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.truncate(MOST_FILES);
    Ok(paths)
}

/// Reads one byte more than a template may have, so that a larger file is rejected as too large.
fn read_template_text(path: &Path) -> io::Result<String> {
    let most = IntentTemplate::MAX_FILE_BYTES as u64 + 1;
    let mut text = String::new();
    File::open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_files_are_read_in_order_and_others_are_ignored() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("templates");
        assert!(TemplateFolder::read(&folder).files.is_empty());
        fs::create_dir(&folder).unwrap();
        for (name, text) in [("b.toml", "2"), ("a.toml", "1"), ("notes.md", "3")] {
            fs::write(folder.join(name), text).unwrap();
        }
        fs::write(folder.join("c.toml"), [0xff]).unwrap();
        let read = TemplateFolder::read(&folder);
        let texts: Vec<_> = read.files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(texts, ["1", "2"]);
        assert_eq!(read.unreadable.len(), 1);
    }
}
