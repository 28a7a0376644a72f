//! Decides for each entry of a server's lists whether callers get it.

use std::collections::HashMap;

use kitbag_domain::{Capability, Kind, UnmaskedHash};
use kitbag_wire::{Raw, RawObject};

use crate::canonical::{DefinitionHash, ListedDefinition};
use crate::drift::{DriftedDefinition, UnapprovedReason};
use crate::file::LockedServer;

/// The tools and prompts of a server, verbatim.
#[derive(Debug, Clone, Copy)]
pub struct ListedOffer<'a> {
    pub tools: &'a [Raw],
    pub prompts: &'a [Raw],
    /// The hashes of definitions before a secret was masked in them.
    pub unmasked: &'a [UnmaskedHash],
}

/// The reasons to withhold tools and prompts of one server.
#[derive(Debug, Default)]
pub struct Judgement {
    /// One entry per tool, in list order; `None` for a tool that passes.
    pub tools: Vec<Option<UnapprovedReason>>,
    pub prompts: Vec<Option<UnapprovedReason>>,
    pub drifted: Vec<DriftedDefinition>,
}

impl ListedOffer<'_> {
    /// Returns every tool and prompt in its form for the lock file.
    pub fn definitions(&self) -> Vec<ListedDefinition> {
        let tools = self.read(Kind::Tool);
        let prompts = self.read(Kind::Prompt);
        tools.into_iter().chain(prompts).flatten().collect()
    }

    fn read(self, kind: Kind) -> Vec<Option<ListedDefinition>> {
        let definitions = match kind {
            Kind::Prompt => self.prompts,
            Kind::Tool | Kind::Resource => self.tools,
        };
        let read_definitions = definitions.iter().map(|it| {
            let mut listed = ListedDefinition::parse(kind, it)?;
            listed.unmasked = self.hash_before_masking(kind, &listed.name);
            Some(listed)
        });
        read_definitions.collect()
    }

    fn hash_before_masking(self, kind: Kind, name: &str) -> Option<DefinitionHash> {
        let mut masked = self.unmasked.iter();
        let found = masked.find(|it| it.kind == kind && it.name == name)?;
        found.hash.parse().ok()
    }
}

impl Judgement {
    /// Withholds everything that was not approved.
    pub fn against_lock(locked: &LockedServer, offer: ListedOffer<'_>) -> Self {
        let tools = offer.read(Kind::Tool);
        let prompts = offer.read(Kind::Prompt);
        let listed: Vec<_> = tools.iter().chain(&prompts).flatten().cloned().collect();
        let drifted = locked.detect_drift(&listed);
        let reasons: HashMap<(Kind, &str), UnapprovedReason> = drifted
            .iter()
            .filter_map(|it| {
                Some((
                    (it.kind, it.name.as_str()),
                    UnapprovedReason::for_drift(&it.drift)?,
                ))
            })
            .collect();
        Self {
            tools: judge_definitions(locked, &reasons, &tools),
            prompts: judge_definitions(locked, &reasons, &prompts),
            drifted,
        }
    }

    /// Returns the same answer for every entry.
    pub fn same_for_all(reason: Option<UnapprovedReason>, offer: ListedOffer<'_>) -> Self {
        Self {
            tools: vec![reason.clone(); offer.tools.len()],
            prompts: vec![reason; offer.prompts.len()],
            drifted: Vec::new(),
        }
    }

    /// Returns the reason to withhold a tool or prompt of the judged lists.
    pub fn reason_for(
        &self,
        offer: ListedOffer<'_>,
        capability: &Capability,
    ) -> Option<UnapprovedReason> {
        let (definitions, reasons) = match capability.kind {
            Kind::Tool => (offer.tools, &self.tools),
            Kind::Prompt => (offer.prompts, &self.prompts),
            Kind::Resource => return None,
        };
        let mut named = definitions
            .iter()
            .zip(reasons)
            .filter(|(definition, _)| has_name(definition, &capability.name));
        match named.next() {
            Some((_, reason)) => reason.clone(),
            None => Some(UnapprovedReason::Unlisted),
        }
    }
}

fn has_name(definition: &Raw, name: &str) -> bool {
    let own = RawObject::peek_member(definition, "name");
    own.and_then(|own| serde_json::from_str::<String>(own.get()).ok())
        .is_some_and(|own| own == name)
}

fn judge_definitions(
    locked: &LockedServer,
    reasons: &HashMap<(Kind, &str), UnapprovedReason>,
    listed: &[Option<ListedDefinition>],
) -> Vec<Option<UnapprovedReason>> {
    let listed = listed.iter().map(|it| {
        let it = it.as_ref().filter(|it| !locked.is_approved(it))?;
        // The second of two tools with one name is a different definition than the approved one.
        let reason = reasons.get(&(it.kind, it.name.as_str()));
        Some(reason.cloned().unwrap_or(UnapprovedReason::Changed))
    });
    listed.collect()
}
