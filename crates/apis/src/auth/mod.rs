//! The proofs of identity that requests carry.
//!
//! - `credential`: a tenant's fields for an API
//! - `proof`: the header, parameter or signature of one request
//! - `aws`: Amazon's request signatures
//! - `token_cache`: access tokens, fetched once and cached until shortly before they expire
//! - `token_request`: one request for a token

mod aws;
mod credential;
mod proof;
mod token_cache;
mod token_request;

pub use credential::{Credential, CredentialOwner};
pub use token_cache::{RotatedRefreshToken, StoreRefreshToken, TokenCache};
pub use token_request::TokenFault;

pub(crate) use aws::AwsSigner;
pub(crate) use proof::{Proof, basic_login};
pub(crate) use token_request::{TokenGrant, TokenRequest};
