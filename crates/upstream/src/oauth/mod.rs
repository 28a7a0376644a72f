//! Logging in at remote servers with OAuth, as both eras of the protocol want it.
//!
//! A server turns us away and names who gives out tokens for it. A [`Person`] says yes there,
//! and what they are given is a [`Grant`], kept by whoever implements [`Keeper`]. From then on
//! [`Credentials`] has a token for each request, and says so when it takes a person again.
//!
//! # Layout
//! - [`credentials`]: the token for each request, renewed in time; [`own`]: without a person
//! - [`settings`]: what may be configured
//! - [`login`]: the way from an address to tokens; [`authority`]: who gives them out
//! - [`client`]: who we are to them; [`request`], [`device`]: asking the person; [`token`]: the exchange
//! - [`grant`]: what is kept of it
//! - [`challenge`], [`metadata`], [`scopes`], [`hidden`]: what the protocol is made of
//! - [`web`]: HTTP to addresses that somebody else told us
//! - [`error`]: what can go wrong, and what to do about it

mod authority;
mod challenge;
mod client;
mod credentials;
mod device;
mod error;
mod grant;
mod hidden;
mod login;
mod metadata;
mod own;
mod request;
mod scopes;
mod settings;
mod token;
mod web;

pub(crate) use challenge::Challenge;
pub use client::{AuthMethod, Client};
pub use credentials::{Credentials, Logins};
pub(crate) use credentials::{Trouble, TurnedAway};
pub use device::DeviceCode;
pub use error::{FailedLogin, LoginError, LoginNeeded, TokenError, WebError, Why};
pub use grant::{Grant, Keeper, KeeperError};
pub use hidden::Hidden;
pub use login::{Person, Port};
pub use scopes::Scopes;
pub use settings::{Flow, Settings};
pub use web::AddressGuards;

/// The scope under which OpenID gives out refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";
