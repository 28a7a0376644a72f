//! What people say about the results of searches: this tool is right for this request, or wrong.

use kitbag_clients::text_without_secrets;
use kitbag_domain::{KeyId, Remedy, Tenant, Timestamp};
use kitbag_relevance::learning::Signal;
use kitbag_store::{ContextVector, Error, NewLesson};
use serde::{Deserialize, Serialize};

/// A person's judgement of one result. It teaches the searches of one tenant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolMark {
    pub tenant: Tenant,
    /// The key of the person, if there is one.
    pub key: Option<KeyId>,
    pub query: String,
    /// The name by which clients call the tool.
    pub tool: String,
    pub is_right: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    #[error("nothing is learned: learning is disabled")]
    Disabled,
    #[error(
        "nothing is learned: the request has no vector, because the embedding model is not available"
    )]
    NoVector,
    #[error("nothing is learned: the request is empty")]
    NoQuery,
    #[error("there is no tool called `{name}`")]
    UnknownTool { name: String },
    #[error(transparent)]
    Store(#[from] Error),
}

impl Remedy for MarkError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Disabled => "set `enabled = true` under [learning]",
            Self::NoVector => "check the model: kitbag doctor",
            Self::NoQuery => "give the words of the request",
            Self::UnknownTool { .. } => "list the names with `kitbag tools`",
            Self::Store(_) => return None,
        };
        Some(remedy.to_owned())
    }
}

impl ToolMark {
    pub(super) fn to_lesson(
        &self,
        model: String,
        vector: &[f32],
        keep_words: bool,
        at: Timestamp,
    ) -> NewLesson {
        let signal = match self.is_right {
            true => Signal::MarkedRight,
            false => Signal::MarkedWrong,
        };
        NewLesson {
            tenant: self.tenant.clone(),
            credential: self.key.clone(),
            // Each mark is a decision of its own.
            session: at.0,
            at,
            tool: self.tool.clone(),
            signal: signal.as_str().to_owned(),
            context: Some(ContextVector {
                model,
                vector: vector.to_vec(),
            }),
            words: keep_words.then(|| text_without_secrets(&self.query)),
        }
    }
}
