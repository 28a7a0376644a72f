//! Operations: programs and requests in words, counted by the way in which each was carried out.

use std::time::Duration;

use crate::figures::CallFigures;
use kitbag_domain::Outcome;

/// The way in which an operation was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationPath {
    /// A program that the model wrote.
    Code,
    /// A request in words that a kept result answered.
    Cache,
    /// A request that a template answered.
    Template,
    /// A request for which one tool was found and called.
    Direct,
    /// A request for which the model was given tools to choose from.
    Candidates,
}

/// Something that happens beside the end of an operation.
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

/// The operations of one tenant that took the same way.
#[derive(Debug, Clone, Default)]
pub struct OperationFigures {
    /// The outcomes and the times.
    pub ended: CallFigures,
    /// The tokens of what the model wrote: the program, or the request with its parameters.
    pub asked: u64,
    /// The tokens of what the model was answered.
    pub answered: u64,
}

/// One operation that has come to an end.
#[derive(Debug, Clone, Copy)]
pub struct EndedOperation {
    pub path: OperationPath,
    pub outcome: Outcome,
    pub latency: Duration,
    pub asked: usize,
    pub answered: usize,
}

impl OperationFigures {
    pub(crate) fn add(&mut self, ended: &EndedOperation) {
        self.ended.add(ended.outcome, ended.latency);
        self.asked += ended.asked as u64;
        self.answered += ended.answered as u64;
    }

    /// Returns the share of the answers in all tokens of the operations.
    pub fn efficiency(&self) -> Option<f64> {
        let all = self.asked + self.answered;
        (all > 0).then(|| self.answered as f64 / all as f64)
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
