//! The tools of a request, ours apart from others.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use kitbag_clients::NAME;
use kitbag_config::ForeignTools;
use kitbag_domain::Caller;
use kitbag_llm::trim::{Dialogue, ListedTool, ModelApi, ModelRequest, strip_client_prefix};
use kitbag_relevance::MAX_TOP_K;

use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use crate::surface::tools::AlwaysOnTool;

pub(crate) struct SortedTools<'r> {
    pub(super) request: &'r ModelRequest<'r>,
    sides: Vec<ToolSide<'r>>,
    /// Our names, by the names that the client wrote.
    by_written: HashMap<&'r str, &'r str>,
    own: HashSet<&'r str>,
    foreign: HashSet<&'r str>,
}

/// A tool, by the part of a request that it may be trimmed with.
#[derive(Debug, Clone, Copy)]
enum ToolSide<'r> {
    /// Our tool, under our name.
    Own(&'r str),
    /// Our tool that is held back, which no model gets.
    Held,
    /// A function of the client or of another server.
    Foreign(&'r str),
    /// A tool of the vendor, or one that costs the model nothing before it is searched for.
    Fixed,
}

/// The most tools of each side that a request may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolRooms {
    pub(super) own: usize,
    pub(super) foreign: usize,
}

impl<'r> SortedTools<'r> {
    /// A tool that is hidden from the caller is not ours for that caller: the answer must not show
    /// that the tool exists.
    pub(super) fn of(
        gateway: &Gateway,
        catalog: &Catalog,
        caller: &Caller,
        request: &'r ModelRequest<'r>,
    ) -> Self {
        let mut sorted = Self {
            request,
            sides: Vec::with_capacity(request.tools.len()),
            by_written: HashMap::new(),
            own: HashSet::new(),
            foreign: HashSet::new(),
        };
        for tool in &request.tools {
            let is_held = |name: &str| is_held(gateway, catalog, caller, name);
            sorted.add(tool, is_held, |name| {
                is_ours(gateway, catalog, caller, name)
            });
        }
        sorted
    }

    fn add(
        &mut self,
        tool: &'r ListedTool<'r>,
        is_held: impl Fn(&str) -> bool,
        is_ours: impl Fn(&str) -> bool,
    ) {
        let function = tool.function.as_deref();
        if function.is_some_and(|written| strip_client_prefix(written, NAME, is_held).is_some()) {
            self.sides.push(ToolSide::Held);
            return;
        }
        let Some(written) = tool.function.as_deref().filter(|_| !tool.is_deferred) else {
            self.sides.push(ToolSide::Fixed);
            return;
        };
        match strip_client_prefix(written, NAME, is_ours) {
            Some(own) => {
                self.by_written.insert(written, own);
                self.own.insert(own);
                self.sides.push(ToolSide::Own(own));
            }
            None => {
                self.foreign.insert(written);
                self.sides.push(ToolSide::Foreign(written));
            }
        }
    }

    pub(super) fn dialogue(&self) -> &'r Dialogue<'r> {
        &self.request.dialogue
    }

    pub(super) fn own_count(&self) -> usize {
        self.own.len()
    }

    pub(super) fn foreign_count(&self) -> usize {
        self.foreign.len()
    }

    /// Returns our name, if the request offers that tool.
    pub(super) fn own(&self, name: &str) -> Option<&'r str> {
        self.own.get(name).copied()
    }

    pub(super) fn all_own(&self) -> impl Iterator<Item = &'r str> {
        self.sides.iter().filter_map(|side| match side {
            ToolSide::Own(name) => Some(*name),
            ToolSide::Held | ToolSide::Foreign(_) | ToolSide::Fixed => None,
        })
    }

    /// Returns our name of a tool that the client writes so.
    pub(super) fn meant(&self, written: &str) -> Option<&'r str> {
        self.by_written.get(written).copied()
    }

    /// Returns every name by which a text may mean one of our tools, with our name.
    pub(super) fn spellings(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let written = self
            .by_written
            .iter()
            .map(|(written, own)| (*written, *own));
        written.chain(self.own.iter().map(|own| (*own, *own)))
    }

    pub(super) fn foreign(&self, name: &str) -> Option<&'r str> {
        self.foreign.get(name).copied()
    }

    pub(super) fn foreign_definitions(&self) -> Vec<&'r ListedTool<'r>> {
        let tools = self.request.tools.iter().zip(&self.sides);
        tools
            .filter_map(|(tool, side)| matches!(side, ToolSide::Foreign(_)).then_some(tool))
            .collect()
    }

    /// Says for each tool whether it stays.
    pub(super) fn decide(
        &self,
        keeps_own: impl Fn(&str) -> bool,
        keeps_foreign: impl Fn(&str) -> bool,
    ) -> Vec<bool> {
        self.sides
            .iter()
            .map(|side| match side {
                ToolSide::Own(name) => keeps_own(name),
                ToolSide::Foreign(name) => keeps_foreign(name),
                ToolSide::Fixed => true,
                ToolSide::Held => false,
            })
            .collect()
    }

    /// Everything but what is held back.
    pub(super) fn passing(&self) -> Vec<bool> {
        self.decide(|_| true, |_| true)
    }

    /// Our tools that stay.
    pub(super) fn kept_own(&self, is_kept: &[bool]) -> impl Iterator<Item = &'r str> {
        let sides = self.sides.iter().zip(is_kept);
        sides.filter_map(|(side, is_kept)| match side {
            ToolSide::Own(name) if *is_kept => Some(*name),
            _ => None,
        })
    }

    /// Returns how many of our tools the request has, and how many of them stay.
    pub(super) fn count_own(&self, is_kept: &[bool]) -> (u64, u64) {
        let offered = self.all_own().count() as u64;
        (offered, self.kept_own(is_kept).count() as u64)
    }
}

fn is_ours(gateway: &Gateway, catalog: &Catalog, caller: &Caller, name: &str) -> bool {
    let is_visible = catalog
        .tool(name)
        .is_some_and(|entry| gateway.policy.visible(caller, &entry.capability));
    is_visible || AlwaysOnTool::from_name(name).is_some()
}

fn is_held(gateway: &Gateway, catalog: &Catalog, caller: &Caller, name: &str) -> bool {
    let held = catalog.held.tool(name);
    held.is_some_and(|capability| gateway.policy.visible(caller, capability))
}

impl ToolRooms {
    /// Returns nothing if the tools that are not ours are too many for the vendor by themselves.
    /// Then the vendor is to say so, and not a request that lacks tools for no use.
    pub(super) fn of(
        foreign_tools: ForeignTools,
        api: ModelApi,
        tools: &SortedTools<'_>,
    ) -> Option<Self> {
        let foreign = match foreign_tools {
            ForeignTools::Keep => usize::MAX,
            ForeignTools::Trim => MAX_TOP_K,
        };
        let most = api.vendor().max_tools().unwrap_or(usize::MAX);
        let sides = tools.sides.iter();
        let fixed = sides.filter(|it| matches!(it, ToolSide::Fixed)).count();
        let others = fixed + tools.foreign_count().min(foreign);
        if others > most {
            warn_once(others, most);
            return None;
        }
        Some(Self {
            own: MAX_TOP_K.min(most - others),
            foreign,
        })
    }
}

fn warn_once(others: usize, most: usize) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            others,
            most,
            "a request to a model has more tools than the vendor takes, and they are not Kitbag's; \
             `foreign_tools = \"trim\"` under [models] trims those, too"
        );
    }
}
