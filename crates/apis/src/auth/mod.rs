//! The proofs that requests carry: whose they are, and that they may be made.
//!
//! - `credential`: the fields that a tenant keeps for an API
//! - `proof`: the header, parameter or signature of one request
//! - `aws`: signatures as Amazon's services want them
//! - `token_cache`: access tokens, fetched once and kept until shortly before they end
//! - `token_request`: one request for a token

mod aws;
mod credential;
mod proof;
mod token_cache;
mod token_request;

pub use credential::{Credential, CredentialOwner};
pub use token_cache::{KeepRefreshToken, RotatedRefreshToken, TokenCache};
pub use token_request::TokenFault;

pub(crate) use aws::AwsSigner;
pub(crate) use proof::{Proof, basic_login};
pub(crate) use token_request::{TokenGrant, TokenRequest};
