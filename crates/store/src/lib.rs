//! Remembers and recalls what the gateway must not forget.
//!
//! A write survives the death of the process at any moment after its method has returned `Ok`. Several
//! processes may hold the same store open at once, such as a running gateway and the command
//! line. SQL stays in here: callers see domain values and [`Error`].
//!
//! A store stands on one of two engines: SQLite, a file on this machine, or PostgreSQL, a server that
//! several gateways share. They behave alike, and each is used as it works best.
//!
//! # Layout
//! - [`address`]: where a store is
//! - [`listings`]: what each server offered when it was last asked
//! - [`approved_definitions`]: the texts of tools and prompts that a person approved
//! - [`vectors`]: the embeddings of texts, by what was embedded and by which model
//! - [`mirror`]: what an index says of its entries, by exact name; [`mirror_owners`]: for which configuration
//! - [`priors`]: how tools have done, as the last run over the audit found
//! - [`changes`]: which tables have changed, also by other processes
//! - [`keys`]: API keys, kept as keyed hashes, and how one is recognised
//! - [`secrets`]: the values that configuration refers to by name, encrypted
//! - `vault_key`: the key they are encrypted under, and where it is kept
//! - [`logins`]: what logging in at servers left behind, encrypted too
//! - [`credentials`]: what declared tools call APIs with, for each tenant, encrypted too
//! - [`agent_state`]: the values that agents keep between runs
//! - [`feedback`]: reports of agents to the operators; [`facts`]: facts with their sources
//! - [`learned_templates`]: programs that worked, and what is known of each
//! - [`lessons`]: what the use of tools taught
//! - [`audit`]: the record of what happened: written off the hot path, read page by page
//! - [`mod@copy`]: a whole store into another one, and backups
//! - [`lock`]: what one process at a time may do
//! - `engine`: the connections of both engines, their migrations, transactions and locks
//! - `small_vector`: a vector in few bytes
//! - `pepper`: the secret that the key hashes depend on; `private_file`: files that hold secrets
//! - `properties`: facts about the store itself
//!
//! Each table has its folder, and there its statements for both engines: `sqlite.rs` and
//! `postgres.rs`.

pub mod address;
pub mod agent_state;
pub mod approved_definitions;
pub mod audit;
pub mod changes;
pub mod copy;
pub mod credentials;
mod engine;
mod error;
pub mod facts;
pub mod feedback;
pub mod keys;
pub mod learned_templates;
pub mod lessons;
pub mod listings;
pub mod lock;
pub mod logins;
pub mod mirror;
pub mod mirror_owners;
mod pepper;
pub mod priors;
mod private_file;
mod properties;
pub mod secrets;
mod small_vector;
#[cfg(test)]
mod test_store;
mod vault_key;
pub mod vectors;

use std::sync::Arc;

pub use address::{PostgresAddress, StoreAddress, StoreAddressError};
pub use agent_state::{
    StateDeleteOutcome, StateEntry, StateLimits, StatePage, StateWrite, StateWriteOutcome,
};
pub use approved_definitions::ApprovedDefinition;
pub use audit::query::{AuditPage, AuditQuery};
pub use audit::row::{AuditRow, AuditRowContent, AuditRowKind};
pub use audit::sink::{AuditBeginError, AuditSink};
pub use audit::tool_statistics::{AuditSpan, ToolStatistics};
pub use audit::{AuditRecord, AuditRowId};
pub use changes::ChangeCounts;
pub use copy::{CopyProgress, CopyReport, copy_store};
pub use credentials::{
    CredentialChange, CredentialFields, CredentialHolder, CredentialInfo, CredentialKey,
};
use engine::Engine;
pub use error::Error;
use error::{skip_unreadable, store_error, unreadable};
pub use facts::{FactFilter, FactHolders, FactImport, FactImportOutcome, NewFact, StoredFact};
pub use feedback::{
    FeedbackLimits, FeedbackQuery, FeedbackResolution, NewFeedback, StoredFeedback,
};
pub use keys::authentication::Recognition;
pub use keys::{KEY_PREFIX, KeyInfo, KeyOrder, NewKey, RotatedKey, Token};
pub use learned_templates::StoredTemplate;
pub use lessons::{ContextVector, LessonFilter, NewLesson, StoredLesson};
pub use listings::StoredListing;
pub use lock::StoreLock;
pub use priors::{PriorsRun, StoredPrior};
pub use secrets::{Secret, SecretInfo, SecretName, SecretNameError, Vault};
pub use vault_key::{KeyFile, KeyKeeper, VaultKey, VaultKeyError};
pub use vectors::{TextHash, VectorSpace};

/// A cheap handle; clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    address: Arc<StoreAddress>,
    /// The address as text, without a password.
    place: Arc<str>,
    engine: Engine,
    key_cache: Arc<keys::KeyCache>,
    feed: Arc<changes::ChangeFeed>,
}

impl Store {
    /// Opens the database at an address, and creates in it what is missing. A path is an address,
    /// too; the directories that it needs are created.
    pub async fn open(address: impl Into<StoreAddress>) -> Result<Self, Error> {
        let address = address.into();
        let (engine, alone) = Engine::connect_and_migrate(&address).await?;
        let pepper = pepper::load_or_create(&engine, address.data_directory()).await?;
        alone.release().await;
        Ok(Self {
            place: address.to_string().into(),
            address: Arc::new(address),
            engine,
            key_cache: Arc::new(keys::KeyCache::new(pepper)),
            feed: Arc::new(changes::ChangeFeed::new()),
        })
    }

    /// The address of the database for people to read, and to tell it from other databases. It has
    /// no password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Writes a value that is there already, because only a write shows that the disk is full.
    pub async fn check_writable(&self) -> Result<(), Error> {
        self.engine.check_writable().await
    }

    /// Waits for the statements under way and closes the connections. Clones stop working too.
    pub async fn close(&self) {
        self.feed.stop();
        self.engine.close().await;
    }
}

#[cfg(test)]
mod tests;
