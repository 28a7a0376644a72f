//! The ways in which the store can fail.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {action} `{}`", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "the database `{}` belongs to a newer version of kitbag (its schema is {found}, this version \
         knows {known}); update kitbag or choose another database",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "`{}` is missing, and without it no API key in the database can be recognised; restore it from \
         a backup, or put 32 random bytes there and create new keys",
        path.display()
    )]
    PepperMissing { path: PathBuf },
    #[error("`{}` should hold 32 bytes and holds {found}; restore it from a backup", path.display())]
    WrongLength { path: PathBuf, found: usize },
    #[error(
        "{place} is missing, and without it no secret in the database can be opened; restore it from a \
         backup, set KITBAG_SECRET_KEY, or remove the secrets and set them anew"
    )]
    SecretKeyMissing { place: String },
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
    #[error("the store could not {action}")]
    Database {
        action: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the store holds a {what} that cannot be read: {value:?}")]
    Unreadable { what: &'static str, value: String },
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// For `map_err`: says what the store could not do.
pub(crate) fn failed<E>(action: &'static str) -> impl FnOnce(E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| Error::Database {
        action,
        source: Box::new(source),
    }
}

pub(crate) fn unreadable(what: &'static str, value: impl Into<String>) -> Error {
    Error::Unreadable {
        what,
        value: value.into(),
    }
}
