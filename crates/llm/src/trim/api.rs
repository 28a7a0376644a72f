//! The vendors' APIs whose requests offer tools to a model.

use crate::tool_schema::Vendor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// Anthropic's.
    Messages,
    /// OpenAI's older API, which many others support, too.
    ChatCompletions,
    /// OpenAI's newer API.
    Responses,
}

impl ModelApi {
    /// Returns the API at a path of a vendor; other paths offer no tools to a model.
    pub fn from_path(vendor: Vendor, path: &str) -> Option<Self> {
        match (vendor, path) {
            (Vendor::Anthropic, "/v1/messages") => Some(Self::Messages),
            (Vendor::OpenAi, "/v1/chat/completions") => Some(Self::ChatCompletions),
            (Vendor::OpenAi, "/v1/responses") => Some(Self::Responses),
            _ => None,
        }
    }

    pub fn vendor(self) -> Vendor {
        match self {
            Self::Messages => Vendor::Anthropic,
            Self::ChatCompletions | Self::Responses => Vendor::OpenAi,
        }
    }
}
