//! Decides for each entry of a server's lists whether callers get it.

use std::collections::{BTreeMap, HashMap};

use kitbag_domain::{DefinitionKind, UnmaskedHash};
use kitbag_wire::{Raw, RawObject};

use crate::canonical::{DefinitionHash, ListedDefinition};
use crate::drift::{DriftedDefinition, UnapprovedReason};
use crate::file::LockedServer;

/// The definitions of a server, verbatim.
#[derive(Debug, Clone, Copy)]
pub struct ListedOffer<'a> {
    pub tools: &'a [Raw],
    pub prompts: &'a [Raw],
    pub resource_templates: &'a [Raw],
    pub skills: &'a [Raw],
    pub resources: &'a [Raw],
    /// The hashes of definitions before a secret was masked in them.
    pub unmasked: &'a [UnmaskedHash],
}

/// The reasons to withhold definitions of one server. The default withholds nothing.
#[derive(Debug, Default)]
pub struct Judgement {
    /// One entry per definition, in list order; `None` for one that passes.
    reasons: BTreeMap<DefinitionKind, Vec<Option<UnapprovedReason>>>,
    pub drifted: Vec<DriftedDefinition>,
}

impl<'a> ListedOffer<'a> {
    /// Returns every definition in its form for the lock file.
    pub fn definitions(&self) -> Vec<ListedDefinition> {
        let kinds = DefinitionKind::ALL.into_iter();
        kinds.flat_map(|kind| self.read(kind)).flatten().collect()
    }

    pub fn list(&self, kind: DefinitionKind) -> &'a [Raw] {
        match kind {
            DefinitionKind::Tool => self.tools,
            DefinitionKind::Prompt => self.prompts,
            DefinitionKind::ResourceTemplate => self.resource_templates,
            DefinitionKind::Skill => self.skills,
            DefinitionKind::Resource => self.resources,
        }
    }

    fn read(&self, kind: DefinitionKind) -> Vec<Option<ListedDefinition>> {
        let read_definitions = self.list(kind).iter().map(|it| {
            let mut listed = ListedDefinition::parse(kind, it)?;
            listed.unmasked = self.hash_before_masking(kind, &listed.name);
            Some(listed)
        });
        read_definitions.collect()
    }

    fn hash_before_masking(&self, kind: DefinitionKind, name: &str) -> Option<DefinitionHash> {
        let mut masked = self.unmasked.iter();
        let found = masked.find(|it| it.kind == kind && it.name == name)?;
        found.hash.parse().ok()
    }
}

impl Judgement {
    /// Withholds everything of a locked kind that was not approved.
    pub fn against_lock(locked: &LockedServer, offer: ListedOffer<'_>) -> Self {
        // Lists that are not locked may be long, and are not read.
        let kinds = DefinitionKind::ALL.into_iter();
        let lists: Vec<_> = kinds
            .filter(|kind| locked.locks(*kind))
            .map(|kind| (kind, offer.read(kind)))
            .collect();
        let listed = lists.iter().flat_map(|(_, list)| list.iter().flatten());
        let drifted = locked.detect_drift(&listed.cloned().collect::<Vec<_>>());
        let reasons: HashMap<(DefinitionKind, &str), UnapprovedReason> = drifted
            .iter()
            .filter_map(|it| {
                Some((
                    (it.kind, it.name.as_str()),
                    UnapprovedReason::for_drift(&it.drift)?,
                ))
            })
            .collect();
        let judge = |(kind, list): &(_, Vec<_>)| (*kind, judge_definitions(locked, &reasons, list));
        Self {
            reasons: lists.iter().map(judge).collect(),
            drifted,
        }
    }

    /// Withholds everything.
    pub fn of_nothing_approved(reason: &UnapprovedReason, offer: ListedOffer<'_>) -> Self {
        let reasons_of = |kind| vec![Some(reason.clone()); offer.list(kind).len()];
        let kinds = DefinitionKind::ALL.into_iter();
        Self {
            reasons: kinds.map(|kind| (kind, reasons_of(kind))).collect(),
            drifted: Vec::new(),
        }
    }

    /// Withholds nothing, but keeps the drift.
    pub fn only_reported(self) -> Self {
        Self {
            reasons: BTreeMap::new(),
            ..self
        }
    }

    /// Returns the definitions of one kind, each with the reason to withhold it.
    pub fn judged<'a>(
        &self,
        kind: DefinitionKind,
        offer: ListedOffer<'a>,
    ) -> impl Iterator<Item = (&'a Raw, Option<&UnapprovedReason>)> {
        let reasons = self.reasons.get(&kind);
        let definitions = offer.list(kind).iter().enumerate();
        definitions.map(move |(at, it)| (it, reasons.and_then(|them| them.get(at)?.as_ref())))
    }

    /// Returns the definitions of one kind that callers get.
    pub fn approved<'a>(
        &self,
        kind: DefinitionKind,
        offer: ListedOffer<'a>,
    ) -> impl Iterator<Item = &'a Raw> {
        let judged = self.judged(kind, offer);
        judged.filter_map(|(definition, reason)| reason.is_none().then_some(definition))
    }

    /// Returns the definitions of one kind that are withheld.
    pub fn withheld<'a>(
        &self,
        kind: DefinitionKind,
        offer: ListedOffer<'a>,
    ) -> impl Iterator<Item = (&'a Raw, &UnapprovedReason)> {
        let judged = self.judged(kind, offer);
        judged.filter_map(|(definition, reason)| Some((definition, reason?)))
    }

    /// Returns the reason to withhold a definition of the judged lists.
    pub fn reason_for(
        &self,
        offer: ListedOffer<'_>,
        kind: DefinitionKind,
        name: &str,
    ) -> Option<UnapprovedReason> {
        let mut named = self
            .judged(kind, offer)
            .filter(|(definition, _)| has_name(definition, kind, name));
        match named.next() {
            Some((_, reason)) => reason.cloned(),
            None => Some(UnapprovedReason::Unlisted),
        }
    }
}

fn has_name(definition: &Raw, kind: DefinitionKind, name: &str) -> bool {
    let own = RawObject::peek_member(definition, kind.key());
    own.and_then(|own| serde_json::from_str::<String>(own.get()).ok())
        .is_some_and(|own| own == name)
}

fn judge_definitions(
    locked: &LockedServer,
    reasons: &HashMap<(DefinitionKind, &str), UnapprovedReason>,
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
