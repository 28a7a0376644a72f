//! Rejected keys in the newest part of the audit.

use kitbag_domain::Action;
use kitbag_store::{AuditPage, AuditQuery, AuditRow, AuditRowContent, AuditRowKind, Store};
use maud::{Markup, html};

use crate::pages::elements::{code_text, empty_state, table, text, time};

const MAX_ROWS: usize = 20;
/// The numbers of newest rows to look through, until enough are found. Events have no index of their
/// own, and the last window is read in a fraction of a second.
const WINDOWS: [u32; 3] = [1_000, 10_000, 100_000];

pub(super) async fn render(store: &Store) -> anyhow::Result<Markup> {
    let found = find_rejections(store).await?;
    let rows = html! { @for row in &found { (render_row(row)) } };
    Ok(html! {
        @if found.is_empty() {
            (empty_state("No rejected keys lately.", &html! { "Unknown, revoked and expired keys that clients present appear here." }))
        } @else {
            (table("Rejected keys, newest first", &["Time", "Reason", "Key", "Address", "Further"], &rows))
            p.muted { "All of them: " code { "kitbag audit --event key_refused" } }
        }
    })
}

async fn find_rejections(store: &Store) -> anyhow::Result<Vec<AuditRow>> {
    let newest = store.newest_audit_row_id().await?;
    let mut found = Vec::new();
    for window in WINDOWS {
        let id = newest.saturating_sub(i64::from(window)).max(0);
        let query = AuditQuery {
            kinds: vec![AuditRowKind::Event(Action::KeyRefused)],
            page: AuditPage::WrittenAfter { id },
            ..AuditQuery::newest(window)
        };
        found = store.read_audit(&query).await?;
        if found.len() >= MAX_ROWS || id == 0 {
            break;
        }
    }
    found.reverse();
    found.truncate(MAX_ROWS);
    Ok(found)
}

fn render_row(row: &AuditRow) -> Markup {
    let (reason, detail) = match &row.content {
        AuditRowContent::Event {
            subject, detail, ..
        } => (subject.as_str(), detail.as_deref()),
        _ => ("", None),
    };
    html! { tr {
        td { (time(row.at)) }
        td { (text(reason)) }
        td { @if let Some(key) = &row.key { (code_text(&key.0)) } }
        td { @if let Some(address) = &row.address { (code_text(address)) } }
        td { @if let Some(detail) = detail { (text(detail)) } }
    } }
}
