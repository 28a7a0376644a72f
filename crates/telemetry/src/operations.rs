//! Operations: programs and intents, counted by the path they took.

use std::time::Duration;

use crate::figures::CallFigures;
use kitbag_domain::Outcome;

/// The way an operation was performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationPath {
    /// A program that the model wrote.
    Code,
    /// An intent that a cached result answered.
    Cache,
    /// An intent that a template answered.
    Template,
    /// An intent for which one tool was found and called.
    Direct,
    /// An intent for which the model was given tools to choose from.
    Candidates,
}

/// An event of an operation other than its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationEvent {
    CodeExecutionSuccess,
    McpDiscoveryFallback,
    McpErrorFallback,
    CacheMiss,
    TemplateCandidate,
    TemplatePromoted,
    TemplateDemoted,
}

/// The operations of one tenant that took the same path.
#[derive(Debug, Clone, Default)]
pub struct OperationFigures {
    pub calls: CallFigures,
    /// The tokens of the program, or of the intent with its parameters.
    pub request_tokens: u64,
    pub answer_tokens: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct CompletedOperation {
    pub path: OperationPath,
    pub outcome: Outcome,
    pub latency: Duration,
    pub request_tokens: usize,
    pub answer_tokens: usize,
}

impl OperationFigures {
    pub(crate) fn add(&mut self, ended: &CompletedOperation) {
        self.calls.add(ended.outcome, ended.latency);
        self.request_tokens += ended.request_tokens as u64;
        self.answer_tokens += ended.answer_tokens as u64;
    }

    /// Returns the answers' share of all tokens.
    pub fn efficiency(&self) -> Option<f64> {
        let all = self.request_tokens + self.answer_tokens;
        (all > 0).then(|| self.answer_tokens as f64 / all as f64)
    }
}

impl OperationPath {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Cache => "cache",
            Self::Template => "template",
            Self::Direct => "direct",
            Self::Candidates => "candidates",
        }
    }
}

impl OperationEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeExecutionSuccess => "code_execution_success",
            Self::McpDiscoveryFallback => "mcp_discovery_fallback",
            Self::McpErrorFallback => "mcp_error_fallback",
            Self::CacheMiss => "cache_miss",
            Self::TemplateCandidate => "template_candidate",
            Self::TemplatePromoted => "template_promoted",
            Self::TemplateDemoted => "template_demoted",
        }
    }
}
