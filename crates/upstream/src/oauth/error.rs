//! Errors of a login, and of a call that requires one.

use kitbag_domain::{MissingVariable, Remedy, ServerName};

use super::grant::GrantStoreError;
use super::scopes::Scopes;

/// The user has to log in before a call can go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{server}` {why}")]
pub struct LoginNeeded {
    pub server: ServerName,
    pub why: LoginReason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginReason {
    #[error("requires a login")]
    NotYet,
    #[error("no longer accepts Kitbag's login")]
    Refused,
    #[error("requires a new login because the old one ended ({reason})")]
    Ended { reason: String },
    #[error("requires permissions that Kitbag's login does not have ({scopes})")]
    MoreScopes { scopes: Scopes },
    #[error("requires permissions ({scopes}) that Kitbag requested but was not granted")]
    Withheld { scopes: Scopes },
}

impl Remedy for LoginNeeded {
    fn remedy(&self) -> Option<String> {
        Some(format!("run `kitbag servers login {}`", self.server))
    }
}

/// A login failed, or could not be ended.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FailedLogin {
    pub server: ServerName,
    pub error: LoginError,
}

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    Web(#[from] WebError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("it identifies itself as `{described}`, which is a different server")]
    OtherResource { described: String },
    #[error("it requires no login")]
    NotRequired,
    #[error("it does not name an authorization server")]
    NoAuthority,
    #[error("the authorization server `{issuer}` has no metadata at any of its well-known URLs")]
    NoMetadata { issuer: String },
    #[error("`{found}` is not a valid authorization server URL")]
    BadIssuer { found: String },
    #[error("the metadata of the authorization server `{expected}` names the issuer `{found}`")]
    OtherIssuer { expected: String, found: String },
    #[error("the server now uses `{found}`, but Kitbag's client belongs to `{expected}`")]
    IssuerChanged { expected: String, found: String },
    #[error("the authorization server `{issuer}` does not support PKCE (S256)")]
    NoPkce { issuer: String },
    #[error("the authorization server `{issuer}` has no authorization endpoint")]
    NoBrowser { issuer: String },
    #[error("the authorization server `{issuer}` accepts only registered clients")]
    NoRegistration { issuer: String },
    #[error("the authorization server `{issuer}` refused to register Kitbag: {reason}")]
    NotRegistered { issuer: String, reason: String },
    #[error("the answer does not belong to this login")]
    OtherState,
    #[error("the answer should come from `{expected}` but {}", describe_sender(found.as_deref()))]
    AnswerFrom {
        expected: String,
        found: Option<String>,
    },
    #[error(
        "the answer should come from `{expected}` but came to the redirect URI of another authorization server"
    )]
    OtherRedirect { expected: String },
    #[error(
        "the answer is incomplete: `{expected}` does not name itself in it, so the whole address is needed"
    )]
    PartialAnswer { expected: String },
    #[error("the authorization server refused: {reason}")]
    Denied { reason: String },
    #[error("the answer has no code")]
    NoCode,
    #[error("the authorization server issued no refresh token")]
    NoRefreshToken,
    #[error("the code was not confirmed in time")]
    TooLate,
    #[error("the server does not accept the token that was issued for it")]
    NotAccepted,
    #[error(transparent)]
    Variable(#[from] MissingVariable),
    #[error("logins cannot be stored: {0}")]
    GrantStore(#[from] GrantStoreError),
    #[error("{reason}")]
    Person { reason: String },
}

/// The reason why a URL that a server named gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WebError {
    #[error("`{url}` may not be used: {reason}")]
    Forbidden { url: String, reason: String },
    #[error("`{url}` could not be reached: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("`{url}` answered HTTP {status}")]
    Status { url: String, status: u16 },
    #[error("`{url}` returned an unexpected answer: {reason}")]
    Unreadable { url: String, reason: String },
}

/// The reason why no token was issued.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TokenError {
    /// In the authorization server's own words.
    #[error("the authorization server refused: {error}{}", describe_suffix(description.as_deref()))]
    Refused {
        error: String,
        description: Option<String>,
    },
    #[error(
        "the authorization server issued a token of type `{found}`, but only `Bearer` is supported"
    )]
    NotBearer { found: String },
    #[error(transparent)]
    Web(#[from] WebError),
}

impl Remedy for FailedLogin {
    fn remedy(&self) -> Option<String> {
        let server = &self.server;
        Some(match &self.error {
            LoginError::NoAuthority | LoginError::NoMetadata { .. } => {
                format!("if it uses a key instead, set the key in `headers` of [servers.{server}]")
            }
            LoginError::IssuerChanged { .. } => {
                format!(
                    "register a client there and set `client_id` and `issuer` of [servers.{server}.oauth]"
                )
            }
            LoginError::NoRegistration { .. } | LoginError::NotRegistered { .. } => {
                format!("register a client there and set `client_id` of [servers.{server}.oauth]")
            }
            LoginError::OtherRedirect { .. } | LoginError::AnswerFrom { .. } => format!(
                "the server may be attacking another login; if you do not trust it, run `kitbag servers remove {server}`"
            ),
            LoginError::PartialAnswer { .. } => format!(
                "start again, and paste the address from `http` to its end: kitbag servers login {server} --headless"
            ),
            LoginError::OtherState | LoginError::NoCode => {
                format!("start again: kitbag servers login {server}")
            }
            LoginError::TooLate => format!(
                "start again: kitbag servers login {server}; if the page did not recognize Kitbag, run `kitbag servers \
                 logout {server}` first"
            ),
            LoginError::NotRequired => format!("see what it offers: kitbag servers test {server}"),
            LoginError::Web(WebError::Unreachable { .. }) => {
                format!("check the network, and the address in [servers.{server}]")
            }
            LoginError::Variable(missing) => return missing.remedy(),
            _ => return None,
        })
    }
}

impl TokenError {
    /// True if trying again later may help without a user.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Web(WebError::Unreachable { .. }) => true,
            Self::Web(WebError::Status { status, .. }) => *status == 429 || *status >= 500,
            Self::Refused { error, .. } => {
                error == "temporarily_unavailable" || error == "server_error"
            }
            _ => false,
        }
    }
}

fn describe_sender(found: Option<&str>) -> String {
    found.map_or_else(
        || "does not name its sender".to_owned(),
        |found| format!("is from `{found}`"),
    )
}

fn describe_suffix(description: Option<&str>) -> String {
    description
        .map(|text| format!(" ({text})"))
        .unwrap_or_default()
}
