//! The database of a test: a file in its folder, or a separate schema on the server started by
//! `cargo xtask postgres`.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use kitbag_store::StoreAddress;

/// With the value `postgres`, homes store their data there.
const ENGINE: &str = "KITBAG_TEST_ENGINE";
const SERVER: &str = "KITBAG_TEST_POSTGRES";

/// The address of an empty store; `None` for a file.
#[derive(Debug)]
pub(crate) struct StoreOfHome(Option<String>);

impl StoreOfHome {
    pub(crate) fn new() -> Self {
        let is_postgres = std::env::var(ENGINE).is_ok_and(|engine| engine == "postgres");
        Self(is_postgres.then(empty_schema))
    }

    /// Its table in the configuration.
    pub(crate) fn table(&self) -> String {
        match &self.0 {
            Some(url) => format!("[store]\nurl = \"{url}\"\n"),
            None => "[store]\npath = \"kitbag.db\"\n".to_owned(),
        }
    }

    pub(crate) fn address(&self, folder: &Path) -> StoreAddress {
        match &self.0 {
            Some(url) => StoreAddress::parse(url, &folder.join("data")).unwrap(),
            None => StoreAddress::from(&folder.join("kitbag.db")),
        }
    }
}

/// Returns the address of a schema for this test only. A server of usual size has a few connections for
/// each of the gateways that run at once.
pub(crate) fn empty_schema() -> String {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var(SERVER)
        .unwrap_or_else(|_| panic!("run `cargo xtask postgres -- COMMAND`, which sets {SERVER}"));
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    format!(
        "{server}?schema=e2e_{}_{number}&max_connections=4",
        std::process::id()
    )
}
