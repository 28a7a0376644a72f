//! Calls HTTP APIs: builds the request, adds the credential, guards the address, reads the answer.
//!
//! An API is called in one of two forms. A [`Provider`] is the small one: the caller chooses the
//! path. A [`DeclaredApi`] runs the actions of a tool file. Both send through the same
//! guarded client: the guard checks every address on the way, and secrets only go to the API's own
//! origin.
//!
//! # Layout
//! - `client`: the guarded HTTP client, and following redirects with it; `request_permits`: the
//!   limit on an API's concurrent requests
//! - `request`: one pending request; `redirect`: the next request after a redirect
//! - `received_response`: an answer, read up to a limit; `fault`: the failures that both forms
//!   share
//! - `provider`: the small form
//! - `action`: the declared form: requests, attempts, pages and answers of actions
//! - `auth`: proofs of identity, including tokens and signatures
//! - `pace`: the limits that an API sets on each tenant
//! - `clock`: the time of day, and waiting

mod action;
mod auth;
mod client;
mod clock;
mod fault;
mod pace;
mod provider;
mod received_response;
mod redirect;
mod request;
mod request_permits;

pub use action::{
    ActionAnswer, ActionError, ActionFault, AnswerPart, AnswerUsage, ApiOverrides, Culprit,
    DeclaredApi, PagesRead,
};
pub use auth::{
    Credential, CredentialOwner, RotatedRefreshToken, StoreRefreshToken, TokenCache, TokenFault,
};
pub use client::GuardedClient;
pub use clock::Clock;
pub use fault::RequestFault;
pub use provider::{
    Provider, ProviderAnswer, ProviderCall, ProviderError, ProviderFault, ProviderSpec,
    RequestJudge,
};
