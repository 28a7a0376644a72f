//! The gateway's persistent storage.
//!
//! A write survives the death of the process at any moment after its method has returned `Ok`.
//! Several processes may have the same store open at once, such as a running gateway and the
//! command line. SQL stays inside this crate: callers see domain values and [`Error`].
//!
//! A store has one of two engines: SQLite, a file on this machine, or PostgreSQL, a server that
//! several gateways share. They behave alike, and each is used in the way that suits it.
//!
//! # Layout
//! - [`address`]: addresses of stores
//! - [`listings`]: listings of servers
//! - [`approved_definitions`]: approved definitions of tools and prompts
//! - [`vectors`]: embeddings of texts, by text and model
//! - [`mirror`]: entries of an index, by exact name; [`mirror_owners`]: their configurations
//! - [`priors`]: priors of tools, as of the last run over the audit
//! - [`changes`]: changes of tables, including changes by other processes
//! - [`keys`]: API keys, stored as keyed hashes, and their verification
//! - [`secrets`]: named secrets for the configuration, encrypted
//! - `vault_key`: the encryption key, and where it is stored
//! - [`logins`]: logins at servers, encrypted
//! - [`credentials`]: credentials of tool files, per tenant, encrypted
//! - [`agent_state`]: values that agents store between runs
//! - [`feedback`]: reports of agents to the operators; [`facts`]: facts with their sources
//! - [`learned_templates`]: programs that worked, and templates made from them
//! - [`lessons`]: lessons from the use of tools
//! - [`audit`]: the audit, written off the hot path, read page by page
//! - [`mod@copy`]: copies of a whole store, and backups
//! - [`lock`]: locks across processes
//! - `engine`: connections of both engines, their migrations, transactions and locks
//! - `small_vector`: a vector in few bytes; `tenant_column`: the tenant of a row
//! - `pepper`: the secret that the key hashes depend on; `private_file`: files with secrets
//! - `properties`: properties of the store itself

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
mod tenant_column;
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
pub use audit::call_counts::CallCounts;
pub use audit::query::{AuditPage, AuditQuery};
pub use audit::row::{AuditRow, AuditRowContent, AuditRowKind};
pub use audit::runs::{RunPage, RunQuery, RunSummary};
pub use audit::search_counts::SearchCounts;
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
use error::{skip_unreadable, store_error, unreadable_error};
pub use facts::{FactFilter, FactHolders, FactImport, FactImportOutcome, NewFact, StoredFact};
pub use feedback::{
    FeedbackLimits, FeedbackQuery, FeedbackResolution, NewFeedback, StoredFeedback,
};
pub use keys::authentication::Recognition;
pub use keys::{KEY_PREFIX, KeyInfo, KeySpec, NewKey, RotatedKey, Token};
pub use learned_templates::StoredTemplate;
pub use lessons::{ContextVector, LessonCount, LessonFilter, LessonInfo, NewLesson, StoredLesson};
pub use listings::StoredListing;
pub use lock::StoreLock;
pub use priors::{PriorsRun, StoredPrior};
pub use secrets::{Secret, SecretInfo, SecretName, SecretNameError, Vault};
pub use vault_key::{KeyFile, KeyStore, VaultKey, VaultKeyError};
pub use vectors::{TextHash, VectorSpace};

/// A cheap handle; clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    address: Arc<StoreAddress>,
    /// The address as text, without a password.
    location: Arc<str>,
    engine: Engine,
    key_cache: Arc<keys::KeyCache>,
    feed: Arc<changes::ChangeFeed>,
}

impl Store {
    /// Opens the database at an address, and creates whatever is missing. A path is also an
    /// address; its directories are created.
    pub async fn open(address: impl Into<StoreAddress>) -> Result<Self, Error> {
        let address = address.into();
        let (engine, guard) = Engine::connect_and_migrate(&address).await?;
        let pepper = pepper::load_or_create(&engine, address.data_directory()).await?;
        guard.release().await;
        Ok(Self {
            location: address.to_string().into(),
            address: Arc::new(address),
            engine,
            key_cache: Arc::new(keys::KeyCache::new(pepper)),
            feed: Arc::new(changes::ChangeFeed::new()),
        })
    }

    /// The address of the database for people, and to distinguish it from other databases. It has
    /// no password.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Rewrites an existing value, because only a write shows that the disk is full.
    pub async fn check_writable(&self) -> Result<(), Error> {
        self.engine.check_writable().await
    }

    /// Waits for running statements and closes the connections. Clones stop working too.
    pub async fn close(&self) {
        self.feed.stop();
        self.engine.close().await;
    }
}

#[cfg(test)]
mod tests;
