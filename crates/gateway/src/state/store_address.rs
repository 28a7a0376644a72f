//! Resolves the address of the store from the configuration.

use kitbag_config::{Config, StoreLocation};
use kitbag_domain::{MissingVariable, Remedy};
use kitbag_store::{StoreAddress, StoreAddressError};

/// The configured store address cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreConfigError {
    #[error("the store address is incomplete: {0}")]
    Variable(#[from] MissingVariable),
    #[error(transparent)]
    Address(#[from] StoreAddressError),
}

/// Returns the address of the store. Its variables come only from the environment, because the
/// secrets are in the store.
pub fn store_address(config: &Config) -> Result<StoreAddress, StoreConfigError> {
    Ok(match &config.store {
        StoreLocation::File(path) => StoreAddress::from(path),
        StoreLocation::Postgres(address) => {
            let address = address.resolve(|variable| std::env::var(variable).ok())?;
            StoreAddress::parse(&address, &config.data_dir)?
        }
    })
}

/// Returns false if the store certainly does not exist yet. Only a connection can show whether a
/// database exists on a server.
pub fn store_may_exist(config: &Config) -> bool {
    match &config.store {
        StoreLocation::File(path) => path.exists(),
        StoreLocation::Postgres(_) => true,
    }
}

impl Remedy for StoreConfigError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Variable(missing) => missing.remedy(),
            Self::Address(_) => {
                Some("write it like \"postgres://user@host/database?sslmode=require\"".to_owned())
            }
        }
    }
}
