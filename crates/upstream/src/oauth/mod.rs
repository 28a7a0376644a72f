//! Logging in at remote servers with OAuth, as both eras of the protocol describe it.
//!
//! A server refuses a request and names the authorization server that gives out its tokens. A
//! [`Person`] says yes there, and the tokens become a [`Grant`], which a [`GrantStore`] keeps. From
//! then on [`Credentials`] has a token for each request, and says when a person has to log in again.
//!
//! # Layout
//! - `credentials`: the token for each request; `renewal`: renewing it in time; `own`: without a person
//! - `settings`: the settings of the configuration
//! - `known`: a login where every address is written down
//! - `login`: the way from an address to tokens; `authority`: finding the authorization server
//! - `client`, `registration`: our client there; `request`, `device`: asking the person;
//!   `token`: the exchange
//! - `grant`: the result of a login, and where it is kept
//! - `challenge`, `metadata`, `scopes`, `hidden`: the parts of the protocol
//! - `web`: HTTP to addresses that a server named
//! - `error`: the failures, and their advice

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
mod registration;
mod renewal;
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
pub use login::{Person, RedirectPort};
pub use scopes::Scopes;
pub use secret_text::SecretText;
pub use settings::{Flow, Settings};
pub use web::AddressGuards;

/// The scope under which OpenID gives out refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";
