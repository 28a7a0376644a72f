//! Tests a credential without a gateway: performs one harmless action with it, or fetches a token.

use std::sync::Arc;

use http::HeaderMap;
use kitbag_apis::{ActionAnswer, ActionError};
use kitbag_config::CatalogSettings;
use kitbag_domain::Tenant;
use kitbag_store::{Error, Vault};
use kitbag_tool_files::ToolFile;
use kitbag_tool_spec::AuthScheme;

use crate::catalog::tool_files::{FileTool, FileToolExecutor};
use crate::secrets::credentials::Credentials;

/// The outcome of testing a credential.
pub enum CredentialTrial {
    /// An action was performed, with this result.
    Called {
        action: String,
        outcome: Result<ActionAnswer, ActionError>,
    },
    /// No action is harmless, so a token was fetched.
    TokenFetched(Result<(), ActionError>),
    /// No action is harmless, and there is no token to fetch.
    NothingHarmless,
}

/// Tests the credential that a tool uses, as a tenant would.
pub async fn try_credential(
    file: &Arc<ToolFile>,
    settings: &CatalogSettings,
    vault: Vault,
    tenant: &Tenant,
) -> Result<CredentialTrial, Error> {
    let tool = FileTool::without_gateway(file, settings);
    let (FileToolExecutor::Api(api), Some(declared)) = (&tool.executor, &file.api) else {
        return Ok(CredentialTrial::NothingHarmless);
    };
    let credentials = Credentials::open(vault).await?;
    let credential = credentials
        .find_credential(tenant, declared.credential.as_ref())
        .await?;
    let tokens = &credentials.tokens;
    if let Some((action, arguments)) = file.test_call()
        && let Some(request) = &action.request
    {
        return Ok(CredentialTrial::Called {
            action: action.name.to_string(),
            outcome: api
                .call(request, &arguments, &credential, tokens, &HeaderMap::new())
                .await,
        });
    }
    let request = file.actions.iter().find_map(|it| it.request.as_ref());
    Ok(match (&declared.auth, request) {
        (AuthScheme::OAuth2 { .. }, Some(request)) => {
            let fetched = api.fetch_token(request, &credential, tokens).await;
            CredentialTrial::TokenFetched(fetched)
        }
        _ => CredentialTrial::NothingHarmless,
    })
}
