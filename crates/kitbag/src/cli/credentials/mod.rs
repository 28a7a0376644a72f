//! `kitbag credentials`: the credentials with which declared tools call APIs, for each tenant.
//!
//! - `field`: a field on the command line; `wanted`: the fields that tools want
//! - `test`: a credential is tried out; `login`: a person logs in

mod field;
mod login;
mod test;
mod wanted;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_domain::{Action, Tenant};
use kitbag_store::{
    CredentialChange, CredentialFields, CredentialHolder, CredentialInfo, CredentialKey, Store,
    Vault,
};
use kitbag_tool_spec::CredentialName;
use serde_json::{Value, json};

use super::Invocation;
use super::completions::credentials;
use super::failure::Advise as _;
use super::output::{date, table};
use crate::cli::open_store::open_store;
use crate::trail;
use field::GivenField;
use kitbag_config::Config;
use kitbag_gateway::secrets::vault::vault;
use kitbag_gateway::state::clock::now;
use login::{HeldCredential, LoginWishes};
use wanted::{KnownTools, WantedFields};

/// Keep the credentials of declared tools encrypted in the store.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag credentials set hubspot token
  kitbag credentials set aws region=eu-west-1 access_key_id secret_access_key
  kitbag credentials set hubspot token --tenant acme < token.txt
  kitbag credentials list
  kitbag credentials test hubspot
  kitbag credentials login google-ads
  kitbag credentials remove hubspot --tenant acme

A tool file names the credential that its tool needs. Each tenant has its own;
one that is set with --all-tenants serves those that have none. Values are
encrypted like secrets: see `kitbag secret --help`.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Set fields of a credential; its other fields stay.
    #[command(
        after_help = "Examples:\n  kitbag credentials set hubspot token\n  kitbag credentials set aws region=eu-west-1 access_key_id secret_access_key\n\nThe value of a field without `=` is asked for, or read from stdin, a line for\neach."
    )]
    Set {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The name of a field, or FIELD=VALUE for a value that is no secret.
        #[arg(required = true, value_name = "FIELD[=VALUE]")]
        fields: Vec<GivenField>,
        #[command(flatten)]
        holder: HolderArguments,
    },
    /// Show all credentials with the names of their fields; values are never shown.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag credentials list\n  kitbag credentials list --json"
    )]
    List,
    /// Call something harmless with a credential, to see whether it works.
    #[command(
        after_help = "Examples:\n  kitbag credentials test hubspot\n  kitbag credentials test hubspot --tenant acme"
    )]
    Test {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The tenant that calls, `local` unless given.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
    /// Log in at the provider with a browser, and keep the refresh token.
    #[command(
        after_help = "Examples:\n  kitbag credentials login google-ads\n  kitbag credentials login google-ads --headless --tenant acme\n\nclient_id and client_secret must be set before: they are those of the client\nthat you registered at the provider, with http://127.0.0.1 to come back to."
    )]
    Login {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The tenant that gets the login, `local` unless given.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
        #[command(flatten)]
        wishes: LoginWishes,
    },
    /// Forget a credential, or some of its fields.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag credentials remove hubspot\n  kitbag credentials remove aws session_token --tenant acme"
    )]
    Remove {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        #[arg(value_name = "FIELD")]
        fields: Vec<String>,
        #[command(flatten)]
        holder: HolderArguments,
    },
}

#[derive(Debug, Args)]
struct HolderArguments {
    /// The tenant that the credential belongs to, `local` unless given.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// The credential serves all tenants that have none of their own.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
}

impl HolderArguments {
    fn key(self, name: CredentialName) -> CredentialKey {
        let holder = match self.all_tenants {
            true => CredentialHolder::AllTenants,
            false => CredentialHolder::Tenant(self.tenant.unwrap_or_else(Tenant::local)),
        };
        CredentialKey { holder, name }
    }
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "the credentials cannot be reached").await?;
    let opened = OpenedStore {
        vault: vault(config.secret_key, &store)?,
        store,
        config,
    };
    let mut is_well = true;
    match arguments.verb {
        Verb::Set {
            name,
            fields,
            holder,
        } => opened.set(holder.key(name), fields, invocation).await?,
        Verb::List => opened.list(invocation).await?,
        Verb::Test { name, tenant } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            let (vault, config) = (opened.vault.clone(), &opened.config);
            is_well = test::test(&name, &tenant, vault, config, invocation).await?;
        }
        Verb::Login {
            name,
            tenant,
            wishes,
        } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            opened.login(name, tenant, &wishes, invocation).await?;
        }
        Verb::Remove {
            name,
            fields,
            holder,
        } => opened.remove(holder.key(name), fields, invocation).await?,
    }
    opened.store.close().await;
    Ok(super::exit_code(is_well))
}

/// The store, with the key to what is encrypted in it.
struct OpenedStore {
    store: Store,
    vault: Vault,
    config: Config,
}

impl OpenedStore {
    async fn set(
        &self,
        key: CredentialKey,
        given: Vec<GivenField>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let tools = KnownTools::read(&self.config);
        let wanted = tools.fields(&key.name);
        warn_of_unknown(&given, &key.name, &wanted, &tools, invocation);
        let change = CredentialChange::set(field::values(given, &key.name)?);
        let fields = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag credentials set", Action::CredentialSet, &key)
            .await?;
        let names = fields.names();
        let missing = wanted.missing(&names);
        let mut row = described(&key, &names);
        row["missing"] = json!(missing);
        row["tools"] = json!(tools.names_using(&key.name));
        invocation.output.show(&row, |_| {
            let next = next(&key, &missing, wanted.by_login);
            format!("Kept {key}, which has {}{next}", names.join(", "))
        })
    }

    /// Keeps the refresh token of a login. A tenant that used the client of all tenants gets a credential of its own.
    async fn login(
        &self,
        name: CredentialName,
        tenant: Tenant,
        wishes: &LoginWishes,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let tools = KnownTools::read(&self.config);
        let found = self.vault.credential(&tenant, &name).await?;
        let fields = found.map(|(_, fields)| fields);
        let held = HeldCredential {
            name: &name,
            tenant: &tenant,
            fields: fields.as_ref(),
        };
        let authority = login::authority(&tools, &held, &self.config.catalog)?;
        let token = login::login(&authority, wishes, invocation).await?;
        let known = fields.iter().flat_map(CredentialFields::iter);
        let known = known.map(|(field, value)| (field.to_owned(), value.clone()));
        let set = known.chain([(REFRESH_TOKEN.to_owned(), token)]);
        let key = CredentialKey {
            holder: CredentialHolder::Tenant(tenant),
            name,
        };
        let change = CredentialChange::set(set);
        let fields = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag credentials login", Action::CredentialSet, &key)
            .await?;
        let (names, test) = (
            fields.names(),
            format!("kitbag credentials test {}", key.name),
        );
        invocation.output.show(&described(&key, &names), |_| {
            format!("Logged in for {key}\nSee whether it works: {test}")
        })
    }

    async fn list(&self, invocation: &Invocation) -> anyhow::Result<()> {
        let credentials = self.vault.credentials().await?;
        if credentials.is_empty() && !invocation.output.json {
            invocation
                .output
                .note("No credentials yet. Keep one: kitbag credentials set NAME FIELD");
            return Ok(());
        }
        let tools = KnownTools::read(&self.config);
        let rows: Vec<Value> = credentials.iter().map(|it| listed(it, &tools)).collect();
        invocation.output.show(&rows, |_| {
            let cells = credentials.iter().map(|it| {
                let CredentialKey { holder, name } = &it.key;
                [
                    name.to_string(),
                    holder.to_string(),
                    it.fields.join(", "),
                    date(it.updated_at),
                    a_few(&tools.names_using(name)),
                ]
            });
            table(["NAME", "TENANT", "FIELDS", "CHANGED", "TOOLS"], cells)
        })
    }

    async fn remove(
        &self,
        key: CredentialKey,
        fields: Vec<String>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let known = self.vault.credentials().await?;
        let known = known.into_iter().find(|it| it.key == key);
        let known = known
            .with_context(|| format!("there is no credential {key}"))
            .advise(|| "see which there are with `kitbag credentials list`".to_owned())?;
        let fields = if fields.is_empty() {
            known.fields
        } else {
            fields
        };
        let change = CredentialChange::remove(fields);
        let left = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag credentials remove", Action::CredentialRemoved, &key)
            .await?;
        let names = left.names();
        invocation
            .output
            .show(&described(&key, &names), |_| match names.as_slice() {
                [] => format!("Removed {key}"),
                left => format!("{key} still has {}", left.join(", ")),
            })
    }

    async fn record(&self, verb: &str, action: Action, key: &CredentialKey) -> anyhow::Result<()> {
        let change = trail::change(verb, action, &key.to_string());
        trail::record(&self.store, change).await
    }
}

fn described(key: &CredentialKey, fields: &[String]) -> Value {
    json!({ "name": key.name.as_str(), "tenant": key.holder.to_string(), "fields": fields })
}

/// Returns the first names, and how many there are besides: an imported API may have a thousand tools.
fn a_few(names: &[String]) -> String {
    const FEW: usize = 4;
    match names.len().checked_sub(FEW) {
        Some(more @ 1..) => format!("{} and {more} more", names[..FEW].join(", ")),
        _ => names.join(", "),
    }
}

/// The field that a login sets.
const REFRESH_TOKEN: &str = "refresh_token";

/// Tells the person what is still to be done, if anything.
fn next(key: &CredentialKey, missing: &[&str], by_login: bool) -> String {
    let (by_person, typed): (Vec<&str>, Vec<&str>) = missing
        .iter()
        .partition(|field| by_login && **field == REFRESH_TOKEN);
    let name = &key.name;
    match (typed.as_slice(), by_person.as_slice()) {
        ([], []) => String::new(),
        ([], _) => format!("\nNow log in: kitbag credentials login {name}"),
        (typed, _) => format!(
            "\nIts tools also want {}: kitbag credentials set {name} {}",
            typed.join(", "),
            typed.join(" ")
        ),
    }
}

/// Tells of a credential or a field that no tool knows; it is kept all the same, because the tool may come later.
fn warn_of_unknown(
    given: &[GivenField],
    name: &CredentialName,
    wanted: &WantedFields,
    tools: &KnownTools,
    invocation: &Invocation,
) {
    if tools.using(name).is_empty() {
        let advice = test::near_names(name.as_str(), tools);
        let text = format!("no tool uses the credential `{name}`\n  try: {advice}");
        invocation.output.warn(&text);
        return;
    }
    let unknown = given.iter().map(GivenField::name);
    for field in unknown.filter(|field| !wanted.is_known(field)) {
        let near = kitbag_schema::near(field, wanted.all());
        let advice = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("they know {}", wanted.all().collect::<Vec<_>>().join(", ")),
        };
        let text = format!("no tool that uses `{name}` knows the field `{field}`\n  try: {advice}");
        invocation.output.warn(&text);
    }
}

fn listed(info: &CredentialInfo, tools: &KnownTools) -> Value {
    let mut row = described(&info.key, &info.fields);
    row["tools"] = json!(tools.names_using(&info.key.name));
    row["updated_at"] = date(info.updated_at).into();
    row
}
