//! A request's proof of identity, made from the credential according to the API's scheme.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use kitbag_tool_spec::{AuthScheme, FillValues, OAuthGrant, TextPattern};

use super::ActionFault;
use super::run::ActionRun;
use crate::auth::{AwsSigner, Proof, TokenGrant, TokenRequest, basic_login};
use crate::fault::RequestFault;

/// A proof, and the token request behind it, if any.
pub(super) struct RequestProof {
    pub(super) proof: Proof,
    pub(super) token: Option<SentToken>,
}

pub(super) struct SentToken {
    pub(super) access: Arc<str>,
    pub(super) request: TokenRequest,
}

impl ActionRun<'_> {
    /// Returns the proof, without the token that was `refused`.
    pub(super) async fn prove_request(
        &self,
        values: &FillValues<'_>,
        refused: Option<&str>,
    ) -> Result<RequestProof, ActionFault> {
        let AuthScheme::OAuth2 {
            grant,
            token_url,
            scopes,
        } = &self.api.declaration.auth
        else {
            let proof = self.fixed_proof(&self.api.declaration.auth, values)?;
            return Ok(RequestProof { proof, token: None });
        };
        let request = TokenRequest {
            url: self.api.token_address(token_url, values)?,
            owner: self.credential.owner().clone(),
            client_id: self.credential.field_or_empty("client_id"),
            client_secret: self.credential.field_or_empty("client_secret"),
            grant: self.token_grant(grant, scopes),
        };
        let client = &self.api.client;
        let access = self.tokens.get_token(&request, client, refused).await?;
        Ok(RequestProof {
            proof: Proof::header(AUTHORIZATION, &format!("Bearer {access}"))?,
            token: Some(SentToken { access, request }),
        })
    }

    pub(super) async fn fetch_token(&self) -> Result<(), ActionFault> {
        let nothing = serde_json::Map::new();
        let field = |name: &str| self.credential.field(name).map(str::to_owned);
        let values = self.action.fill_values(&nothing, &field);
        self.prove_request(&values, None).await.map(drop)
    }

    fn token_grant(&self, grant: &OAuthGrant, scopes: &[String]) -> TokenGrant {
        match grant {
            OAuthGrant::ClientCredentials => TokenGrant::ClientCredentials {
                scopes: scopes.to_vec(),
            },
            OAuthGrant::RefreshToken | OAuthGrant::AuthorizationCode { .. } => {
                TokenGrant::RefreshToken {
                    refresh_token: self.credential.field_or_empty("refresh_token"),
                }
            }
        }
    }

    /// Returns a proof that needs no token; `None` for a scheme that does.
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
                &format!("Bearer {}", credential.field_or_empty("token")),
            ),
            AuthScheme::ApiKeyHeader { header } => {
                Proof::header(header.clone(), &credential.field_or_empty("key"))
            }
            AuthScheme::ApiKeyQuery { parameter } => Ok(Proof::Parameter {
                name: parameter.clone(),
                value: credential.field_or_empty("key"),
            }),
            AuthScheme::Basic => Proof::header(
                AUTHORIZATION,
                &basic_login(
                    &credential.field_or_empty("user"),
                    &credential.field_or_empty("password"),
                ),
            ),
            AuthScheme::AwsSigV4 { service, region } => {
                let signer = self.signer(service, region, values);
                Ok(Proof::Aws(Box::new(signer)))
            }
        }
    }

    fn signer(&self, service: &str, region: &TextPattern, values: &FillValues<'_>) -> AwsSigner {
        AwsSigner {
            access_key_id: self.credential.field_or_empty("access_key_id"),
            secret_access_key: self.credential.field_or_empty("secret_access_key"),
            session_token: self.credential.field("session_token").map(str::to_owned),
            service: service.to_owned(),
            region: region.fill(values).unwrap_or_default(),
            clock: self.api.clock.clone(),
        }
    }
}
