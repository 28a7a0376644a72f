//! OAuth logins at remote servers, for both eras of the protocol.
//!
//! A server rejects a request and names the authorization server that issues its tokens. A
//! [`Person`] agrees there, and the tokens become a [`Grant`], which a [`GrantStore`] stores. From
//! then on [`Credentials`] provides a token for each request, and reports when a login is needed
//! again.
//!
//! # Layout
//! - `credentials`: the token for each request; `refresh`: its refresh; `client_credentials`: a
//!   login without a user
//! - `settings`: the configuration
//! - `known_authority`: a login with configured URLs
//! - `login`: from a URL to tokens; `authority`: discovery of the authorization server
//! - `client`, `registration`: the client there; `request`, `device`: the user's consent; `token`:
//!   the token endpoint
//! - `redirect`: the redirect URI, which distinguishes authorization servers
//! - `grant`: the result of a login, and its store
//! - `challenge`, `metadata`, `scopes`, `secret_text`: parts of the protocol
//! - `web`: HTTP to URLs named by a server
//! - `error`: errors and remedies

mod authority;
mod challenge;
mod client;
mod client_credentials;
mod credentials;
mod device;
mod error;
mod grant;
mod known_authority;
mod login;
mod metadata;
mod redirect;
mod refresh;
mod registration;
mod request;
mod scopes;
mod secret_text;
mod settings;
mod token;
mod web;

pub(crate) use challenge::Challenge;
pub use client::{AuthMethod, OauthClient};
pub use credentials::{Credentials, Logins};
pub(crate) use credentials::{NoToken, RefusedRequest};
pub use device::DeviceCode;
pub use error::{FailedLogin, LoginError, LoginNeeded, LoginReason, TokenError, WebError};
pub use grant::{Grant, GrantStore, GrantStoreError};
pub use known_authority::KnownAuthority;
pub use login::Person;
pub use redirect::{RedirectPort, RedirectTarget};
pub use scopes::Scopes;
pub use secret_text::SecretText;
pub use settings::{Flow, Settings};
pub use web::AddressGuards;

/// The scope under which OpenID issues refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";
