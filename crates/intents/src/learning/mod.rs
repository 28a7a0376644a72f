//! Templates learned from successful programs.
//!
//! A program becomes a candidate, generalized over its literals. After three successes with
//! different parameters it answers requests by itself; after failures, or when one of its tools
//! changes, it is a candidate again. A user's decision overrides any count.
//!
//! - [`run`]: one run of a program, as evidence; `naming`: words and names for learned templates

mod naming;
pub mod run;

use kitbag_domain::{ServerName, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use run::ProgramRun;

use crate::canonical;
use crate::template::text::TemplateText;
use crate::template::{IntentTemplate, ToolUse};

/// A program that is or may become a template, with the evidence for it. It never contains the
/// values of parameters, only digests of sets of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedTemplate {
    id: String,
    state: LearnedState,
    template: IntentTemplate,
    /// The intents in callers' words. While there are none, the template has a generated one.
    heard: Vec<String>,
    uses: Vec<LearnedUse>,
    evidence: RunEvidence,
    learned_at: Timestamp,
    changed_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnedState {
    /// Waits for more successes, or for a user.
    Candidate,
    /// Answers requests, because it has worked.
    Promoted,
    /// Answers requests, because a user approved it. Failures do not change that.
    Approved,
    /// Has answered requests, and must succeed again before it does so once more.
    Demoted,
    /// A user rejected it. It stays recorded, so that it is not learned again.
    Rejected,
}

/// A tool that a program used, as of that run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedUse {
    pub server: ServerName,
    pub tool: String,
    /// The hash of the tool's definition; unknown for an imported template that never ran.
    pub definition: Option<String>,
}

/// The runs since the last promotion or demotion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunEvidence {
    pub successes: u32,
    pub failures: u32,
    pub failures_in_a_row: u32,
    /// Digests of different sets of parameters, each with a success; at most a few.
    pub parameter_sets: Vec<String>,
}

/// A change caused by a run, a changed tool or a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateChange {
    Promoted,
    DemotedByFailures,
    DemotedByChangedTool,
    Approved,
    Rejected,
}

/// A program that worked once or twice may have been lucky.
const SUCCESSES: u32 = 3;
/// With only one set of parameters, the literals may not be parameters at all.
const PARAMETER_SETS: usize = 2;
/// More digests would not prove more.
const MAX_PARAMETER_SETS: usize = 8;
const MAX_INTENTS: usize = 8;
const FAILURES_IN_A_ROW: u32 = 2;
/// The minimum number of runs for a failure rate; one failure in three is too many.
const RUNS_FOR_A_RATE: u32 = 6;
const TOLERATED: u32 = 3;

impl LearnedTemplate {
    /// The most templates and candidates of one tenant. The oldest candidates are dropped.
    pub const MAX: usize = 200;

    /// Returns the id of the template learned from this code.
    pub fn id_for_code(code: &str) -> String {
        /// In hexadecimal digits; 64 bits distinguish the programs of one tenant.
        const DIGITS: usize = 16;
        canonical::digest_of_text(code)[..DIGITS].to_owned()
    }

    /// Makes a candidate from a program that worked for the first time. Returns nothing if the
    /// program failed or cannot be a template.
    pub fn from_first_run(run: &ProgramRun<'_>) -> Option<Self> {
        let id = Self::id_for_code(run.code);
        let template = run.succeeded.then(|| run.template(&id))??;
        let candidate = Self {
            id,
            state: LearnedState::Candidate,
            template,
            heard: Vec::new(),
            uses: run.uses.to_vec(),
            evidence: RunEvidence::default(),
            learned_at: run.at,
            changed_at: run.at,
        };
        // One success never promotes.
        Some(candidate.after_run(run, false).0)
    }

    /// Makes a candidate of a template that a user imports. It waits for approval.
    pub fn from_import(template: IntentTemplate, at: Timestamp) -> Self {
        let intents = template.intents().iter();
        Self {
            id: Self::id_for_code(template.code()),
            state: LearnedState::Candidate,
            heard: intents.map(ToString::to_string).collect(),
            uses: template
                .uses()
                .iter()
                .map(LearnedUse::without_definition)
                .collect(),
            template,
            evidence: RunEvidence::default(),
            learned_at: at,
            changed_at: at,
        }
    }

    /// Adds the evidence of one run. `promotes` is true if learning is enabled.
    #[must_use]
    pub fn after_run(
        mut self,
        run: &ProgramRun<'_>,
        promotes: bool,
    ) -> (Self, Option<StateChange>) {
        if self.state == LearnedState::Rejected {
            return (self, None);
        }
        self.changed_at = run.at;
        let changed = self.note_definitions(run.uses);
        self.evidence.add(run);
        if run.succeeded {
            self.generalize(run);
        }
        let judged = self.judge(promotes);
        (self, judged.or(changed))
    }

    /// Records that a server has changed the definition of a tool.
    #[must_use]
    pub fn after_change(mut self, used: &LearnedUse) -> (Self, Option<StateChange>) {
        let changed = self.note_definitions(std::slice::from_ref(used));
        (self, changed)
    }

    /// Records a user's approval, which outlasts failures and changed tools.
    #[must_use]
    pub fn approve(self, at: Timestamp) -> (Self, StateChange) {
        (
            self.with_decision(LearnedState::Approved, at),
            StateChange::Approved,
        )
    }

    /// Records a user's rejection.
    #[must_use]
    pub fn reject(self, at: Timestamp) -> (Self, StateChange) {
        (
            self.with_decision(LearnedState::Rejected, at),
            StateChange::Rejected,
        )
    }

    fn with_decision(mut self, state: LearnedState, at: Timestamp) -> Self {
        (self.state, self.changed_at) = (state, at);
        self
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn state(&self) -> LearnedState {
        self.state
    }

    pub fn template(&self) -> &IntentTemplate {
        &self.template
    }

    pub fn uses(&self) -> &[LearnedUse] {
        &self.uses
    }

    pub fn evidence(&self) -> &RunEvidence {
        &self.evidence
    }

    pub fn learned_at(&self) -> Timestamp {
        self.learned_at
    }

    pub fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    /// Returns true if it answers requests.
    pub fn is_active(&self) -> bool {
        matches!(self.state, LearnedState::Promoted | LearnedState::Approved)
    }

    /// Records the definitions of tools. A changed one voids all earlier evidence.
    fn note_definitions(&mut self, now: &[LearnedUse]) -> Option<StateChange> {
        let mut changed = false;
        for used in &mut self.uses {
            let Some(now) = now.iter().find(|it| used.is_of(it)) else {
                continue;
            };
            let Some(definition) = &now.definition else {
                continue;
            };
            changed |= used.definition.as_ref().is_some_and(|it| it != definition);
            used.definition = Some(definition.clone());
        }
        if !changed {
            return None;
        }
        self.evidence = RunEvidence::default();
        self.demote(StateChange::DemotedByChangedTool)
    }

    fn demote(&mut self, change: StateChange) -> Option<StateChange> {
        if self.state != LearnedState::Promoted {
            return None;
        }
        self.state = LearnedState::Demoted;
        self.evidence = RunEvidence::default();
        Some(change)
    }

    fn judge(&mut self, promotes: bool) -> Option<StateChange> {
        if self.evidence.fails() {
            return self.demote(StateChange::DemotedByFailures);
        }
        let waits = matches!(self.state, LearnedState::Candidate | LearnedState::Demoted);
        if !(promotes && waits && self.is_proven()) {
            return None;
        }
        self.state = LearnedState::Promoted;
        Some(StateChange::Promoted)
    }

    /// A program that writes needs a user's approval, and one without words would never be
    /// requested.
    fn is_proven(&self) -> bool {
        let sets = self.evidence.parameter_sets.len();
        let varied = sets >= PARAMETER_SETS || self.template.parameters().names().len() == 0;
        let proven = self.evidence.successes >= SUCCESSES && varied;
        proven && self.template.read_only() && !self.heard.is_empty()
    }

    /// Adds the words and the types of a run to the template, unless they would spoil it.
    fn generalize(&mut self, run: &ProgramRun<'_>) {
        let heard = run
            .words
            .and_then(|words| naming::intent(words, run.literals));
        let mut words = self.heard.clone();
        if let Some(heard) = heard
            && words.len() < MAX_INTENTS
            && !words.contains(&heard)
        {
            words.push(heard);
        }
        let mut text = TemplateText::from(self.template.clone());
        if !words.is_empty() {
            text.intents.clone_from(&words);
        }
        text.read_only &= run.read_only;
        for (name, value) in run.literals {
            if let Some(schema) = text.parameters.get_mut(name) {
                run::widen(schema, value);
            }
        }
        if let Ok(template) = IntentTemplate::try_from(text) {
            (self.template, self.heard) = (template, words);
        }
    }
}

impl RunEvidence {
    fn add(&mut self, run: &ProgramRun<'_>) {
        if !run.succeeded {
            self.failures += 1;
            self.failures_in_a_row += 1;
            return;
        }
        self.successes += 1;
        self.failures_in_a_row = 0;
        let set: Value = run.literals.iter().cloned().collect();
        let digest = canonical::digest(&set);
        if self.parameter_sets.len() < MAX_PARAMETER_SETS && !self.parameter_sets.contains(&digest)
        {
            self.parameter_sets.push(digest);
        }
    }

    fn fails(&self) -> bool {
        let runs = self.successes + self.failures;
        let often = runs >= RUNS_FOR_A_RATE && self.failures * TOLERATED > runs;
        often || self.failures_in_a_row >= FAILURES_IN_A_ROW
    }
}

impl LearnedUse {
    fn without_definition(used: &ToolUse) -> Self {
        Self {
            server: used.alias.clone(),
            tool: used.tool.clone(),
            definition: None,
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.server, &self.tool) == (&other.server, &other.tool)
    }
}

impl LearnedState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Promoted => "promoted",
            Self::Approved => "approved",
            Self::Demoted => "demoted",
            Self::Rejected => "rejected",
        }
    }
}

/// Returns the ids that a tenant must drop to stay within [`LearnedTemplate::MAX`]: among the
/// inactive templates, the least recently changed.
pub fn surplus(learned: &[LearnedTemplate]) -> Vec<&str> {
    let over = learned.len().saturating_sub(LearnedTemplate::MAX);
    let mut idle: Vec<_> = learned.iter().filter(|it| !it.is_active()).collect();
    idle.sort_by_key(|it| it.changed_at);
    idle.iter().take(over).map(|it| it.id.as_str()).collect()
}

#[cfg(test)]
mod tests;
