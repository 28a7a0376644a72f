//! The audit log: every row is kept, and can be read.

mod access;
mod events;
mod full_disk;
mod inquiries;
mod names;
mod reading;
mod small_disk;

use kitbag_store::{AuditQuery, AuditRow, Store, StoreAddress};
use serde_json::Value;

use crate::harness::{Gateway, Home, until};

/// Waits for at least this many rows and returns all of them, newest first.
async fn rows(home: &Home, at_least: usize) -> Vec<AuditRow> {
    rows_in(home.store_address(), at_least).await
}

async fn rows_in(database: impl Into<StoreAddress>, at_least: usize) -> Vec<AuditRow> {
    let store = Store::open(database).await.unwrap();
    let what = format!("{at_least} rows are written");
    let rows = until(&what, async || {
        let rows = store
            .read_audit(&AuditQuery::newest(u32::MAX))
            .await
            .unwrap();
        (rows.len() >= at_least).then_some(rows)
    })
    .await;
    store.close().await;
    rows
}

/// The value of an unlabelled series of `/metrics`.
async fn figure(gateway: &Gateway, series: &str) -> f64 {
    let page = reqwest::get(format!("{}/metrics", gateway.base))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}: {page}"))
        .parse()
        .unwrap()
}

/// A new key for a tenant.
async fn key(home: &Home, tenant: &str) -> String {
    let output = home
        .kitbag(&["key", "create", "--tenant", tenant, "--json"])
        .await;
    let created: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    created["key"].as_str().unwrap().to_owned()
}
