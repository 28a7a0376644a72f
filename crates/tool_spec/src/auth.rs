//! The ways in which a request authenticates.

use http::HeaderName;

use crate::text_pattern::TextPattern;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AuthScheme {
    /// Nothing is sent.
    #[default]
    Nothing,
    /// `Authorization: Bearer`, with the field `token`.
    Bearer,
    /// A header with the field `key`.
    ApiKeyHeader { header: HeaderName },
    /// A query parameter with the field `key`.
    ApiKeyQuery { parameter: String },
    /// `Authorization: Basic`, with the fields `user` and `password`.
    Basic,
    /// A token that is fetched first, and sent as a bearer token.
    OAuth2 {
        grant: OAuthGrant,
        token_url: TextPattern,
        scopes: Vec<String>,
    },
    /// The fields are `access_key_id`, `secret_access_key` and, if given, `session_token`.
    AwsSigV4 {
        service: String,
        region: TextPattern,
    },
}

/// How to get a token. Each grant needs the fields `client_id` and `client_secret`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OAuthGrant {
    ClientCredentials,
    /// Also needs the field `refresh_token`; a new refresh token is stored.
    RefreshToken,
    /// The field `refresh_token` comes from a user's login at `authorize_url`.
    AuthorizationCode {
        authorize_url: TextPattern,
    },
}

impl AuthScheme {
    /// Returns the fields of the credential that the scheme requires.
    pub fn required_fields(&self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &[],
            Self::Bearer => &["token"],
            Self::ApiKeyHeader { .. } | Self::ApiKeyQuery { .. } => &["key"],
            Self::Basic => &["user", "password"],
            Self::OAuth2 { grant, .. } => grant.required_fields(),
            Self::AwsSigV4 { .. } => &["access_key_id", "secret_access_key"],
        }
    }

    /// Returns the fields that the scheme uses if present.
    pub fn optional_fields(&self) -> &'static [&'static str] {
        match self {
            Self::AwsSigV4 { .. } => &["session_token"],
            _ => &[],
        }
    }

    /// True if a user obtains the field `refresh_token` by logging in.
    pub fn needs_login(&self) -> bool {
        let Self::OAuth2 { grant, .. } = self else {
            return false;
        };
        matches!(grant, OAuthGrant::AuthorizationCode { .. })
    }

    /// Returns its patterns, which may name further fields.
    pub fn patterns(&self) -> Vec<&TextPattern> {
        match self {
            Self::OAuth2 {
                grant, token_url, ..
            } => match grant {
                OAuthGrant::AuthorizationCode { authorize_url } => vec![token_url, authorize_url],
                OAuthGrant::ClientCredentials | OAuthGrant::RefreshToken => vec![token_url],
            },
            Self::AwsSigV4 { region, .. } => vec![region],
            _ => Vec::new(),
        }
    }
}

impl OAuthGrant {
    fn required_fields(&self) -> &'static [&'static str] {
        match self {
            Self::ClientCredentials => &["client_id", "client_secret"],
            Self::RefreshToken | Self::AuthorizationCode { .. } => {
                &["client_id", "client_secret", "refresh_token"]
            }
        }
    }
}
