//! Credentials with which tool files call APIs: fields such as `token` or `client_id`, for each tenant.
//!
//! - `field`: fields given on the command line; `needed_fields`: the fields that tools need
//! - `test`: a harmless call with a credential; `login`: OAuth with a browser

mod field;
mod login;
mod needed_fields;
mod test;

use anyhow::Context as _;
use clap::Args;
use kitbag_config::Config;
use kitbag_domain::{Action, Tenant};
use kitbag_gateway::state::clock::now;
use kitbag_store::{
    CredentialChange, CredentialFields, CredentialHolder, CredentialInfo, CredentialKey, Store,
    Vault,
};
use kitbag_tool_spec::CredentialName;
use serde_json::{Value, json};

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::output::format_date;
use crate::trail;
use login::TenantCredential;
use needed_fields::{KnownTools, NeededFields};

pub(super) use field::GivenField;
pub(super) use login::LoginOptions;

#[derive(Debug, Args)]
pub(super) struct CredentialHolderArguments {
    /// The tenant that owns the credential; `local` by default.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// The credential for all tenants that have none of their own.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
}

impl CredentialHolderArguments {
    /// True if a flag selects a credential rather than a secret.
    pub(super) fn is_given(&self) -> bool {
        self.all_tenants || self.tenant.is_some()
    }

    pub(super) fn into_key(self, name: CredentialName) -> CredentialKey {
        let holder = match self.all_tenants {
            true => CredentialHolder::AllTenants,
            false => CredentialHolder::Tenant(self.tenant.unwrap_or_else(Tenant::local)),
        };
        CredentialKey { holder, name }
    }
}

/// The vault with the credentials, and the configuration with the tools that use them.
pub(super) struct CredentialVault<'a> {
    pub(super) vault: &'a Vault,
    pub(super) store: &'a Store,
    pub(super) config: &'a Config,
}

/// A credential and the names of the tools that use it.
pub(super) struct ListedCredential {
    info: CredentialInfo,
    tools: Vec<String>,
}

impl CredentialVault<'_> {
    pub(super) async fn set(
        &self,
        key: CredentialKey,
        given: Vec<GivenField>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let tools = KnownTools::load(self.config);
        let needed = tools.needed_fields(&key.name);
        warn_about_unknown(&given, &key.name, &needed, &tools, invocation);
        let change = CredentialChange::set(field::read_values(given, &key.name)?);
        let fields = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag secret set", Action::CredentialSet, &key)
            .await?;
        let names = fields.names();
        let missing = needed.missing_from(&names);
        let mut row = credential_to_json(&key, &names);
        row["missing"] = json!(missing);
        row["tools"] = json!(tools.names_using(&key.name));
        invocation.show(&row, |_| {
            let next = next_step(&key, &missing, needed.by_login);
            format!("Stored {key} with {}{next}", names.join(", "))
        })
    }

    /// Stores the refresh token of a login. A tenant that used the client of all tenants gets a separate credential.
    pub(super) async fn login(
        &self,
        name: CredentialName,
        tenant: Tenant,
        options: &LoginOptions,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let tools = KnownTools::load(self.config);
        let found = self.vault.find_credential(&tenant, &name).await?;
        let fields = found.map(|(_, fields)| fields);
        let credential = TenantCredential {
            name: &name,
            tenant: &tenant,
            fields: fields.as_ref(),
        };
        let authority = login::find_authority(&tools, &credential, &self.config.catalog)?;
        let token = login::fetch_refresh_token(&authority, options, invocation).await?;
        let known = fields.iter().flat_map(CredentialFields::iter);
        let known = known.map(|(field, value)| (field.to_owned(), value.clone()));
        let set = known.chain([(REFRESH_TOKEN.to_owned(), token)]);
        let key = CredentialKey {
            holder: CredentialHolder::Tenant(tenant),
            name,
        };
        let change = CredentialChange::set(set);
        let fields = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag secret login", Action::CredentialSet, &key)
            .await?;
        let (names, test) = (fields.names(), format!("kitbag secret test {}", key.name));
        invocation.show(&credential_to_json(&key, &names), |_| {
            format!("Logged in for {key}\nTest it: {test}")
        })
    }

    pub(super) async fn test(
        &self,
        name: &CredentialName,
        tenant: &Tenant,
        invocation: &Invocation,
    ) -> anyhow::Result<bool> {
        let vault = self.vault.clone();
        test::test_credential(name, tenant, vault, self.config, invocation).await
    }

    pub(super) async fn list(&self) -> anyhow::Result<Vec<ListedCredential>> {
        let credentials = self.vault.list_credentials().await?;
        let tools = KnownTools::load(self.config);
        let listed = credentials.into_iter().map(|info| ListedCredential {
            tools: tools.names_using(&info.key.name),
            info,
        });
        Ok(listed.collect())
    }

    pub(super) async fn remove(
        &self,
        key: CredentialKey,
        fields: Vec<String>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let known = self.vault.list_credentials().await?;
        let known = known.into_iter().find(|it| it.key == key);
        let known = known
            .with_context(|| match &key.holder {
                CredentialHolder::Tenant(tenant) if *tenant == Tenant::local() => {
                    format!("no secret or credential `{}`", key.name)
                }
                _ => format!("no credential {key}"),
            })
            .advise(|| "list them: kitbag secret list".to_owned())?;
        let fields = if fields.is_empty() {
            known.fields
        } else {
            fields
        };
        let change = CredentialChange::remove(fields);
        let left = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag secret remove", Action::CredentialRemoved, &key)
            .await?;
        let names = left.names();
        invocation.show(&credential_to_json(&key, &names), |_| {
            match names.as_slice() {
                [] => format!("Removed {key}"),
                left => format!("{key} still has {}", left.join(", ")),
            }
        })
    }

    async fn record(&self, verb: &str, action: Action, key: &CredentialKey) -> anyhow::Result<()> {
        let change = trail::change_event(verb, action, &key.to_string());
        trail::record_event(self.store, change).await
    }
}

impl ListedCredential {
    pub(super) fn to_json(&self) -> Value {
        let mut row = credential_to_json(&self.info.key, &self.info.fields);
        row["tools"] = json!(self.tools);
        row["updated_at"] = format_date(self.info.updated_at).into();
        row
    }

    pub(super) fn to_cells(&self) -> [String; 5] {
        let CredentialKey { holder, name } = &self.info.key;
        [
            name.to_string(),
            holder.to_string(),
            self.info.fields.join(", "),
            format_date(self.info.updated_at),
            join_first_few(&self.tools),
        ]
    }
}

fn credential_to_json(key: &CredentialKey, fields: &[String]) -> Value {
    json!({
        "kind": "credential",
        "name": key.name.as_str(),
        "tenant": key.holder.to_string(),
        "fields": fields,
    })
}

/// Returns the first names and the number of the others: an imported API may have a thousand tools.
fn join_first_few(names: &[String]) -> String {
    const FEW: usize = 4;
    match names.len().checked_sub(FEW) {
        Some(more @ 1..) => format!("{} and {more} more", names[..FEW].join(", ")),
        _ => names.join(", "),
    }
}

/// The field that a login sets.
const REFRESH_TOKEN: &str = "refresh_token";

/// Returns the next command to type, if fields are still missing.
fn next_step(key: &CredentialKey, missing: &[&str], by_login: bool) -> String {
    let (from_login, typed): (Vec<&str>, Vec<&str>) = missing
        .iter()
        .partition(|field| by_login && **field == REFRESH_TOKEN);
    let name = &key.name;
    match (typed.as_slice(), from_login.as_slice()) {
        ([], []) => String::new(),
        ([], _) => format!("\nNow log in: kitbag secret login {name}"),
        (typed, _) => format!(
            "\nIts tools also need {}: kitbag secret set {name} {}",
            typed.join(", "),
            typed.join(" ")
        ),
    }
}

/// Warns about a credential or a field that no tool uses. It is stored all the same, because the tool may come later.
fn warn_about_unknown(
    given: &[GivenField],
    name: &CredentialName,
    needed: &NeededFields,
    tools: &KnownTools,
    invocation: &Invocation,
) {
    if tools.tools_using(name).is_empty() {
        let advice = test::suggest_credential(name.as_str(), tools);
        let text = format!("no tool uses the credential `{name}`\n  try: {advice}");
        invocation.output.warn(&text);
        return;
    }
    let unknown = given.iter().map(GivenField::name);
    for field in unknown.filter(|field| !needed.is_known(field)) {
        let near = kitbag_domain::near_names(field, needed.names());
        let advice = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "known fields: {}",
                needed.names().collect::<Vec<_>>().join(", ")
            ),
        };
        let text = format!("no tool that uses `{name}` has a field `{field}`\n  try: {advice}");
        invocation.output.warn(&text);
    }
}
