//! `kitbag credentials login`: a person says yes in a browser, and the refresh token is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use kitbag_config::{CatalogSettings, ToolEndpoint};
use kitbag_domain::Tenant;
use kitbag_gateway::secrets::login::address_guards;
use kitbag_store::{CredentialFields, Secret};
use kitbag_tool_files::ToolFile;
use kitbag_tool_spec::{AuthScheme, CredentialName, FillValues, OAuthGrant, TextTemplate};
use kitbag_upstream::oauth::{KnownAuthority, LoginError, Person, RedirectPort, SecretText};
use serde_json::Map;
use url::Url;

use super::wanted::KnownTools;
use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::servers::person::{AtBrowser, Elsewhere};

/// The wishes of the person.
#[derive(Debug, clap::Args)]
pub(super) struct LoginWishes {
    /// Use a browser on another machine, and paste here where it ended up.
    #[arg(long)]
    headless: bool,
    /// The port that the browser comes back to, if the provider wants to know it.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

/// Returns the refresh token that the person's login gives.
pub(super) async fn login(
    authority: &KnownAuthority,
    wishes: &LoginWishes,
    invocation: &Invocation,
) -> anyhow::Result<Secret> {
    let mut person: Box<dyn Person> = match wishes.headless {
        true => Box::new(Elsewhere::new(invocation.output)),
        false => Box::new(AtBrowser::new(invocation.output)),
    };
    let port = wishes.port.map_or(RedirectPort::Any, RedirectPort::Only);
    let token = authority
        .login(person.as_mut(), port, &address_guards())
        .await;
    drop(person);
    let token = match token {
        Err(LoginError::NoRefreshToken) => Err(LoginError::NoRefreshToken).advise(|| {
            "ask for one in the tool file: by a scope such as offline_access, or by access_type=offline in authorize_url"
                .to_owned()
        }),
        other => other.map_err(Into::into),
    };
    let token = token.context("you are not logged in")?;
    Ok(Secret::new(token.reveal().to_owned()))
}

/// A credential as a tenant has it; without fields if it has none.
pub(super) struct HeldCredential<'a> {
    pub(super) name: &'a CredentialName,
    pub(super) tenant: &'a Tenant,
    pub(super) fields: Option<&'a CredentialFields>,
}

impl HeldCredential<'_> {
    fn field(&self, field: &str) -> Option<String> {
        let value = self.fields?.get(field)?;
        Some(value.reveal().to_owned())
    }

    fn needed(&self, field: &str) -> anyhow::Result<String> {
        let Self { name, tenant, .. } = self;
        self.field(field)
            .with_context(|| format!("{name} of {tenant} has no `{field}`"))
            .advise(|| {
                format!("set it first: kitbag credentials set {name} {field} --tenant {tenant}")
            })
    }

    /// Returns the operator's own address, or that of the tool file with the fields of the credential in it.
    fn address(&self, own: Option<Url>, declared: &TextTemplate) -> anyhow::Result<Url> {
        if let Some(own) = own {
            return Ok(own);
        }
        let nothing = Map::new();
        let filled = declared.fill(&FillValues::new(
            &nothing,
            &nothing,
            BTreeSet::new(),
            &|name| self.field(name),
        ));
        let text = filled.unwrap_or_default();
        Url::parse(&text).with_context(|| format!("`{text}` is no address to log in at"))
    }
}

/// Returns the authorization server that a tool file names for the credential, with the client in the credential.
pub(super) fn authority(
    tools: &KnownTools,
    held: &HeldCredential<'_>,
    settings: &CatalogSettings,
) -> anyhow::Result<KnownAuthority> {
    let name = held.name;
    let mut using = tools.using(name).into_iter();
    let Some((tool, parts)) = using.find_map(|tool| Some((tool, login_parts(tool)?))) else {
        return Err(anyhow!("no tool that uses `{name}` lets a person log in"))
            .advise(|| format!("set its fields: kitbag credentials set {name} FIELD"));
    };
    let ToolEndpoint {
        token_url,
        authorize_url,
        ..
    } = settings.endpoint(&tool.id);
    Ok(KnownAuthority {
        authorize_url: held.address(authorize_url, &parts.authorize_url)?,
        token_url: held.address(token_url, &parts.token_url)?,
        client_id: held.needed("client_id")?,
        client_secret: SecretText::new(held.needed("client_secret")?),
        scopes: parts.scopes.iter().collect(),
    })
}

/// The addresses and permissions of a login, as a tool file has them.
struct LoginParts {
    authorize_url: TextTemplate,
    token_url: TextTemplate,
    scopes: Vec<String>,
}

fn login_parts(tool: &Arc<ToolFile>) -> Option<LoginParts> {
    let AuthScheme::OAuth2 {
        grant: OAuthGrant::AuthorizationCode { authorize_url },
        token_url,
        scopes,
    } = &tool.api.as_ref()?.auth
    else {
        return None;
    };
    Some(LoginParts {
        authorize_url: authorize_url.clone(),
        token_url: token_url.clone(),
        scopes: scopes.clone(),
    })
}
