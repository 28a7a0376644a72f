//! Seals `requestState`, so that the server recognizes its own state when a client returns it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// The answers of earlier rounds, which a retry returns.
#[derive(Debug, Default, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RoundState {
    /// The request that the state belongs to, so that it is valid for no other.
    pub(crate) purpose: String,
    pub(crate) answers: Map<String, Value>,
}

#[derive(Debug)]
pub(crate) struct Sealer {
    key: [u8; 32],
}

impl Sealer {
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has randomness");
        Self { key }
    }

    pub(crate) fn seal(&self, state: &RoundState) -> String {
        let payload = serde_json::to_vec(state).expect("a state is plain JSON");
        let tag = blake3::keyed_hash(&self.key, &payload);
        format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(payload),
            URL_SAFE_NO_PAD.encode(tag.as_bytes())
        )
    }

    pub(crate) fn open(&self, sealed: &str) -> Option<RoundState> {
        let (payload, tag) = sealed.split_once('.')?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let tag: [u8; 32] = URL_SAFE_NO_PAD.decode(tag).ok()?.try_into().ok()?;
        (blake3::keyed_hash(&self.key, &payload) == tag)
            .then(|| serde_json::from_slice(&payload).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unchanged_state_of_this_server_is_accepted() {
        let (sealer, other_sealer) = (Sealer::new(), Sealer::new());
        let state = RoundState {
            purpose: "tools/call x".to_owned(),
            answers: Map::new(),
        };
        let sealed = sealer.seal(&state);
        assert_eq!(sealer.open(&sealed), Some(state));
        assert_eq!(other_sealer.open(&sealed), None);
        assert_eq!(sealer.open(&format!("{sealed}-TAMPERED")), None);
        assert_eq!(sealer.open(""), None);
    }
}
