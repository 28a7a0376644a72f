//! The errors of the store.

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
        "the database `{location}` belongs to a newer version of kitbag (its schema is {found}, this version \
         knows {known}); update kitbag or choose another database"
    )]
    Newer {
        location: String,
        found: i64,
        known: i64,
    },
    #[error(
        "{location} is missing, and no API key in the database can be verified without it; restore it from \
         a backup, or write 32 random bytes to it and create new keys"
    )]
    PepperMissing { location: String },
    #[error("{location} must contain 32 bytes but contains {found}; restore it from a backup")]
    WrongLength { location: String, found: usize },
    #[error(
        "{location} is missing, and no secret in the database can be decrypted without it; restore it from a \
         backup or from the machine on which they were set, set KITBAG_SECRET_KEY, or remove the secrets \
         and set them again"
    )]
    SecretKeyMissing { location: String },
    #[error(
        "{location} is not the key of the secrets in the database; every gateway of a \
         database needs the same key: copy it from the machine on which they were set, or remove \
         them and set them again"
    )]
    WrongSecretKey { location: String },
    /// A [`crate::KeyStore`] of another crate failed.
    #[error("{location} cannot be used")]
    KeyStore {
        location: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{location} already holds another key, which other secrets may be encrypted with")]
    AnotherKey { location: String },
    #[error("{location} was written but could not be read back")]
    KeyNotKept { location: String },
    #[error(
        "the secret `{name}` cannot be decrypted with the current key: it was set under another key; set it again, or \
         restore the former key"
    )]
    Sealed { name: String },
    #[error("the store `{location}` already holds data; choose an empty store as the target")]
    CopyTarget { location: String },
    #[error("only {copied} of the {wanted} rows of the table `{table}` were copied; try again")]
    CopyDiffers {
        table: &'static str,
        wanted: u64,
        copied: u64,
    },
    #[error("`{}` already exists; choose another name for the backup", path.display())]
    BackupExists { path: PathBuf },
    #[error(
        "the database `{location}` cannot be used; check that its server is running and accepts this user"
    )]
    Unreachable {
        location: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Nothing came back while the store was opened.
    #[error(
        "the server of the database `{location}` did not answer within {} s; it hangs, is overloaded, or is not \
         PostgreSQL: check the address and the server, or allow more time with `connect_timeout` in the address",
        limit.as_secs()
    )]
    Unanswered { location: String, limit: Duration },
    /// The connection failed, so a retry may succeed.
    #[error(
        "the store could not {action}: the database is unreachable, or all connections are in use"
    )]
    Unavailable {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the database did not answer within {} s; its server may hang or be \
         overloaded",
        limit.as_secs()
    )]
    Silent { limit: Duration },
    #[error(
        "the store could not {action} in time, because another program holds a lock in the database or \
         the database is overloaded"
    )]
    Busy {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store could not {action}, because the database's disk is full; free some space")]
    Full {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store could not {action}")]
    Database {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store has an unreadable {what}: {value:?}")]
    Unreadable { what: &'static str, value: String },
}

impl Error {
    /// Returns true if the database did not answer, so that a retry may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unanswered { .. }
                | Self::Unavailable { .. }
                | Self::Silent { .. }
                | Self::Busy { .. }
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

/// For `map_err`: describes the failed action, and whether the failure is temporary.
pub(crate) fn store_error<E>(action: &'static str) -> impl FnOnce(E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| {
        let source: Box<dyn std::error::Error + Send + Sync> = Box::new(source);
        match source.downcast_ref().map_or(Cause::Other, Cause::from_sqlx) {
            Cause::Unavailable => Error::Unavailable { action, source },
            Cause::Busy => Error::Busy { action, source },
            Cause::Full => Error::Full { action, source },
            Cause::Other => Error::Database { action, source },
        }
    }
}

enum Cause {
    Unavailable,
    Busy,
    Full,
    Other,
}

impl Cause {
    fn from_sqlx(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut => {
                Self::Unavailable
            }
            sqlx::Error::Database(error) => Self::from_code(error.code().as_deref().unwrap_or("")),
            _ => Self::Other,
        }
    }

    /// PostgreSQL's codes have five letters, SQLite's are numbers.
    fn from_code(code: &str) -> Self {
        match code {
            // A cancelled statement, a lock timeout, a deadlock.
            "57014" | "55P03" | "40P01" | "5" | "6" => Self::Busy,
            // The last code means that there is no room for a side file.
            "53100" | "13" | "4874" => Self::Full,
            // The server is stopping, starting, or has no connection left.
            "57P01" | "57P02" | "57P03" | "53300" => Self::Unavailable,
            _ if code.len() == 5 && code.starts_with("08") => Self::Unavailable,
            _ => Self::Other,
        }
    }
}

/// Returns the readable rows. A row that cannot be read, because another program wrote it, must not
/// hide the others; it is logged.
pub(crate) fn skip_unreadable<R, T>(
    rows: impl IntoIterator<Item = R>,
    read: impl Fn(R) -> Result<T, Error>,
) -> Vec<T> {
    let read = rows.into_iter().map(read);
    let message = "skipped an unreadable row";
    read.filter_map(|row| {
        row.inspect_err(|error| tracing::warn!(%error, "{message}"))
            .ok()
    })
    .collect()
}

pub(crate) fn unreadable_error(what: &'static str, value: impl Into<String>) -> Error {
    Error::Unreadable {
        what,
        value: value.into(),
    }
}
