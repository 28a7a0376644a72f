//! The endpoint of a model, as written by the user.
//!
//! `anthropic:MODEL` and `openai:MODEL` are the vendors' own URLs. `URL#MODEL` is any service that
//! supports Chat Completions, `anthropic:URL#MODEL` any that supports Messages. The URL is the base
//! URL, or the whole one with `/chat/completions` or `/messages`; a query stays.

use std::fmt;
use std::str::FromStr;

use kitbag_llm::tool_schema::UnsupportedTool;
use serde_json::Value;
use url::Url;

use crate::dialect::Dialect;
use crate::tools::{EvalTool, EvalTools};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEndpoint {
    pub(crate) dialect: Dialect,
    pub(crate) base: Url,
    pub(crate) model: String,
    /// True if this is the vendor's own URL. The vendor's key is sent nowhere else.
    is_vendor_address: bool,
    /// The tool limit of a request, if the operator knows one.
    most_tools: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointParseError {
    #[error(
        "`{text}` is not a model; write anthropic:MODEL, openai:MODEL, URL#MODEL or anthropic:URL#MODEL"
    )]
    NoModel { text: String },
    #[error("`{text}` is not an http or https URL")]
    NoAddress { text: String },
    #[error(
        "the URL contains a password, which would appear in reports; pass the key with --key-env"
    )]
    Password,
}

/// The reasons why a model does not get all tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolObstacles {
    /// The tool limit of a request, if there are more.
    pub most: Option<usize>,
    /// The tools that no request may contain.
    pub unfit: Vec<(String, UnsupportedTool)>,
}

impl ModelEndpoint {
    /// Returns the variable with the key for a vendor's own URL.
    pub fn key_variable(&self) -> Option<&'static str> {
        self.is_vendor_address.then_some(match self.dialect {
            Dialect::Anthropic => "ANTHROPIC_API_KEY",
            Dialect::OpenAi => "OPENAI_API_KEY",
        })
    }

    /// True if a third party on the network could read a key.
    pub fn is_unencrypted(&self) -> bool {
        let here = match self.base.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        self.base.scheme() == "http" && !here
    }

    /// Returns the definitions as sent to a model at this endpoint: the first ones of the list, if
    /// a request may not contain all of them.
    pub fn tool_definitions(&self, tools: &EvalTools) -> Vec<Value> {
        let mut definitions = self.dialect.tool_definitions(tools);
        definitions.truncate(self.most_tools().unwrap_or(usize::MAX));
        definitions
    }

    /// Returns the endpoint with a tool limit known to its operator.
    #[must_use]
    pub fn with_most_tools(self, most_tools: Option<usize>) -> Self {
        Self { most_tools, ..self }
    }

    /// Returns the tool limit of a request, as far as it is known. Compatible services have limits
    /// of their own.
    pub fn most_tools(&self) -> Option<usize> {
        let of_vendor = self
            .dialect
            .vendor()
            .max_tools()
            .filter(|_| self.is_vendor_address);
        self.most_tools.or(of_vendor)
    }

    /// Returns the reasons why a model at this endpoint does not get all these tools.
    pub fn find_obstacles(&self, tools: &EvalTools) -> ToolObstacles {
        ToolObstacles {
            most: self.most_tools().filter(|most| tools.len() > *most),
            unfit: tools.iter().filter_map(|it| self.unfit_tool(it)).collect(),
        }
    }

    fn unfit_tool(&self, tool: &EvalTool) -> Option<(String, UnsupportedTool)> {
        let unfit = self.dialect.tool_definition(tool).err()?;
        Some((tool.name.clone(), unfit))
    }

    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Returns the name of the model, without its URL.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn url(&self) -> Url {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/');
        url.set_path(&format!("{base}/{}", self.dialect.endpoint_path()));
        url
    }

    /// Returns the URL, without anything that could be a secret.
    pub(crate) fn address(&self) -> String {
        let origin = self.base.origin().ascii_serialization();
        format!("{origin}{}", self.base.path().trim_end_matches('/'))
    }
}

impl FromStr for ModelEndpoint {
    type Err = EndpointParseError;

    fn from_str(text: &str) -> Result<Self, EndpointParseError> {
        let (dialect, vendor, rest) = match text.split_once(':') {
            Some(("anthropic", rest)) => (Dialect::Anthropic, Some(ANTHROPIC), rest),
            Some(("openai", rest)) => (Dialect::OpenAi, Some(OPENAI), rest),
            _ => (Dialect::OpenAi, None, text),
        };
        let (address, model) = match vendor {
            _ if rest.contains("://") => rest.split_once('#').ok_or_else(|| no_model(text))?,
            Some(vendor) => (vendor, rest),
            None => return Err(no_model(text)),
        };
        if model.trim().is_empty() {
            return Err(no_model(text));
        }
        Ok(Self {
            dialect,
            base: base_url(address, dialect)?,
            model: model.to_owned(),
            is_vendor_address: !rest.contains("://"),
            most_tools: None,
        })
    }
}

const ANTHROPIC: &str = "https://api.anthropic.com/v1";
const OPENAI: &str = "https://api.openai.com/v1";

fn no_model(text: &str) -> EndpointParseError {
    EndpointParseError::NoModel {
        text: text.to_owned(),
    }
}

/// Parses a URL, and removes the path of the format if it is there.
fn base_url(address: &str, dialect: Dialect) -> Result<Url, EndpointParseError> {
    let mut url = parse_url(address)?;
    let path = url.path().trim_end_matches('/');
    let shorter = path.strip_suffix(dialect.endpoint_path());
    if let Some(shorter) = shorter.and_then(|it| it.strip_suffix('/')) {
        let shorter = shorter.to_owned();
        url.set_path(&shorter);
    }
    Ok(url)
}

fn parse_url(address: &str) -> Result<Url, EndpointParseError> {
    let Ok(url) = Url::parse(address) else {
        return Err(no_address(address));
    };
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err(EndpointParseError::Password)
        }
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(no_address(address)),
    }
}

fn no_address(text: &str) -> EndpointParseError {
    EndpointParseError::NoAddress {
        text: text.to_owned(),
    }
}

/// Writes the endpoint as given, without a query, because a query may contain a key.
impl fmt::Display for ModelEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            dialect,
            model,
            is_vendor_address: own,
            ..
        } = self;
        match (dialect, own) {
            (Dialect::Anthropic, true) => write!(f, "anthropic:{model}"),
            (Dialect::OpenAi, true) => write!(f, "openai:{model}"),
            (Dialect::Anthropic, false) => write!(f, "anthropic:{}#{model}", self.address()),
            (Dialect::OpenAi, false) => write!(f, "{}#{model}", self.address()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, url: &str, model: &str, shown: &str) {
        let endpoint: ModelEndpoint = text.parse().unwrap();
        assert_eq!(
            (endpoint.url().as_str(), endpoint.model.as_str()),
            (url, model)
        );
        assert_eq!(endpoint.to_string(), shown);
    }

    #[test]
    fn vendors_and_urls_are_parsed() {
        check(
            "anthropic:claude-x",
            "https://api.anthropic.com/v1/messages",
            "claude-x",
            "anthropic:claude-x",
        );
        check(
            "openai:ft:gpt-x:me",
            "https://api.openai.com/v1/chat/completions",
            "ft:gpt-x:me",
            "openai:ft:gpt-x:me",
        );
        check(
            "http://localhost:11434/v1/#llama:8b",
            "http://localhost:11434/v1/chat/completions",
            "llama:8b",
            "http://localhost:11434/v1#llama:8b",
        );
        check(
            "anthropic:https://proxy.example/v1?key=s3cret#a/b",
            "https://proxy.example/v1/messages?key=s3cret",
            "a/b",
            "anthropic:https://proxy.example/v1#a/b",
        );
    }

    #[track_caller]
    fn check_openai(base: &str, model: &str, url: &str) {
        let shown = format!("{}#{model}", base.split('?').next().unwrap());
        check(&format!("{base}#{model}"), url, model, &shown);
    }

    #[track_caller]
    fn check_chat(base: &str, model: &str) {
        check_openai(base, model, &format!("{base}/chat/completions"));
    }

    #[test]
    fn services_are_reached_at_their_documented_urls() {
        check_chat("http://localhost:11434/v1", "qwen3:8b");
        check_chat("http://localhost:8000/v1", "Qwen/Qwen3-8B");
        check_chat(
            "https://openrouter.ai/api/v1",
            "meta-llama/llama-3.3-70b-instruct:free",
        );
        check_chat(
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-x",
        );
        check_chat(
            "https://bedrock-mantle.us-west-2.api.aws/v1",
            "openai.gpt-oss-120b",
        );
        check_chat("https://me.openai.azure.com/openai/v1", "my-deployment");
        check_openai(
            "https://me.openai.azure.com/openai/deployments/mine?api-version=2024-10-21",
            "mine",
            "https://me.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21",
        );
    }

    fn endpoint(text: &str) -> ModelEndpoint {
        text.parse().unwrap()
    }

    #[test]
    fn a_whole_url_is_equivalent_to_its_base() {
        for (text, base) in [
            (
                "https://x.example/v1/chat/completions/#m",
                "https://x.example/v1#m",
            ),
            (
                "https://x.example/d/chat/completions?api-version=1#m",
                "https://x.example/d?api-version=1#m",
            ),
            (
                "anthropic:https://x.example/v1/messages#m",
                "anthropic:https://x.example/v1#m",
            ),
        ] {
            assert_eq!(endpoint(text), endpoint(base));
        }
    }

    fn error(text: &str) -> EndpointParseError {
        text.parse::<ModelEndpoint>().unwrap_err()
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        assert!(matches!(error("gpt-x"), EndpointParseError::NoModel { .. }));
        assert!(matches!(
            error("anthropic:"),
            EndpointParseError::NoModel { .. }
        ));
        assert!(matches!(
            error("http://localhost/v1"),
            EndpointParseError::NoModel { .. }
        ));
        assert!(matches!(
            error("ftp://host/#m"),
            EndpointParseError::NoAddress { .. }
        ));
        assert!(matches!(
            error("https://me:s3cret@host/v1#m"),
            EndpointParseError::Password
        ));
    }

    #[test]
    fn a_vendors_key_goes_only_to_the_vendor() {
        assert_eq!(
            endpoint("anthropic:x").key_variable(),
            Some("ANTHROPIC_API_KEY")
        );
        assert_eq!(endpoint("openai:x").key_variable(), Some("OPENAI_API_KEY"));
        assert_eq!(
            endpoint("openai:https://api.example/v1#x").key_variable(),
            None
        );
        assert_eq!(endpoint("http://localhost:1/v1#x").key_variable(), None);
    }
}
