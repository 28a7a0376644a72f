//! Makes names that no client can guess, for sessions and parked calls, and ids of requests.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// 256 random bits as text.
pub(crate) fn random_token() -> String {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness to give");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns an id that tells requests apart: 64 random bits in hexadecimal digits.
pub(crate) fn request_id() -> String {
    let random = getrandom::u64().expect("the operating system has randomness to give");
    format!("{random:016x}")
}
