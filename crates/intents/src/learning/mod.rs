//! Templates that come from programs which worked.
//!
//! A program becomes a candidate, generalised over its literals. After three successes with
//! different parameters it answers requests by itself; after failures, or when a tool that it uses
//! changes, it is a candidate again. A person's word counts for more than any count.
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

/// A program that is or may become a template, with the evidence for it. Values of parameters are
/// never in it, only digests of sets of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedTemplate {
    id: String,
    state: LearnedState,
    template: IntentTemplate,
    /// The intents that callers said, in words; the template has one of its own until there are any.
    heard: Vec<String>,
    uses: Vec<LearnedUse>,
    evidence: RunEvidence,
    learned_at: Timestamp,
    changed_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnedState {
    /// Waits for more successes, or for a person.
    Candidate,
    /// Answers requests, because it has worked.
    Promoted,
    /// Answers requests, because a person said so. Failures do not change that.
    Approved,
    /// Has answered requests, and must work again before it does so once more.
    Demoted,
    /// A person does not want it. It stays known, so that it is not learned again.
    Rejected,
}

/// A tool that a program used, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedUse {
    pub server: ServerName,
    pub tool: String,
    /// The hash of the tool's definition; unknown for a template that was imported and never ran.
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

/// A change that a run, a changed tool or a person has made.
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
/// With one set of parameters only, the literals may not be parameters at all.
const PARAMETER_SETS: usize = 2;
/// More digests would prove nothing more.
const MOST_PARAMETER_SETS: usize = 8;
const MOST_HEARD: usize = 8;
const FAILURES_IN_A_ROW: u32 = 2;
/// A rate says something from this many runs on; one failure in three is too many.
const RUNS_FOR_A_RATE: u32 = 6;
const TOLERATED: u32 = 3;

impl LearnedTemplate {
    /// Templates and candidates that a tenant may have. The oldest candidates give way.
    pub const MOST: usize = 200;

    /// Returns the id of what is learned from this code.
    pub fn id_of(code: &str) -> String {
        /// In hexadecimal digits; 64 bits tell the programs of one tenant apart.
        const DIGITS: usize = 16;
        canonical::digest_of_text(code)[..DIGITS].to_owned()
    }

    /// Makes a candidate of a program that worked for the first time. Returns nothing if the program
    /// failed or cannot be a template.
    pub fn begin(run: &ProgramRun<'_>) -> Option<Self> {
        let id = Self::id_of(run.code);
        let template = run.succeeded.then(|| run.template(&id))??;
        let begun = Self {
            id,
            state: LearnedState::Candidate,
            template,
            heard: Vec::new(),
            uses: run.uses.to_vec(),
            evidence: RunEvidence::default(),
            learned_at: run.at,
            changed_at: run.at,
        };
        // One success does not promote anything.
        Some(begun.after_run(run, false).0)
    }

    /// Takes over a template that a person brings along. It waits for approval.
    pub fn imported(template: IntentTemplate, at: Timestamp) -> Self {
        let intents = template.intents().iter();
        Self {
            id: Self::id_of(template.code()),
            state: LearnedState::Candidate,
            heard: intents.map(ToString::to_string).collect(),
            uses: template.uses().iter().map(LearnedUse::unseen).collect(),
            template,
            evidence: RunEvidence::default(),
            learned_at: at,
            changed_at: at,
        }
    }

    /// Adds the evidence of one run. `promotes` is true if templates may be learned.
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
            self.generalise(run);
        }
        let judged = self.judge(promotes);
        (self, judged.or(changed))
    }

    /// Takes note that a server says something else of a tool now.
    #[must_use]
    pub fn after_change(mut self, used: &LearnedUse) -> (Self, Option<StateChange>) {
        let changed = self.note_definitions(std::slice::from_ref(used));
        (self, changed)
    }

    /// Takes a person's approval, which outlasts failures and changed tools.
    #[must_use]
    pub fn approved(self, at: Timestamp) -> (Self, StateChange) {
        (
            self.decided(LearnedState::Approved, at),
            StateChange::Approved,
        )
    }

    /// Takes a person's refusal.
    #[must_use]
    pub fn rejected(self, at: Timestamp) -> (Self, StateChange) {
        (
            self.decided(LearnedState::Rejected, at),
            StateChange::Rejected,
        )
    }

    fn decided(mut self, state: LearnedState, at: Timestamp) -> Self {
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

    /// Remembers the definitions of tools. A changed one makes everything before it worthless.
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

    /// A program that writes needs a person, and one without words would never be asked for.
    fn is_proven(&self) -> bool {
        let sets = self.evidence.parameter_sets.len();
        let varied = sets >= PARAMETER_SETS || self.template.parameters().names().len() == 0;
        let proven = self.evidence.successes >= SUCCESSES && varied;
        proven && self.template.read_only() && !self.heard.is_empty()
    }

    /// Takes the words and the types of a run into the template. What would spoil it is left out.
    fn generalise(&mut self, run: &ProgramRun<'_>) {
        let heard = run
            .words
            .and_then(|words| naming::intent(words, run.literals));
        let mut words = self.heard.clone();
        if let Some(heard) = heard
            && words.len() < MOST_HEARD
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
        if self.parameter_sets.len() < MOST_PARAMETER_SETS && !self.parameter_sets.contains(&digest)
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
    fn unseen(used: &ToolUse) -> Self {
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

/// Returns the ids of what a tenant must give up to keep to [`LearnedTemplate::MOST`]: of those that
/// answer nothing, the ones without change for longest.
pub fn surplus(learned: &[LearnedTemplate]) -> Vec<&str> {
    let over = learned.len().saturating_sub(LearnedTemplate::MOST);
    let mut idle: Vec<_> = learned.iter().filter(|it| !it.is_active()).collect();
    idle.sort_by_key(|it| it.changed_at);
    idle.iter().take(over).map(|it| it.id.as_str()).collect()
}

#[cfg(test)]
mod tests;
