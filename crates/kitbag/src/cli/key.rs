//! `kitbag key`: API keys for clients that connect remotely.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::{Action, Caller, Event, KeyId, Role, ShortText, Tenant, Timestamp};
use kitbag_store::{KeyInfo, KeySpec, NewKey, Store};
use serde::Serialize;
use serde_json::{Value, json};

use super::Invocation;
use super::completions::keys;
use super::failure::Advise as _;
use super::moment::{self, format_relative};
use super::output::{format_date, format_table};
use crate::cli::open_store::open_store;
use crate::key_check::is_active;
use crate::trail;
use kitbag_gateway::state::clock::now;

/// Create, list, rotate and revoke API keys.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag key create --tenant acme --label 'build machine' --expires 90d
  kitbag key create --role operator --label prometheus
  kitbag key list
  kitbag key rotate 3f9c1a20
  kitbag key revoke 3f9c1a20

A client sends its key as `Authorization: Bearer KEY`. The key determines the
tenant, and the tenant's rules in the configuration determine what the client
may use. An operator key reads the figures of all tenants and calls no tools.
An admin key does the same and signs in to the web pages with all rights.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key and print it once.
    #[command(after_help = "\
Examples:
  kitbag key create
  kitbag key create --tenant acme --label 'build machine'
  kitbag key create --tenant acme --expires 2027-01-31
  kitbag key create --role operator")]
    Create(CreateArguments),
    /// List all keys, without their secrets.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag key list\n  kitbag key list --json"
    )]
    List,
    /// Replace a key; the old one keeps working for a grace period.
    #[command(
        after_help = "Examples:\n  kitbag key rotate 3f9c1a20\n  kitbag key rotate 3f9c1a20 --grace 0s"
    )]
    Rotate {
        /// ID, as in `kitbag key list`.
        #[arg(add = ArgValueCandidates::new(keys))]
        id: String,
        /// How long the old key keeps working.
        #[arg(long, default_value = "1h", value_name = "DURATION", value_parser = moment::parse_duration)]
        grace: Duration,
        /// Expiry of the new key [default: the lifetime of the old key].
        #[arg(long, value_name = "DURATION|DATE", value_parser = moment::parse_end)]
        expires: Option<Timestamp>,
    },
    /// Revoke a key permanently.
    #[command(after_help = "Examples:\n  kitbag key revoke 3f9c1a20")]
    Revoke {
        /// ID, as in `kitbag key list`.
        #[arg(add = ArgValueCandidates::new(keys))]
        id: String,
    },
}

#[derive(Debug, Args)]
struct CreateArguments {
    /// Tenant of the key [default: local]; its rules are under [tenants.NAME].
    #[arg(long)]
    tenant: Option<Tenant>,
    /// `user` calls tools for its tenant. `operator` and `admin` have no tenant: both read the figures
    /// of all tenants, and an admin may also change things on the web pages.
    #[arg(long, default_value = Role::User.as_str(), value_parser = role_parser())]
    role: Role,
    /// Label to recognize the key by.
    #[arg(long)]
    label: Option<String>,
    /// Expiry: a duration such as 90d, or a date (start of day, UTC).
    #[arg(long, value_name = "DURATION|DATE", value_parser = moment::parse_end)]
    expires: Option<Timestamp>,
}

fn role_parser() -> impl clap::builder::TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|name| name.parse::<Role>())
}

#[derive(Debug, Serialize)]
struct KeyRow {
    id: KeyId,
    /// Absent for an operator key.
    tenant: Option<Tenant>,
    role: Role,
    label: Option<String>,
    created_at: String,
    expires_at: Option<String>,
    last_used_at: Option<String>,
    revoked_at: Option<String>,
    #[serde(skip)]
    texts: KeyTexts,
}

/// Relative dates for the table.
#[derive(Debug)]
struct KeyTexts {
    last_used: String,
    state: String,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the keys").await?;
    match arguments.verb {
        Verb::Create(wanted) => {
            let spec = wanted.into_spec()?;
            create_key(&store, &spec, invocation).await?;
            warn_of_unknown_tenant(&config, &spec, invocation);
        }
        Verb::List => list_keys(&store, invocation).await?,
        Verb::Rotate { id, grace, expires } => {
            rotate_key(&store, &KeyId(id), grace, expires, invocation).await?;
        }
        Verb::Revoke { id } => revoke_key(&store, KeyId(id), invocation).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

impl CreateArguments {
    fn into_spec(self) -> anyhow::Result<KeySpec> {
        let spec = new_key_spec(self.role, self.tenant)?;
        Ok(KeySpec {
            label: self.label,
            expires_at: self.expires,
            ..spec
        })
    }
}

/// Returns a key without label and expiry. Only a user's key has a tenant.
pub(crate) fn new_key_spec(role: Role, tenant: Option<Tenant>) -> anyhow::Result<KeySpec> {
    if tenant
        .as_ref()
        .is_some_and(|tenant| tenant.as_str() == "unknown")
    {
        return Err(anyhow!(
            "tenant name `unknown` is reserved for the setting for tenants without a table"
        ))
        .advise(|| "choose another name".to_owned());
    }
    Ok(match (role, tenant) {
        (Role::User, tenant) => KeySpec::user(tenant.unwrap_or_else(Tenant::local)),
        (role, None) => KeySpec {
            role,
            ..KeySpec::operator()
        },
        (role, Some(tenant)) => {
            return Err(anyhow!(
                "a key with the role `{role}` has no tenant, but `{tenant}` was given"
            ))
            .advise(|| "omit the tenant or the role".to_owned());
        }
    })
}

async fn create_key(store: &Store, spec: &KeySpec, invocation: &Invocation) -> anyhow::Result<()> {
    let key = store.create_key(spec, now()).await?;
    let of = tenant_of_role(spec.role, &spec.tenant);
    let event = trail::key_event("kitbag key create", Action::KeyCreated, &key.id, of);
    trail::record_event(store, event).await?;
    let holder = describe_holder(spec);
    invocation.note(&format!(
        "Key {} {holder}. Save it now: it is not stored and cannot be shown again.",
        key.id
    ));
    let token = key.token.reveal();
    invocation.show(&new_key_to_json(&key, spec), |_| token.to_owned())
}

/// Formats a new key with its secret.
fn new_key_to_json(key: &NewKey, spec: &KeySpec) -> Value {
    json!({
        "id": key.id,
        "tenant": tenant_of_role(spec.role, &spec.tenant),
        "role": spec.role,
        "label": spec.label,
        "expires_at": spec.expires_at.map(format_date),
        "key": key.token.reveal(),
    })
}

/// A misspelled tenant yields a useless key, so warn immediately.
fn warn_of_unknown_tenant(config: &Config, spec: &KeySpec, invocation: &Invocation) {
    if let Some(warning) = unknown_tenant_warning(config, spec) {
        invocation.output.warn(&warning);
    }
}

/// Returns the reason why a new key cannot be used yet, if its tenant is unknown.
pub(crate) fn unknown_tenant_warning(config: &Config, spec: &KeySpec) -> Option<String> {
    let tenant = &spec.tenant;
    if spec.role != Role::User || config.policy.is_known_tenant(tenant) {
        return None;
    }
    let file = match &config.origin {
        Some(file) => format!("`{}`", file.display()),
        None => "the configuration".to_owned(),
    };
    Some(format!(
        "this key cannot be used yet: {file} has no table for the tenant `{tenant}`. Add `[tenants.{tenant}]` (it may \
         be empty), or `unknown = \"allow\"` under [tenants]"
    ))
}

/// Returns the caller of an active key.
pub(crate) async fn find_caller(store: &Store, id: &KeyId) -> anyhow::Result<Caller> {
    let keys = store.list_keys().await?;
    let key = keys.into_iter().find(|key| key.id == *id);
    let key = key
        .ok_or_else(|| anyhow!("no key `{id}`"))
        .advise(|| "list the keys with `kitbag key list`".to_owned())?;
    if !is_active(&key) {
        return Err(anyhow!("the key `{id}` {}", describe_state(&key, now())));
    }
    Ok(Caller {
        tenant: key.tenant,
        key: Some(key.id),
        role: key.role,
    })
}

async fn list_keys(store: &Store, invocation: &Invocation) -> anyhow::Result<()> {
    let rows: Vec<KeyRow> = store.list_keys().await?.into_iter().map(to_row).collect();
    if rows.is_empty() && !invocation.output.json {
        invocation.note("No keys yet. Create one: kitbag key create --tenant acme");
        return Ok(());
    }
    let headings = [
        "ID",
        "TENANT",
        "ROLE",
        "LABEL",
        "CREATED",
        "LAST USED",
        "STATE",
    ];
    invocation.show(&rows, |rows| format_table(headings, rows.iter().map(cells)))
}

async fn rotate_key(
    store: &Store,
    id: &KeyId,
    grace: Duration,
    expires: Option<Timestamp>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let Some(rotated) = store.rotate_key(id, grace, expires, now()).await? else {
        return Err(anyhow!("no active key `{id}`"))
            .advise(|| "list the keys with `kitbag key list`".to_owned());
    };
    let of = tenant_of_role(rotated.spec.role, &rotated.spec.tenant);
    let event = trail::key_event("kitbag key rotate", Action::KeyRotated, &rotated.key.id, of);
    let detail = Some(ShortText::truncate(&format!("replaces {id}")));
    trail::record_event(store, Event { detail, ..event }).await?;
    let (new, holder) = (&rotated.key.id, describe_holder(&rotated.spec));
    let ends = if grace.is_zero() {
        "no longer works".to_owned()
    } else {
        format!("works until {}", format_date(rotated.former_ends_at))
    };
    invocation.note(&format!(
        "Key {new} {holder}, replacing {id}, which {ends}. Save it now: it is not stored and cannot be \
         shown again."
    ));
    let mut result = new_key_to_json(&rotated.key, &rotated.spec);
    result["former"] = json!({ "id": id, "expires_at": format_date(rotated.former_ends_at) });
    let token = rotated.key.token.reveal();
    invocation.show(&result, |_| token.to_owned())
}

async fn revoke_key(store: &Store, id: KeyId, invocation: &Invocation) -> anyhow::Result<()> {
    if !store.revoke_key(&id, now()).await? {
        return Err(anyhow!("no key `{id}` to revoke"))
            .advise(|| "list the keys with `kitbag key list`".to_owned());
    }
    let revoked = store
        .list_keys()
        .await?
        .into_iter()
        .find(|key| key.id == id);
    let of = revoked.and_then(|key| tenant_of_role(key.role, &key.tenant));
    let event = trail::key_event("kitbag key revoke", Action::KeyRevoked, &id, of);
    trail::record_event(store, event).await?;
    invocation.show(&json!({ "id": id, "revoked": true }), |_| {
        format!("Revoked key {id}")
    })
}

pub(crate) fn describe_holder(spec: &KeySpec) -> String {
    let holder = match spec.role {
        Role::User => format!("for tenant `{}`", spec.tenant),
        Role::Operator => "for an operator".to_owned(),
        Role::Admin => "for an admin".to_owned(),
    };
    match spec.expires_at {
        Some(end) => format!("{holder}, valid until {}", format_date(end)),
        None => holder,
    }
}

pub(crate) fn tenant_of_role(role: Role, tenant: &Tenant) -> Option<Tenant> {
    (role == Role::User).then(|| tenant.clone())
}

fn to_row(key: KeyInfo) -> KeyRow {
    let texts = KeyTexts {
        last_used: key
            .last_used_at
            .map_or_else(|| "never".to_owned(), format_relative),
        state: describe_state(&key, now()),
    };
    let KeyInfo {
        id,
        tenant,
        role,
        label,
        created_at,
        expires_at,
        last_used_at,
        revoked_at,
    } = key;
    KeyRow {
        id,
        tenant: tenant_of_role(role, &tenant),
        role,
        label,
        created_at: format_date(created_at),
        expires_at: expires_at.map(format_date),
        last_used_at: last_used_at.map(format_date),
        revoked_at: revoked_at.map(format_date),
        texts,
    }
}

pub(crate) fn describe_state(key: &KeyInfo, now: Timestamp) -> String {
    match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {}", date_part(&format_date(at))),
        (None, Some(end)) if key.is_expired(now) => {
            format!("expired {}", date_part(&format_date(end)))
        }
        (None, Some(end)) => format!("expires {}", format_relative(end)),
        (None, None) => "active".to_owned(),
    }
}

fn cells(row: &KeyRow) -> [String; 7] {
    let tenant = row
        .tenant
        .as_ref()
        .map_or_else(|| "(all)".to_owned(), ToString::to_string);
    let label = row.label.clone().unwrap_or_default();
    let KeyTexts { last_used, state } = &row.texts;
    let (role, created) = (row.role.to_string(), date_part(&row.created_at));
    [
        row.id.to_string(),
        tenant,
        role,
        label,
        created,
        last_used.clone(),
        state.clone(),
    ]
}

fn date_part(date: &str) -> String {
    date.split('T').next().unwrap_or_default().to_owned()
}
