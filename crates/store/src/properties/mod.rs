//! Facts about the store itself, such as the pepper of its keys.

mod postgres;
mod sqlite;

use crate::Error;
use crate::engine::{Engine, Transaction, statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// Sixteen random bytes that tell this store from any other.
    Identity,
    /// The secret that the hashes of keys depend on. In SQLite only if the store was copied.
    Pepper,
    /// The identity of the store that is being copied into this one.
    CopySource,
}

impl Property {
    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Pepper => "pepper",
            Self::CopySource => "copy_source",
        }
    }
}

impl Engine {
    pub(crate) async fn property(&self, property: Property) -> Result<Option<Vec<u8>>, Error> {
        statement!(self, select(property))
    }
}

impl Transaction {
    pub(crate) async fn put_property(
        &mut self,
        property: Property,
        value: &[u8],
    ) -> Result<(), Error> {
        statement!(self, put(property, value))
    }

    pub(crate) async fn remove_property(&mut self, property: Property) -> Result<(), Error> {
        statement!(self, delete(property))
    }
}
