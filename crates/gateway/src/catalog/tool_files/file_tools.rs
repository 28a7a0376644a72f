//! The effective tools from tool files, ready to be listed and called.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kitbag_apis::{ApiOverrides, Clock, DeclaredApi, GuardedClient};
use kitbag_config::{CatalogSettings, ToolEndpoint, ToolOverride};
use kitbag_domain::NanoUsd;
use kitbag_llm::route::{ModelTool, tool_providers};
use kitbag_platform::is_platform_tool;
use kitbag_policy::AddressRules;
use kitbag_tool_files::{ToolAction, ToolFile, definition};
use kitbag_tool_spec::CredentialName;
use kitbag_wire::{Raw, raw};
use serde_json::json;

use super::file_checks::CheckedFiles;
use super::model_providers::ModelProviders;
use crate::state::address_guard::address_guard;

/// All effective tools from tool files.
#[derive(Default)]
pub(crate) struct FileTools {
    checked: CheckedFiles,
    credentials: BTreeSet<CredentialName>,
    tools: Vec<Arc<FileTool>>,
    model_providers: Arc<ModelProviders>,
}

/// One tool, with everything that is derived once from its file.
#[derive(Debug)]
pub(crate) struct FileTool {
    pub(crate) file: Arc<ToolFile>,
    /// The definition that clients see.
    pub(crate) definition: Raw,
    /// For each action, the definition against which its arguments are validated.
    pub(crate) action_definitions: Vec<Raw>,
    endpoint: ToolEndpoint,
    pub(crate) executor: FileToolExecutor,
}

/// The executor of a tool.
#[derive(Debug)]
pub(crate) enum FileToolExecutor {
    Api(Box<DeclaredApi>),
    Kitbag,
    Models(ModelTool, Arc<ModelProviders>),
}

impl FileTools {
    /// Unchanged tools are reused from `before`, because they know the current rate limits of their
    /// APIs.
    pub(super) fn new(
        checked: CheckedFiles,
        settings: &CatalogSettings,
        credentials: &BTreeSet<CredentialName>,
        before: &Self,
    ) -> Self {
        let mut clients = ApiClients::default();
        let known: HashMap<_, _> = before.tools.iter().map(|it| (&it.file.id, it)).collect();
        let files = checked.files().clone();
        let offered = files.tools().iter().filter(|file| {
            is_offered(file, settings, credentials) && !checked.has_findings_for(file)
        });
        let offered: Vec<_> = offered.collect();
        let model_providers = match offered.iter().any(|file| model_tool(file).is_some()) {
            true => before
                .model_providers
                .reuse_or_build(settings, &mut clients),
            false => Arc::default(),
        };
        let tools = offered.into_iter().map(|file| {
            let endpoint = settings.endpoint(&file.id);
            let same = known
                .get(&file.id)
                .filter(|it| it.is_built_from(file, &endpoint));
            match (same, model_tool(file)) {
                (Some(same), None) => Arc::clone(same),
                (_, Some(tool)) => {
                    let models = FileToolExecutor::Models(tool, model_providers.clone());
                    Arc::new(FileTool::with_executor(file, endpoint, models))
                }
                (None, None) => Arc::new(FileTool::new(file, endpoint, &mut clients)),
            }
        });
        Self {
            tools: tools.collect(),
            model_providers,
            credentials: credentials.clone(),
            checked,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<FileTool>> {
        self.tools.iter()
    }

    pub(super) fn checked_files(&self) -> &CheckedFiles {
        &self.checked
    }

    pub(super) fn credentials(&self) -> &BTreeSet<CredentialName> {
        &self.credentials
    }
}

/// The HTTP clients of tools, one for each set of address rules.
#[derive(Default)]
pub(super) struct ApiClients(Vec<(AddressRules, GuardedClient)>);

impl ApiClients {
    /// Returns the API of a file at the base URL that the operator configured.
    pub(super) fn build_api(
        &mut self,
        file: &ToolFile,
        endpoint: &ToolEndpoint,
    ) -> Option<DeclaredApi> {
        let api = file.api.clone()?;
        let overrides = ApiOverrides {
            url: endpoint.url.clone(),
            token_url: endpoint.token_url.clone(),
            storage_url: endpoint.storage_url.clone(),
        };
        let client = self.client_for(&endpoint.addresses);
        let (name, clock) = (file.name.clone(), Clock::system());
        Some(DeclaredApi::new(name, api, overrides, client, clock))
    }

    fn client_for(&mut self, rules: &AddressRules) -> GuardedClient {
        if let Some((_, client)) = self.0.iter().find(|(known, _)| known == rules) {
            return client.clone();
        }
        let client = GuardedClient::new(address_guard(rules.clone()));
        self.0.push((rules.clone(), client.clone()));
        client
    }
}

/// A tool file of the operator is offered. A built-in one is offered if the operator names it, or
/// has set a credential for it.
fn is_offered(
    file: &ToolFile,
    settings: &CatalogSettings,
    credentials: &BTreeSet<CredentialName>,
) -> bool {
    let models = model_tool(file);
    if file.api.is_none() && models.is_none() && !is_platform_tool(&file.id) {
        return false;
    }
    if !file.is_built_in() {
        return true;
    }
    let has_credential = match models {
        Some(_) => {
            let mut providers = tool_providers(file).into_iter();
            providers.any(|provider| is_among(credentials, provider))
        }
        None => is_among(credentials, file),
    };
    let mut named = settings.tools.iter();
    has_credential || named.any(|pattern| pattern.matches(file.id.as_str()))
}

fn model_tool(file: &ToolFile) -> Option<ModelTool> {
    ModelTool::from_id(&file.id).filter(|_| file.api.is_none())
}

fn is_among(credentials: &BTreeSet<CredentialName>, file: &ToolFile) -> bool {
    let credential = file.api.as_ref().and_then(|api| api.credential.as_ref());
    credential.is_some_and(|name| credentials.contains(name))
}

impl FileTool {
    fn new(file: &Arc<ToolFile>, endpoint: ToolEndpoint, clients: &mut ApiClients) -> Self {
        let api = clients.build_api(file, &endpoint);
        let executor = api.map_or(FileToolExecutor::Kitbag, |api| {
            FileToolExecutor::Api(Box::new(api))
        });
        Self::with_executor(file, endpoint, executor)
    }

    fn with_executor(
        file: &Arc<ToolFile>,
        endpoint: ToolEndpoint,
        executor: FileToolExecutor,
    ) -> Self {
        Self {
            definition: raw(&definition(file)),
            action_definitions: file.actions.iter().map(action_definition).collect(),
            executor,
            endpoint,
            file: file.clone(),
        }
    }

    /// Builds a tool that no gateway offers.
    pub(crate) fn without_gateway(file: &Arc<ToolFile>, settings: &CatalogSettings) -> Self {
        let endpoint = settings.endpoint(&file.id);
        Self::new(file, endpoint, &mut ApiClients::default())
    }

    fn is_built_from(&self, file: &Arc<ToolFile>, endpoint: &ToolEndpoint) -> bool {
        self.file == *file && self.endpoint == *endpoint
    }

    /// Returns the facts that the index takes from the file, in the form of an operator's override.
    pub(crate) fn index_facts(&self) -> ToolOverride {
        let ToolFile {
            cost,
            tags,
            scopes,
            provider,
            ..
        } = &*self.file;
        ToolOverride {
            cost_usd: cost.per_call.map(NanoUsd::to_usd),
            tags: tags.clone(),
            scopes: scopes.clone(),
            group: Some(provider.clone()),
            ..ToolOverride::default()
        }
    }
}

fn action_definition(action: &ToolAction) -> Raw {
    raw(&json!({ "name": action.name.as_str(), "inputSchema": action.arguments_schema() }))
}
