//! The tools that use a credential, and the fields that they want of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kitbag_config::Config;
use kitbag_llm::route::{ModelTool, providers_of};
use kitbag_tool_files::{CatalogDirectories, ToolFile};
use kitbag_tool_spec::{CredentialName, StorageDeclaration};

/// All tools of files, whether they are offered or not, and the providers of models that some of them ask.
pub(super) struct KnownTools {
    tools: Vec<Arc<ToolFile>>,
    providers: &'static [Arc<ToolFile>],
}

impl KnownTools {
    pub(super) fn read(config: &Config) -> Self {
        let read = CatalogDirectories::read(config.catalog.directories.clone());
        Self {
            tools: read.current().tools().to_vec(),
            providers: kitbag_tool_files::providers(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<ToolFile>> {
        self.tools.iter().chain(self.providers)
    }

    pub(super) fn using(&self, name: &CredentialName) -> Vec<&Arc<ToolFile>> {
        self.all().filter(|tool| uses(tool, name)).collect()
    }

    /// Returns the names of the tools that use a credential.
    pub(super) fn names_using(&self, name: &CredentialName) -> Vec<String> {
        let tools = self.tools.iter();
        let using = tools.filter(|tool| uses(tool, name) || asks_user_of(tool, name));
        using.map(|tool| tool.name.to_string()).collect()
    }

    /// Returns the names of all credentials that some tool uses.
    pub(super) fn credentials(&self) -> BTreeSet<&str> {
        let apis = self.all().filter_map(|tool| tool.api.as_ref());
        apis.filter_map(|api| Some(api.credential.as_ref()?.as_str()))
            .collect()
    }

    /// Returns the fields that the tools know, those that they cannot do without first.
    pub(super) fn fields(&self, name: &CredentialName) -> WantedFields {
        let mut fields = WantedFields::default();
        for tool in self.using(name) {
            fields.add(tool);
        }
        fields.optional.retain(|it| !fields.needed.contains(it));
        fields
    }
}

#[derive(Debug, Default)]
pub(super) struct WantedFields {
    pub(super) needed: BTreeSet<String>,
    pub(super) optional: BTreeSet<String>,
    /// True if a person gets the refresh token by logging in.
    pub(super) by_login: bool,
}

impl WantedFields {
    fn add(&mut self, tool: &ToolFile) {
        let Some(api) = &tool.api else { return };
        let actions = tool.actions.iter().filter_map(|it| it.request.as_ref());
        let needed = actions.flat_map(|action| api.needed_fields(action));
        self.needed.extend(needed.map(str::to_owned));
        let optional = api.auth.optional_fields().iter().copied();
        let optional = optional.chain(api.optional_fields.iter().map(String::as_str));
        let storage = api.storage.iter().flat_map(StorageDeclaration::fields);
        let optional = optional.chain(storage);
        self.optional.extend(optional.map(str::to_owned));
        self.by_login |= api.auth.logs_in();
    }

    pub(super) fn is_known(&self, field: &str) -> bool {
        self.needed.contains(field) || self.optional.contains(field)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().chain(&self.optional).map(String::as_str)
    }

    /// Returns the fields that a credential still lacks.
    pub(super) fn missing(&self, there: &[String]) -> Vec<&str> {
        let needed = self.needed.iter().filter(|it| !there.contains(it));
        needed.map(String::as_str).collect()
    }
}

/// True if models carry the tool out, and one of their providers uses the credential.
fn asks_user_of(tool: &ToolFile, name: &CredentialName) -> bool {
    let mut providers = ModelTool::of(&tool.id)
        .map_or_else(Vec::new, |_| providers_of(tool))
        .into_iter();
    providers.any(|provider| uses(provider, name))
}

fn uses(tool: &ToolFile, name: &CredentialName) -> bool {
    let api = tool.api.as_ref();
    api.is_some_and(|api| api.credential.as_ref() == Some(name))
}
