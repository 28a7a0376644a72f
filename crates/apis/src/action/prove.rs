//! The proof of a request, made from the credential as the API's scheme says.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use kitbag_tool_spec::{AuthScheme, FillValues, OAuthGrant, TextPattern};

use super::ActionFault;
use super::run::ActionRun;
use crate::auth::{AwsSigner, Proof, TokenGrant, TokenRequest, basic_login};
use crate::fault::RequestFault;

/// A proof, and the request for the token in it if it has one.
pub(super) struct Proven {
    pub(super) proof: Proof,
    pub(super) token: Option<SentToken>,
}

pub(super) struct SentToken {
    pub(super) access: Arc<str>,
    pub(super) request: TokenRequest,
}

impl ActionRun<'_> {
    /// Returns the proof, without the token that was `refused`.
    pub(super) async fn proven(
        &self,
        values: &FillValues<'_>,
        refused: Option<&str>,
    ) -> Result<Proven, ActionFault> {
        let AuthScheme::OAuth2 {
            grant,
            token_url,
            scopes,
        } = &self.api.declaration.auth
        else {
            let proof = self.fixed_proof(&self.api.declaration.auth, values)?;
            return Ok(Proven { proof, token: None });
        };
        let request = TokenRequest {
            url: self.api.token_address(token_url, values)?,
            owner: self.credential.owner().clone(),
            client_id: self.credential.given("client_id"),
            client_secret: self.credential.given("client_secret"),
            grant: self.grant(grant, scopes),
        };
        let client = &self.api.client;
        let access = self.tokens.token(&request, client, refused).await?;
        Ok(Proven {
            proof: Proof::header(AUTHORIZATION, &format!("Bearer {access}"))?,
            token: Some(SentToken { access, request }),
        })
    }

    pub(super) async fn token_fetched(&self) -> Result<(), ActionFault> {
        let nothing = serde_json::Map::new();
        let field = |name: &str| self.credential.field(name).map(str::to_owned);
        let values = self.action.fill_values(&nothing, &field);
        self.proven(&values, None).await.map(drop)
    }

    fn grant(&self, grant: &OAuthGrant, scopes: &[String]) -> TokenGrant {
        match grant {
            OAuthGrant::ClientCredentials => TokenGrant::ClientCredentials {
                scopes: scopes.to_vec(),
            },
            OAuthGrant::RefreshToken | OAuthGrant::AuthorizationCode { .. } => {
                TokenGrant::RefreshToken {
                    refresh_token: self.credential.given("refresh_token"),
                }
            }
        }
    }

    /// Returns a proof that needs no token; nothing for a scheme that does.
    pub(super) fn fixed_proof(
        &self,
        auth: &AuthScheme,
        values: &FillValues<'_>,
    ) -> Result<Proof, RequestFault> {
        let credential = self.credential;
        match auth {
            AuthScheme::Nothing | AuthScheme::OAuth2 { .. } => Ok(Proof::Nothing),
            AuthScheme::Bearer => Proof::header(
                AUTHORIZATION,
                &format!("Bearer {}", credential.given("token")),
            ),
            AuthScheme::ApiKeyHeader { header } => {
                Proof::header(header.clone(), &credential.given("key"))
            }
            AuthScheme::ApiKeyQuery { parameter } => Ok(Proof::Parameter {
                name: parameter.clone(),
                value: credential.given("key"),
            }),
            AuthScheme::Basic => Proof::header(
                AUTHORIZATION,
                &basic_login(&credential.given("user"), &credential.given("password")),
            ),
            AuthScheme::AwsSigV4 { service, region } => {
                let signer = self.signer(service, region, values);
                Ok(Proof::Aws(Box::new(signer)))
            }
        }
    }

    fn signer(&self, service: &str, region: &TextPattern, values: &FillValues<'_>) -> AwsSigner {
        AwsSigner {
            access_key_id: self.credential.given("access_key_id"),
            secret_access_key: self.credential.given("secret_access_key"),
            session_token: self.credential.field("session_token").map(str::to_owned),
            service: service.to_owned(),
            region: region.fill(values).unwrap_or_default(),
            clock: self.api.clock.clone(),
        }
    }
}
