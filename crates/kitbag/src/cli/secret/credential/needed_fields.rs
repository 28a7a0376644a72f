//! The tools that use a credential, and the credential fields that they need.

use std::collections::BTreeSet;
use std::sync::Arc;

use kitbag_config::Config;
use kitbag_llm::route::{ModelTool, tool_providers};
use kitbag_tool_files::{CatalogDirectories, ToolFile};
use kitbag_tool_spec::{CredentialName, StorageSpec};

/// All tools in tool files, offered or not, and the model vendors that some of them call.
pub(super) struct KnownTools {
    tools: Vec<Arc<ToolFile>>,
    providers: &'static [Arc<ToolFile>],
}

impl KnownTools {
    pub(super) fn load(config: &Config) -> Self {
        let read = CatalogDirectories::read(config.catalog.directories.clone());
        Self {
            tools: read.current().tools().to_vec(),
            providers: kitbag_tool_files::model_providers(),
        }
    }

    fn all_tools(&self) -> impl Iterator<Item = &Arc<ToolFile>> {
        self.tools.iter().chain(self.providers)
    }

    pub(super) fn tools_using(&self, name: &CredentialName) -> Vec<&Arc<ToolFile>> {
        self.all_tools().filter(|tool| uses(tool, name)).collect()
    }

    /// Returns the names of the tools that use a credential.
    pub(super) fn names_using(&self, name: &CredentialName) -> Vec<String> {
        let tools = self.tools.iter();
        let using = tools.filter(|tool| uses(tool, name) || calls_vendor_with(tool, name));
        using.map(|tool| tool.name.to_string()).collect()
    }

    /// Returns the names of all credentials that tools use.
    pub(super) fn credential_names(&self) -> BTreeSet<&str> {
        let apis = self.all_tools().filter_map(|tool| tool.api.as_ref());
        apis.filter_map(|api| Some(api.credential.as_ref()?.as_str()))
            .collect()
    }

    /// Returns the fields of the credential that the tools use.
    pub(super) fn needed_fields(&self, name: &CredentialName) -> NeededFields {
        let mut fields = NeededFields::default();
        for tool in self.tools_using(name) {
            fields.add_tool(tool);
        }
        fields.optional.retain(|it| !fields.needed.contains(it));
        fields
    }
}

#[derive(Debug, Default)]
pub(super) struct NeededFields {
    pub(super) needed: BTreeSet<String>,
    pub(super) optional: BTreeSet<String>,
    /// True if the refresh token comes from a login.
    pub(super) by_login: bool,
}

impl NeededFields {
    fn add_tool(&mut self, tool: &ToolFile) {
        let Some(api) = &tool.api else { return };
        let actions = tool.actions.iter().filter_map(|it| it.request.as_ref());
        let needed = actions.flat_map(|action| api.needed_fields(action));
        self.needed.extend(needed.map(str::to_owned));
        let optional = api.auth.optional_fields().iter().copied();
        let optional = optional.chain(api.optional_fields.iter().map(String::as_str));
        let storage = api.storage.iter().flat_map(StorageSpec::credential_fields);
        let optional = optional.chain(storage);
        self.optional.extend(optional.map(str::to_owned));
        self.by_login |= api.auth.needs_login();
    }

    pub(super) fn is_known(&self, field: &str) -> bool {
        self.needed.contains(field) || self.optional.contains(field)
    }

    /// Returns the names of all fields, required ones first.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().chain(&self.optional).map(String::as_str)
    }

    /// Returns the required fields that are not in the list.
    pub(super) fn missing_from(&self, there: &[String]) -> Vec<&str> {
        let needed = self.needed.iter().filter(|it| !there.contains(it));
        needed.map(String::as_str).collect()
    }
}

/// True if the tool calls a model, and one of the model vendors uses the credential.
fn calls_vendor_with(tool: &ToolFile, name: &CredentialName) -> bool {
    let mut providers = ModelTool::from_id(&tool.id)
        .map_or_else(Vec::new, |_| tool_providers(tool))
        .into_iter();
    providers.any(|provider| uses(provider, name))
}

fn uses(tool: &ToolFile, name: &CredentialName) -> bool {
    let api = tool.api.as_ref();
    api.is_some_and(|api| api.credential.as_ref() == Some(name))
}
