//! `kitbag secret login`: gets a refresh token by OAuth, with a browser here or on another machine.

use std::collections::BTreeSet;

use anyhow::{Context as _, anyhow};
use kitbag_config::{CatalogSettings, ToolEndpoint};
use kitbag_domain::Tenant;
use kitbag_gateway::secrets::login::address_guards;
use kitbag_store::{CredentialFields, Secret};
use kitbag_tool_spec::{AuthScheme, CredentialName, FillValues, OAuthGrant, TextPattern};
use kitbag_upstream::oauth::{KnownAuthority, LoginError, Person, RedirectPort, SecretText};
use serde_json::Map;
use url::Url;

use super::needed_fields::KnownTools;
use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::servers::login_dialog::{LocalBrowser, RemoteBrowser};

#[derive(Debug, clap::Args)]
pub(in crate::cli::secret) struct LoginOptions {
    /// Use a browser on another machine, and paste the final URL here.
    #[arg(long)]
    headless: bool,
    /// The port of the redirect URI, if the provider requires a fixed one.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

/// Lets the user log in, and returns the refresh token.
pub(super) async fn fetch_refresh_token(
    authority: &KnownAuthority,
    options: &LoginOptions,
    invocation: &Invocation,
) -> anyhow::Result<Secret> {
    let mut login_dialog: Box<dyn Person> = match options.headless {
        true => Box::new(RemoteBrowser::new(invocation.output)),
        false => Box::new(LocalBrowser::new(invocation.output)),
    };
    let port = options.port.map_or(RedirectPort::Any, RedirectPort::Only);
    let token = authority
        .login(login_dialog.as_mut(), port, &address_guards())
        .await;
    drop(login_dialog);
    let token = match token {
        Err(LoginError::NoRefreshToken) => Err(LoginError::NoRefreshToken).advise(|| {
            "request one in the tool file: with a scope such as offline_access, or with access_type=offline in authorize_url"
                .to_owned()
        }),
        other => other.map_err(Into::into),
    };
    let token = token.context("the login failed")?;
    Ok(Secret::new(token.reveal().to_owned()))
}

/// A credential of a tenant; without fields if the tenant has no such credential yet.
pub(super) struct TenantCredential<'a> {
    pub(super) name: &'a CredentialName,
    pub(super) tenant: &'a Tenant,
    pub(super) fields: Option<&'a CredentialFields>,
}

impl TenantCredential<'_> {
    fn field_value(&self, field: &str) -> Option<String> {
        let value = self.fields?.get(field)?;
        Some(value.reveal().to_owned())
    }

    fn required_field(&self, field: &str) -> anyhow::Result<String> {
        let Self { name, tenant, .. } = self;
        self.field_value(field)
            .with_context(|| format!("{name} of {tenant} has no `{field}`"))
            .advise(|| format!("set it first: kitbag secret set {name} {field} --tenant {tenant}"))
    }

    /// Returns the operator's own address, or else the tool file's address with the credential's fields filled in.
    fn address(&self, own: Option<Url>, pattern: &TextPattern) -> anyhow::Result<Url> {
        if let Some(own) = own {
            return Ok(own);
        }
        let nothing = Map::new();
        let filled = pattern.fill(&FillValues::new(
            &nothing,
            &nothing,
            BTreeSet::new(),
            &|name| self.field_value(name),
        ));
        let text = filled.unwrap_or_default();
        Url::parse(&text).with_context(|| format!("`{text}` is not a valid login address"))
    }
}

/// Returns the authorization server that a tool file names for the credential, with the credential's OAuth client.
pub(super) fn find_authority(
    tools: &KnownTools,
    credential: &TenantCredential<'_>,
    settings: &CatalogSettings,
) -> anyhow::Result<KnownAuthority> {
    let name = credential.name;
    let mut using = tools.tools_using(name).into_iter();
    let login = using.find_map(|tool| match &tool.api.as_ref()?.auth {
        AuthScheme::OAuth2 {
            grant: OAuthGrant::AuthorizationCode { authorize_url },
            token_url,
            scopes,
        } => Some((tool, authorize_url, token_url, scopes)),
        _ => None,
    });
    let Some((tool, authorize_pattern, token_pattern, scopes)) = login else {
        return Err(anyhow!("no tool that uses `{name}` has a login"))
            .advise(|| format!("set its fields: kitbag secret set {name} FIELD"));
    };
    let ToolEndpoint {
        token_url,
        authorize_url,
        ..
    } = settings.endpoint(&tool.id);
    Ok(KnownAuthority {
        authorize_url: credential.address(authorize_url, authorize_pattern)?,
        token_url: credential.address(token_url, token_pattern)?,
        client_id: credential.required_field("client_id")?,
        client_secret: SecretText::new(credential.required_field("client_secret")?),
        scopes: scopes.iter().collect(),
    })
}
