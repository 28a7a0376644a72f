//! Properties of the store itself, such as the pepper of its keys.

use std::borrow::Cow;

use crate::Error;
use crate::engine::{Engine, Transaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property<'a> {
    /// Sixteen random bytes that identify this store.
    Identity,
    /// The secret that the key hashes depend on. In SQLite only if the store was copied.
    Pepper,
    /// The identity of the store that is being copied into this one.
    CopySource,
    /// When the priors of a configuration were last up to date.
    PriorsUpdatedAt { namespace: &'a str },
}

impl<'a> Property<'a> {
    fn name(self) -> Cow<'a, str> {
        match self {
            Self::Identity => "identity".into(),
            Self::Pepper => "pepper".into(),
            Self::CopySource => "copy_source".into(),
            Self::PriorsUpdatedAt { namespace } => format!("{namespace}:priors_updated_at").into(),
        }
    }
}

const WRITE: &str = "write a property of the store";

impl Engine {
    pub(crate) async fn read_property(
        &self,
        property: Property<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.query("SELECT value FROM properties WHERE name = $1")
            .bind(property.name())
            .fetch_optional_scalar("read a property of the store")
            .await
    }
}

impl Transaction {
    pub(crate) async fn put_property(
        &mut self,
        property: Property<'_>,
        value: &[u8],
    ) -> Result<(), Error> {
        self.query(
            "INSERT INTO properties (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(property.name())
        .bind(value)
        .execute(WRITE)
        .await
        .map(drop)
    }

    pub(crate) async fn remove_property(&mut self, property: Property<'_>) -> Result<(), Error> {
        self.query("DELETE FROM properties WHERE name = $1")
            .bind(property.name())
            .execute(WRITE)
            .await
            .map(drop)
    }
}
