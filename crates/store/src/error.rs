//! The ways in which the store can fail.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {action} `{}`", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "the database `{place}` belongs to a newer version of kitbag (its schema is {found}, this version \
         knows {known}); update kitbag or choose another database"
    )]
    Newer {
        place: String,
        found: i64,
        known: i64,
    },
    #[error(
        "{place} is missing, and without it no API key in the database can be recognised; restore it from \
         a backup, or put 32 random bytes there and create new keys"
    )]
    PepperMissing { place: String },
    #[error("{place} should hold 32 bytes and holds {found}; restore it from a backup")]
    WrongLength { place: String, found: usize },
    #[error(
        "{place} is missing, and without it no secret in the database can be opened; restore it from a \
         backup or from the machine on which they were set, set KITBAG_SECRET_KEY, or remove the secrets \
         and set them anew"
    )]
    SecretKeyMissing { place: String },
    #[error(
        "{place} is not the key that the secrets in the database are encrypted under; every gateway of a \
         database needs the same key: bring it here from the machine on which they were set, or remove \
         them and set them anew"
    )]
    WrongSecretKey { place: String },
    /// A [`crate::KeyKeeper`] of another crate failed.
    #[error("{place} cannot be used")]
    Keeper {
        place: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{place} is another key already, and may be what other secrets are encrypted under")]
    AnotherKey { place: String },
    #[error("{place} was written and could not be read again")]
    KeyNotKept { place: String },
    #[error(
        "the secret `{name}` does not open with the key at hand: it was set under another one; set it anew, or \
         bring back the former key"
    )]
    Sealed { name: String },
    #[error(
        "the store `{place}` holds data already, and a copy would mix with it; choose an empty one as the target"
    )]
    CopyTarget { place: String },
    #[error("the table `{table}` has {wanted} rows and {copied} of them were copied; try again")]
    CopyDiffers {
        table: &'static str,
        wanted: u64,
        copied: u64,
    },
    #[error("`{}` exists already; choose another name for the backup", path.display())]
    BackupExists { path: PathBuf },
    #[error(
        "the database `{place}` cannot be used; see that its server runs and lets this user in"
    )]
    Unreachable {
        place: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection failed, so that the same may succeed a little later.
    #[error(
        "the store could not {action}: the database cannot be reached, or every connection to it is in use"
    )]
    Away {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the database is connected and did not answer within {} s; its server may hang or be \
         overloaded",
        patience.as_secs()
    )]
    Silent { patience: Duration },
    #[error(
        "the store could not {action} in time, because another program holds a lock in the database or \
         the database is overloaded"
    )]
    Busy {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the store could not {action}, because the disk of the database is full; make room there"
    )]
    Full {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store could not {action}")]
    Database {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store holds a {what} that cannot be read: {value:?}")]
    Unreadable { what: &'static str, value: String },
}

impl Error {
    /// Returns true if the database did not answer, so that the same may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Away { .. } | Self::Silent { .. } | Self::Busy { .. }
        )
    }

    pub(crate) fn file_error(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// For `map_err`: says what the store could not do, and whether that is likely to pass.
pub(crate) fn store_error<E>(action: &'static str) -> impl FnOnce(E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| {
        let source: Box<dyn std::error::Error + Send + Sync> = Box::new(source);
        match source.downcast_ref().map_or(Cause::Other, Cause::from_sqlx) {
            Cause::Away => Error::Away { action, source },
            Cause::Busy => Error::Busy { action, source },
            Cause::Full => Error::Full { action, source },
            Cause::Other => Error::Database { action, source },
        }
    }
}

enum Cause {
    Away,
    Busy,
    Full,
    Other,
}

impl Cause {
    fn from_sqlx(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut => Self::Away,
            sqlx::Error::Database(error) => Self::from_code(error.code().as_deref().unwrap_or("")),
            _ => Self::Other,
        }
    }

    /// The codes of PostgreSQL have five letters, those of SQLite are numbers.
    fn from_code(code: &str) -> Self {
        match code {
            // A statement that was broken off, a lock that was not given, a deadlock.
            "57014" | "55P03" | "40P01" | "5" | "6" => Self::Busy,
            // The last is that of the file beside the database, for which there is no room.
            "53100" | "13" | "4874" => Self::Full,
            // The server is ending, starting, or has no connection left.
            "57P01" | "57P02" | "57P03" | "53300" => Self::Away,
            _ if code.len() == 5 && code.starts_with("08") => Self::Away,
            _ => Self::Other,
        }
    }
}

/// Returns the rows that can be read. A row that cannot be, because another program wrote it, must not hide the
/// others; the log tells of it.
pub(crate) fn skip_unreadable<R, T>(
    rows: impl IntoIterator<Item = R>,
    read: impl Fn(R) -> Result<T, Error>,
) -> Vec<T> {
    let read = rows.into_iter().map(read);
    let complaint = "a row is left out";
    read.filter_map(|row| {
        row.inspect_err(|error| tracing::warn!(%error, "{complaint}"))
            .ok()
    })
    .collect()
}

pub(crate) fn unreadable(what: &'static str, value: impl Into<String>) -> Error {
    Error::Unreadable {
        what,
        value: value.into(),
    }
}
