//! Finds the store that a configuration names.

use kitbag_config::{Config, StorePlace};
use kitbag_domain::{MissingVariable, Remedy};
use kitbag_store::{StoreAddress, StoreAddressError};

/// The address of the store cannot be made out from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorePlaceError {
    #[error("the address of the store is not complete: {0}")]
    Variable(#[from] MissingVariable),
    #[error(transparent)]
    Address(#[from] StoreAddressError),
}

/// Returns the address of the store. Variables in it come from the environment alone, because the
/// secrets are in the store.
pub fn store_address(config: &Config) -> Result<StoreAddress, StorePlaceError> {
    Ok(match &config.store {
        StorePlace::File(path) => StoreAddress::from(path),
        StorePlace::Postgres(address) => {
            let address = address.resolve(|variable| std::env::var(variable).ok())?;
            StoreAddress::parse(&address, &config.data_dir)?
        }
    })
}

/// Returns false if the store is certainly not there yet. A server has to be asked.
pub fn store_may_exist(config: &Config) -> bool {
    match &config.store {
        StorePlace::File(path) => path.exists(),
        StorePlace::Postgres(_) => true,
    }
}

impl Remedy for StorePlaceError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Variable(missing) => missing.remedy(),
            Self::Address(_) => {
                Some("write it like \"postgres://user@host/database?sslmode=require\"".to_owned())
            }
        }
    }
}
