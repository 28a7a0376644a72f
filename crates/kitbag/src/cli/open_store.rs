//! Opens the store for verbs that need no gateway.

use anyhow::Context as _;
use kitbag_config::Config;
use kitbag_gateway::state::store_address::store_address;
use kitbag_store::Store;

/// `failure` is the error context if the store cannot be opened.
pub(super) async fn open_store(config: &Config, failure: &'static str) -> anyhow::Result<Store> {
    let opened = Store::open(store_address(config)?).await;
    opened.context(failure)
}
