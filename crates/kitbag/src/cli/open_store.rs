//! Opens the store for a verb that works with it alone.

use anyhow::Context as _;
use kitbag_config::Config;
use kitbag_gateway::state::store_address::store_address;
use kitbag_store::Store;

/// `trouble` says what the person cannot have, if the store cannot be opened.
pub(super) async fn open_store(config: &Config, trouble: &'static str) -> anyhow::Result<Store> {
    let opened = Store::open(store_address(config)?).await;
    opened.context(trouble)
}
