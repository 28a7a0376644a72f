//! Random identifiers: tokens for sessions and parked calls that no client can guess, and request
//! ids.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns 256 random bits in URL-safe base64.
pub fn random_token() -> String {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness to give");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns a request id: 64 random bits in hexadecimal digits.
pub(crate) fn random_request_id() -> String {
    let random = getrandom::u64().expect("the operating system has randomness to give");
    format!("{random:016x}")
}
