//! Tenants and their rules, as in the effective configuration.

use std::collections::{BTreeMap, BTreeSet};

use kitbag_config::show::Entry;
use kitbag_domain::Role;
use maud::{Markup, html};

use super::keys::ListedKeys;
use crate::cli::config::policy_entries;
use crate::key_check::is_active;
use crate::pages::Pages;
use crate::pages::elements::{Tone, code_text, link, number, pill, table, text};

/// The rules for every tenant are listed under this name.
const EVERY_TENANT: &str = "every tenant";

/// What is known of a tenant.
#[derive(Default)]
struct TenantRow {
    rules: Vec<String>,
    keys: u64,
    is_configured: bool,
}

pub(super) fn render(pages: &Pages, keys: &ListedKeys) -> anyhow::Result<Markup> {
    let gateway = pages.gateway();
    let mut tenants: BTreeMap<String, TenantRow> = BTreeMap::new();
    let (mut rules_of_all, mut settings) = (Vec::new(), BTreeSet::new());
    for entry in policy_entries(&pages.source.load()?)? {
        match (entry.table[0].as_str(), entry.table.get(1)) {
            ("tenants", Some(tenant)) => {
                let row = tenants.entry(tenant.clone()).or_default();
                row.is_configured = true;
                row.rules.extend(describe_rule(&entry));
            }
            ("policy", _) => rules_of_all.extend(describe_rule(&entry)),
            _ => settings.extend(describe_rule(&entry)),
        }
    }
    for key in keys
        .0
        .iter()
        .filter(|key| key.role == Role::User && is_active(key))
    {
        tenants.entry(key.tenant.to_string()).or_default().keys += 1;
    }
    let is_unknown = |tenant: &str| {
        let tenant = tenant.parse();
        tenant.is_ok_and(|tenant| !gateway.policy.is_known_tenant(&tenant))
    };
    let rows = html! {
        tr {
            th scope="row" { (EVERY_TENANT) }
            td {}
            td { (render_rules(&rules_of_all)) }
            td {}
        }
        @for (tenant, row) in &tenants { tr {
            th scope="row" { (text(tenant)) }
            td.number { (number(row.keys)) }
            td {
                @if is_unknown(tenant) {
                    (pill(Tone::Warn, "unknown")) " Its keys cannot be used: add " code { "[tenants." (tenant) "]" } " to the configuration."
                } @else { (render_rules(&row.rules)) }
            }
            td { a href={ (link(super::ACCESS, &[("who", tenant)])) "#tester" } { "Test" } }
        } }
    };
    Ok(html! {
        p { "A tool must be permitted by the rules for every tenant and by the tenant's own rules. Rules are in the configuration: "
            code { "kitbag config path" } }
        (table("Tenants", &["Tenant", "#Active keys", "Rules", "Tester"], &rows))
        @for setting in &settings { p.muted { "[tenants] " (code_text(setting)) } }
    })
}

fn describe_rule(entry: &Entry) -> Option<String> {
    let value = entry.value.as_ref().filter(|_| !entry.is_default())?;
    Some(format!("{} = {value}", entry.key.join(".")))
}

fn render_rules(rules: &[String]) -> Markup {
    html! {
        @if rules.is_empty() { span.muted { "no further rules" } }
        @for rule in rules { div { (code_text(rule)) } }
    }
}
