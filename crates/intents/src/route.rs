//! The steps of a request in words, and the step after one without a result.
//!
//! A program that may have changed something is never followed by a step that could repeat the
//! change.

use serde::{Deserialize, Serialize};

/// The settings that decide the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteFlags {
    pub execution_mode: ExecutionMode,
    pub enable_code_generation: bool,
    pub enable_mcp_fallback: bool,
    pub enable_capability_discovery: bool,
    pub enable_template_learning: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// Programs first, then plain calls.
    #[default]
    Hybrid,
    /// Plain calls only.
    McpOnly,
    /// Programs only.
    CodeExecution,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteStep {
    /// A cached result.
    Cache,
    /// A program.
    Template,
    /// A call of the one tool that was found.
    Direct,
    /// The tools that may fit, for the caller to choose from.
    Candidates,
}

/// The end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    Done,
    /// There was nothing to try: no cached result, no template, no tool.
    Nothing,
    Failed {
        /// False only if it is certain that nothing was changed.
        may_have_written: bool,
    },
}

/// The decision after a step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteDecision {
    pub next: RouteNext,
    pub counter: Option<RouteCounter>,
    pub event: Option<RouteEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteNext {
    Try(RouteStep),
    /// The step's result is the answer.
    Answer,
    /// The step's failure is the answer.
    Fail,
    /// Nothing is known for the request, and the settings allow no further step.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteCounter {
    CodeExecutionSuccess,
    McpDiscoveryFallback,
    McpErrorFallback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteEvent {
    FallingBackToDiscovery,
    CodeExecutionFailed,
}

/// The first step of every request. Cached results are allowed in every mode: they cost nothing.
pub const FIRST: RouteStep = RouteStep::Cache;

/// Decides the first step of a request that explicitly asks for discovery.
pub fn discovery_first(flags: &RouteFlags) -> RouteDecision {
    unknown_intent(discovery(flags))
}

/// Decides the next step after this one ended.
pub fn after(flags: &RouteFlags, step: RouteStep, end: StepEnd) -> RouteDecision {
    match (step, end) {
        (RouteStep::Template, end) => after_template(flags, end),
        (_, StepEnd::Done) => without_event(RouteNext::Answer),
        (_, StepEnd::Failed { .. }) => without_event(RouteNext::Fail),
        (RouteStep::Cache, StepEnd::Nothing) => without_event(after_cache(flags)),
        (RouteStep::Direct, StepEnd::Nothing) => without_event(candidates(flags)),
        (RouteStep::Candidates, StepEnd::Nothing) => without_event(RouteNext::Unknown),
    }
}

fn after_cache(flags: &RouteFlags) -> RouteNext {
    if flags.runs_programs() {
        RouteNext::Try(RouteStep::Template)
    } else {
        discovery(flags)
    }
}

fn after_template(flags: &RouteFlags, end: StepEnd) -> RouteDecision {
    match end {
        StepEnd::Done => RouteDecision {
            next: RouteNext::Answer,
            counter: Some(RouteCounter::CodeExecutionSuccess),
            event: None,
        },
        StepEnd::Nothing => unknown_intent(discovery(flags)),
        StepEnd::Failed { may_have_written } => {
            let again = flags.calls_tools() && flags.enable_mcp_fallback && !may_have_written;
            RouteDecision {
                next: if again {
                    RouteNext::Try(RouteStep::Direct)
                } else {
                    RouteNext::Fail
                },
                counter: again.then_some(RouteCounter::McpErrorFallback),
                event: Some(RouteEvent::CodeExecutionFailed),
            }
        }
    }
}

fn unknown_intent(next: RouteNext) -> RouteDecision {
    let falls_back = matches!(next, RouteNext::Try(_));
    RouteDecision {
        next,
        counter: falls_back.then_some(RouteCounter::McpDiscoveryFallback),
        event: falls_back.then_some(RouteEvent::FallingBackToDiscovery),
    }
}

/// A found tool is called if the mode allows it, and listed otherwise.
fn discovery(flags: &RouteFlags) -> RouteNext {
    if flags.enable_capability_discovery && flags.calls_tools() {
        RouteNext::Try(RouteStep::Direct)
    } else {
        candidates(flags)
    }
}

fn candidates(flags: &RouteFlags) -> RouteNext {
    if flags.enable_capability_discovery {
        RouteNext::Try(RouteStep::Candidates)
    } else {
        RouteNext::Unknown
    }
}

fn without_event(next: RouteNext) -> RouteDecision {
    RouteDecision {
        next,
        counter: None,
        event: None,
    }
}

impl Default for RouteFlags {
    fn default() -> Self {
        Self {
            execution_mode: ExecutionMode::Hybrid,
            enable_code_generation: true,
            enable_mcp_fallback: true,
            enable_capability_discovery: true,
            enable_template_learning: false,
        }
    }
}

impl RouteFlags {
    pub fn runs_programs(&self) -> bool {
        self.enable_code_generation && self.execution_mode != ExecutionMode::McpOnly
    }

    fn calls_tools(&self) -> bool {
        self.execution_mode != ExecutionMode::CodeExecution
    }
}

impl ExecutionMode {
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::McpOnly, Self::CodeExecution];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::McpOnly => "mcp_only",
            Self::CodeExecution => "code_execution",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

impl RouteStep {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Template => "template",
            Self::Direct => "direct",
            Self::Candidates => "candidates",
        }
    }
}

impl RouteCounter {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeExecutionSuccess => "code_execution_success",
            Self::McpDiscoveryFallback => "mcp_discovery_fallback",
            Self::McpErrorFallback => "mcp_error_fallback",
        }
    }
}

impl RouteEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FallingBackToDiscovery => "falling_back_to_discovery",
            Self::CodeExecutionFailed => "code_execution_failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: StepEnd = StepEnd::Failed {
        may_have_written: false,
    };
    const WROTE: StepEnd = StepEnd::Failed {
        may_have_written: true,
    };

    fn in_mode(execution_mode: ExecutionMode) -> RouteFlags {
        RouteFlags {
            execution_mode,
            ..RouteFlags::default()
        }
    }

    /// Follows a request through steps with these ends, and describes the route.
    fn follow(flags: RouteFlags, ends: &[StepEnd]) -> String {
        let (mut step, mut steps) = (FIRST, vec![FIRST.as_str().to_owned()]);
        for end in ends {
            let decision = after(&flags, step, *end);
            steps.extend(decision.event.map(|it| format!("!{}", it.as_str())));
            steps.extend(decision.counter.map(|it| format!("+{}", it.as_str())));
            match decision.next {
                RouteNext::Try(next) => {
                    step = next;
                    steps.push(next.as_str().to_owned());
                }
                end => steps.push(format!("{end:?}")),
            }
        }
        steps.join(" ")
    }

    #[test]
    fn every_request_takes_the_steps_that_its_settings_allow() {
        let hybrid = RouteFlags::default();
        let (plain, code) = (
            in_mode(ExecutionMode::McpOnly),
            in_mode(ExecutionMode::CodeExecution),
        );
        let no_code = RouteFlags {
            enable_code_generation: false,
            ..hybrid
        };
        let no_fallback = RouteFlags {
            enable_mcp_fallback: false,
            ..hybrid
        };
        let no_discovery = RouteFlags {
            enable_capability_discovery: false,
            ..hybrid
        };
        let (done, nothing) = (StepEnd::Done, StepEnd::Nothing);
        for (flags, ends, expected) in [
            (hybrid, &[done][..], "cache Answer"),
            (
                hybrid,
                &[nothing, done],
                "cache template +code_execution_success Answer",
            ),
            (
                hybrid,
                &[nothing, nothing, done],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback direct Answer",
            ),
            (
                hybrid,
                &[nothing, nothing, nothing, done],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback direct candidates Answer",
            ),
            (
                hybrid,
                &[nothing, nothing, nothing, nothing],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback direct candidates Unknown",
            ),
            (
                hybrid,
                &[nothing, nothing, FAILED],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback direct Fail",
            ),
            (
                hybrid,
                &[nothing, FAILED, done],
                "cache template !code_execution_failed +mcp_error_fallback direct Answer",
            ),
            (
                hybrid,
                &[nothing, FAILED, nothing],
                "cache template !code_execution_failed +mcp_error_fallback direct candidates",
            ),
            (
                hybrid,
                &[nothing, WROTE],
                "cache template !code_execution_failed Fail",
            ),
            (
                no_fallback,
                &[nothing, FAILED],
                "cache template !code_execution_failed Fail",
            ),
            (
                no_fallback,
                &[nothing, nothing],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback direct",
            ),
            (no_discovery, &[nothing, nothing], "cache template Unknown"),
            (
                no_discovery,
                &[nothing, FAILED, nothing],
                "cache template !code_execution_failed +mcp_error_fallback direct Unknown",
            ),
            (no_code, &[nothing, nothing], "cache direct candidates"),
            (plain, &[nothing, nothing], "cache direct candidates"),
            (
                code,
                &[nothing, nothing],
                "cache template !falling_back_to_discovery +mcp_discovery_fallback candidates",
            ),
            (
                code,
                &[nothing, FAILED],
                "cache template !code_execution_failed Fail",
            ),
        ] {
            assert_eq!(follow(flags, ends), expected, "{flags:?}");
        }
    }
}
