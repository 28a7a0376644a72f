//! The settings for logging in at one server. Most servers need none.

use kitbag_domain::Template;
use url::Url;

use super::client::AuthMethod;
use super::scopes::Scopes;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub flow: Flow,
    /// A client that was registered beforehand.
    pub client_id: Option<String>,
    pub client_secret: Option<Template>,
    pub auth_method: Option<AuthMethod>,
    /// A document about us, for authorization servers that read it instead of registering us.
    pub client_metadata_url: Option<Url>,
    /// Asked for instead of what the server says it needs.
    pub scopes: Scopes,
    /// The only authorization server that is good enough.
    pub issuer: Option<String>,
    /// The port that the browser comes back to, for a client that was registered with it.
    pub redirect_port: Option<u16>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    /// A person says yes in a browser.
    #[default]
    Browser,
    /// We ask in our own name, with the secret of the configuration.
    ClientCredentials,
}
