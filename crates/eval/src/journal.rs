//! Stores the answers in a file, one line each, so that an interrupted run can continue and no
//! answer is paid for twice.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::record::Record;

/// The records of earlier runs, and the file for new ones.
#[derive(Debug)]
pub struct EvalJournal {
    file: Option<(PathBuf, File)>,
    records: Vec<Record>,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot read and write {path}")]
    Unusable { path: PathBuf, source: io::Error },
    #[error("another run is writing to {path}")]
    Locked { path: PathBuf },
    #[error("line {line} of {path} is not a journal entry")]
    NotJournal {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
}

impl EvalJournal {
    /// Returns a journal without a file.
    pub fn in_memory() -> Self {
        Self {
            file: None,
            records: Vec::new(),
        }
    }

    /// Reads the lines of the file, if it exists. New lines are appended to it.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let mut file = open_file(path).map_err(|source| unusable_error(path, source))?;
        let taken = file.try_lock();
        taken.map_err(|_| JournalError::Locked {
            path: path.to_owned(),
        })?;
        let text = read_text(&mut file).map_err(|source| unusable_error(path, source))?;
        let whole = text.len() - torn_line(&text).len();
        let records = parse_lines(&text[..whole], path)?;
        truncate_file(&mut file, whole).map_err(|source| unusable_error(path, source))?;
        Ok(Self {
            file: Some((path.to_owned(), file)),
            records,
        })
    }

    pub(crate) fn find_record(
        &self,
        model: &str,
        prompt: &str,
        run: u32,
        fingerprint: &str,
    ) -> Option<&Record> {
        let mut same = self
            .records
            .iter()
            .filter(|it| it.fingerprint == fingerprint && it.run == run);
        same.find(|it| it.model == model && it.prompt == prompt)
    }

    pub(crate) fn append_record(&mut self, record: &Record) -> Result<(), JournalError> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_string(record).expect("a record is plain JSON");
        line.push('\n');
        let written = file.write_all(line.as_bytes());
        let written = written.and_then(|()| file.sync_data());
        written.map_err(|source| unusable_error(path, source))
    }
}

fn unusable_error(path: &Path, source: io::Error) -> JournalError {
    JournalError::Unusable {
        path: path.to_owned(),
        source,
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn read_text(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Truncates the file, and seeks to its end.
fn truncate_file(file: &mut File, length: usize) -> io::Result<()> {
    file.set_len(length as u64)?;
    file.seek(SeekFrom::End(0))?;
    Ok(())
}

/// Returns the beginning of a line that a killed run did not finish.
fn torn_line(text: &str) -> &str {
    let tail = text.rsplit('\n').next().unwrap_or_default();
    // Any other text is not a line of the journal, so it is not removed.
    if tail.starts_with(BEGIN) || BEGIN.starts_with(tail) {
        tail
    } else {
        ""
    }
}

/// Every line begins like this, because this is the first field of a record.
const BEGIN: &str = "{\"model\":";

fn parse_lines(text: &str, path: &Path) -> Result<Vec<Record>, JournalError> {
    let numbered = (1..).zip(text.lines());
    let filled = numbered.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(number, text)| parse_line(number, text, path))
        .collect()
}

fn parse_line(number: usize, text: &str, path: &Path) -> Result<Record, JournalError> {
    serde_json::from_str(text).map_err(|source| JournalError::NotJournal {
        path: path.to_owned(),
        line: number,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::GivenArguments;
    use crate::record::tests::record;

    #[test]
    fn written_records_are_found_even_after_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        let first = record(1, GivenArguments::Arguments(serde_json::Map::new()));
        let second = record(2, GivenArguments::Malformed("{".into()));
        EvalJournal::open(&path)
            .unwrap()
            .append_record(&first)
            .unwrap();
        let line = serde_json::to_string(&second).unwrap();
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend(&line.as_bytes()[..line.len() / 2]);
        std::fs::write(&path, torn).unwrap();

        EvalJournal::open(&path)
            .unwrap()
            .append_record(&second)
            .unwrap();
        let journal = EvalJournal::open(&path).unwrap();
        assert_eq!(journal.records, [first, second.clone()]);
        assert_eq!(journal.find_record("m", "p", 2, "f"), Some(&second));
        assert_eq!(journal.find_record("m", "p", 2, "another question"), None);
    }

    #[test]
    fn another_file_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.json");
        for text in ["{\"version\":1}", "{\n  \"version\": 1\n}\n"] {
            std::fs::write(&path, text).unwrap();
            let message = EvalJournal::open(&path).unwrap_err().to_string();
            assert!(
                message.starts_with("line 1 of ") && message.ends_with("is not a journal entry"),
                "{message}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn two_runs_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        let _held = EvalJournal::open(&path).unwrap();
        assert!(matches!(
            EvalJournal::open(&path),
            Err(JournalError::Locked { .. })
        ));
    }
}
