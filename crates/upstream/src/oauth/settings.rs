//! The login settings of one server. Most servers need none.

use kitbag_domain::Template;
use url::Url;

use super::client::AuthMethod;
use super::scopes::Scopes;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub flow: Flow,
    /// A pre-registered client.
    pub client_id: Option<String>,
    pub client_secret: Option<Template>,
    pub auth_method: Option<AuthMethod>,
    /// The URL of a client metadata document, for authorization servers that support it.
    pub client_metadata_url: Option<Url>,
    /// Requested instead of the scopes that the server says it needs.
    pub scopes: Scopes,
    /// The only acceptable authorization server.
    pub issuer: Option<String>,
    /// The port that the browser comes back to, for a client registered with it.
    pub redirect_port: Option<u16>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    /// The user agrees in a browser.
    #[default]
    Browser,
    /// The client logs in by itself, with the secret of the configuration.
    ClientCredentials,
}
