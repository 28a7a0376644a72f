//! The advice on an answer that rejects a request.

use http::StatusCode;
use kitbag_tool_spec::{AuthScheme, CredentialName};

use super::DeclaredApi;

impl DeclaredApi {
    pub(super) fn advice_on(&self, status: u16) -> Option<String> {
        let credential = self.declaration.credential.as_ref()?;
        match StatusCode::from_u16(status).ok()? {
            StatusCode::UNAUTHORIZED => Some(self.advice_on_unauthorized(credential)),
            StatusCode::FORBIDDEN => Some(format!(
                "The credential `{credential}` is valid, but the API does not allow it to do this."
            )),
            _ => None,
        }
    }

    fn advice_on_unauthorized(&self, credential: &CredentialName) -> String {
        let command = match self.declaration.auth.needs_login() {
            true => format!("kitbag secret login {credential}"),
            false => format!("kitbag secret set {credential} …"),
        };
        match self.declaration.auth {
            AuthScheme::OAuth2 { .. } => format!(
                "The token was rejected, and the next call fetches a new one. If that is rejected, too, the \
                 operator can renew the credential with `{command}`."
            ),
            _ => format!(
                "The API does not accept the credential; the operator can replace it with `{command}`."
            ),
        }
    }
}
