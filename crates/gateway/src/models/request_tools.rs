//! The tools of a request to a model, classified as Kitbag's, unapproved, foreign or fixed.

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

pub(crate) struct RequestTools<'r> {
    pub(super) request: &'r ModelRequest<'r>,
    classes: Vec<ToolClass<'r>>,
    /// Kitbag's names by the client's names.
    by_written: HashMap<&'r str, &'r str>,
    own: HashSet<&'r str>,
    foreign: HashSet<&'r str>,
}

/// The class of a tool.
#[derive(Debug, Clone, Copy)]
enum ToolClass<'r> {
    /// Kitbag's tool, by Kitbag's name.
    Own(&'r str),
    /// Kitbag's tool that waits for approval. No model gets it.
    Unapproved,
    /// A function of the client or of another server.
    Foreign(&'r str),
    /// A tool of the vendor, or a deferred tool, which costs no tokens until the model searches for
    /// it.
    Fixed,
}

/// The most tools of each class that a request may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolLimits {
    pub(super) own: usize,
    pub(super) foreign: usize,
}

impl<'r> RequestTools<'r> {
    /// A tool that is hidden from the caller counts as foreign: the result must not reveal that it
    /// exists.
    pub(super) fn classify(
        gateway: &Gateway,
        catalog: &Catalog,
        caller: &Caller,
        request: &'r ModelRequest<'r>,
    ) -> Self {
        let mut tools = Self {
            request,
            classes: Vec::with_capacity(request.tools.len()),
            by_written: HashMap::new(),
            own: HashSet::new(),
            foreign: HashSet::new(),
        };
        for tool in &request.tools {
            let is_unapproved = |name: &str| is_unapproved(gateway, catalog, caller, name);
            tools.add_tool(tool, is_unapproved, |name| {
                is_own_tool(gateway, catalog, caller, name)
            });
        }
        tools
    }

    fn add_tool(
        &mut self,
        tool: &'r ListedTool<'r>,
        is_unapproved: impl Fn(&str) -> bool,
        is_own_tool: impl Fn(&str) -> bool,
    ) {
        let function = tool.function.as_deref();
        if function
            .is_some_and(|written| strip_client_prefix(written, NAME, is_unapproved).is_some())
        {
            self.classes.push(ToolClass::Unapproved);
            return;
        }
        let Some(written) = tool.function.as_deref().filter(|_| !tool.is_deferred) else {
            self.classes.push(ToolClass::Fixed);
            return;
        };
        match strip_client_prefix(written, NAME, is_own_tool) {
            Some(own) => {
                self.by_written.insert(written, own);
                self.own.insert(own);
                self.classes.push(ToolClass::Own(own));
            }
            None => {
                self.foreign.insert(written);
                self.classes.push(ToolClass::Foreign(written));
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

    /// Returns Kitbag's tool of this name, if the request has it.
    pub(super) fn find_own(&self, name: &str) -> Option<&'r str> {
        self.own.get(name).copied()
    }

    pub(super) fn all_own(&self) -> impl Iterator<Item = &'r str> {
        self.classes.iter().filter_map(|class| match class {
            ToolClass::Own(name) => Some(*name),
            ToolClass::Unapproved | ToolClass::Foreign(_) | ToolClass::Fixed => None,
        })
    }

    /// Returns Kitbag's name for the client's name of a tool.
    pub(super) fn own_name_for(&self, written: &str) -> Option<&'r str> {
        self.by_written.get(written).copied()
    }

    /// Returns every name that a text may use for one of Kitbag's tools, with Kitbag's name.
    pub(super) fn spellings(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let written = self
            .by_written
            .iter()
            .map(|(written, own)| (*written, *own));
        written.chain(self.own.iter().map(|own| (*own, *own)))
    }

    pub(super) fn find_foreign(&self, name: &str) -> Option<&'r str> {
        self.foreign.get(name).copied()
    }

    pub(super) fn foreign_definitions(&self) -> Vec<&'r ListedTool<'r>> {
        let tools = self.request.tools.iter().zip(&self.classes);
        tools
            .filter_map(|(tool, class)| matches!(class, ToolClass::Foreign(_)).then_some(tool))
            .collect()
    }

    /// Decides for each tool whether it stays.
    pub(super) fn decide(
        &self,
        keeps_own: impl Fn(&str) -> bool,
        keeps_foreign: impl Fn(&str) -> bool,
    ) -> Vec<bool> {
        self.classes
            .iter()
            .map(|class| match class {
                ToolClass::Own(name) => keeps_own(name),
                ToolClass::Foreign(name) => keeps_foreign(name),
                ToolClass::Fixed => true,
                ToolClass::Unapproved => false,
            })
            .collect()
    }

    /// Keeps all tools except unapproved ones.
    pub(super) fn all_but_unapproved(&self) -> Vec<bool> {
        self.decide(|_| true, |_| true)
    }

    /// Returns Kitbag's tools that stay.
    pub(super) fn kept_own(&self, is_kept: &[bool]) -> impl Iterator<Item = &'r str> {
        let classes = self.classes.iter().zip(is_kept);
        classes.filter_map(|(class, is_kept)| match class {
            ToolClass::Own(name) if *is_kept => Some(*name),
            _ => None,
        })
    }

    /// Returns the number of Kitbag's tools in the request, and the number that stay.
    pub(super) fn count_own(&self, is_kept: &[bool]) -> (u64, u64) {
        let offered = self.all_own().count() as u64;
        (offered, self.kept_own(is_kept).count() as u64)
    }
}

fn is_own_tool(gateway: &Gateway, catalog: &Catalog, caller: &Caller, name: &str) -> bool {
    let is_visible = catalog
        .tool(name)
        .is_some_and(|entry| gateway.policy.is_visible(caller, &entry.capability));
    is_visible || AlwaysOnTool::from_name(name).is_some()
}

fn is_unapproved(gateway: &Gateway, catalog: &Catalog, caller: &Caller, name: &str) -> bool {
    let unapproved = catalog.unapproved.tool(name);
    unapproved.is_some_and(|capability| gateway.policy.is_visible(caller, capability))
}

impl ToolLimits {
    /// Returns `None` if the foreign and fixed tools already exceed the vendor's limit. Trimming
    /// would not help then, and the vendor's error is the best answer.
    pub(super) fn for_request(
        foreign_tools: ForeignTools,
        api: ModelApi,
        tools: &RequestTools<'_>,
    ) -> Option<Self> {
        let foreign = match foreign_tools {
            ForeignTools::Keep => usize::MAX,
            ForeignTools::Trim => MAX_TOP_K,
        };
        let most = api.vendor().max_tools().unwrap_or(usize::MAX);
        let classes = tools.classes.iter();
        let fixed = classes.filter(|it| matches!(it, ToolClass::Fixed)).count();
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
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            others,
            most,
            "a model request has more tools than the vendor accepts, and they are not Kitbag's; \
             set `foreign_tools = \"trim\"` under [models] to trim them as well"
        );
    }
}
