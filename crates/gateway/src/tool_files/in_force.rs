//! The tools of files that are in force, ready to be listed and called.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kitbag_apis::{ApiOverrides, Clock, DeclaredApi, GuardedClient};
use kitbag_config::{CatalogSettings, DeclaredTool, ToolEndpoint};
use kitbag_declared::CredentialName;
use kitbag_domain::NanoUsd;
use kitbag_manifest::{ToolAction, ToolCatalog, ToolFile, definition};
use kitbag_platform::carries_out;
use kitbag_policy::AddressRules;
use kitbag_wire::{Raw, raw};
use serde_json::json;

use crate::address_guard::address_guard;

/// All tools of files that are in force at one moment.
#[derive(Default)]
pub(crate) struct FileTools {
    files: Arc<ToolCatalog>,
    credentials: BTreeSet<CredentialName>,
    tools: Vec<Arc<FileTool>>,
}

/// One tool, with everything that is made of its file once.
#[derive(Debug)]
pub(crate) struct FileTool {
    pub(crate) file: Arc<ToolFile>,
    /// The definition that clients see.
    pub(crate) definition: Raw,
    /// For each action, the definition that its arguments are held against.
    pub(crate) action_definitions: Vec<Raw>,
    endpoint: ToolEndpoint,
    /// Absent for a tool that Kitbag carries out itself.
    pub(crate) api: Option<DeclaredApi>,
}

impl FileTools {
    /// Of the tools before, those that are the same stay: they know what their APIs permit for now.
    pub(super) fn of(
        files: Arc<ToolCatalog>,
        settings: &CatalogSettings,
        credentials: &BTreeSet<CredentialName>,
        before: &Self,
    ) -> Self {
        let mut clients = ApiClients::default();
        let known: HashMap<_, _> = before.tools.iter().map(|it| (&it.file.id, it)).collect();
        let tools = files.tools().iter();
        let offered = tools.filter(|file| is_offered(file, settings, credentials));
        let tools = offered.map(|file| {
            let endpoint = settings.endpoint(&file.id);
            let same = known.get(&file.id).filter(|it| it.is(file, &endpoint));
            match same {
                Some(same) => Arc::clone(same),
                None => Arc::new(FileTool::of(file, endpoint, &mut clients)),
            }
        });
        Self {
            tools: tools.collect(),
            credentials: credentials.clone(),
            files,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<FileTool>> {
        self.tools.iter()
    }

    pub(super) fn files(&self) -> &Arc<ToolCatalog> {
        &self.files
    }

    pub(super) fn credentials(&self) -> &BTreeSet<CredentialName> {
        &self.credentials
    }
}

/// The HTTP clients of tools, one for each set of rules about addresses.
#[derive(Default)]
struct ApiClients(Vec<(AddressRules, GuardedClient)>);

impl ApiClients {
    fn under(&mut self, rules: &AddressRules) -> GuardedClient {
        if let Some((_, client)) = self.0.iter().find(|(known, _)| known == rules) {
            return client.clone();
        }
        let client = GuardedClient::new(address_guard(rules.clone()));
        self.0.push((rules.clone(), client.clone()));
        client
    }
}

/// A file of the operator's own is offered. One that comes with the binary is offered if the operator
/// names it, or has set the credential that it needs.
fn is_offered(
    file: &ToolFile,
    settings: &CatalogSettings,
    credentials: &BTreeSet<CredentialName>,
) -> bool {
    if file.api.is_none() && !carries_out(&file.id) {
        return false;
    }
    if !file.is_built_in() {
        return true;
    }
    let credential = file.api.as_ref().and_then(|api| api.credential.as_ref());
    let has_credential = credential.is_some_and(|name| credentials.contains(name));
    let mut named = settings.tools.iter();
    has_credential || named.any(|pattern| pattern.matches(file.id.as_str()))
}

impl FileTool {
    fn of(file: &Arc<ToolFile>, endpoint: ToolEndpoint, clients: &mut ApiClients) -> Self {
        let api = file.api.as_ref().map(|api| {
            let overrides = ApiOverrides {
                url: endpoint.url.clone(),
                token_url: endpoint.token_url.clone(),
            };
            let client = clients.under(&endpoint.addresses);
            DeclaredApi::new(
                file.name.clone(),
                api.clone(),
                overrides,
                client,
                Clock::system(),
            )
        });
        Self {
            definition: raw(&definition(file)),
            action_definitions: file.actions.iter().map(action_definition).collect(),
            api,
            endpoint,
            file: file.clone(),
        }
    }

    /// A tool that no gateway offers.
    pub(crate) fn alone(file: &Arc<ToolFile>, settings: &CatalogSettings) -> Self {
        let endpoint = settings.endpoint(&file.id);
        Self::of(file, endpoint, &mut ApiClients::default())
    }

    fn is(&self, file: &Arc<ToolFile>, endpoint: &ToolEndpoint) -> bool {
        self.file == *file && self.endpoint == *endpoint
    }

    /// The facts that the index takes from the file, as an operator would declare them.
    pub(crate) fn facts(&self) -> DeclaredTool {
        let ToolFile {
            cost,
            tags,
            scopes,
            provider,
            ..
        } = &*self.file;
        DeclaredTool {
            cost_usd: cost.per_call.map(NanoUsd::usd),
            tags: tags.clone(),
            scopes: scopes.clone(),
            group: Some(provider.clone()),
            ..DeclaredTool::default()
        }
    }
}

fn action_definition(action: &ToolAction) -> Raw {
    raw(&json!({ "name": action.name.as_str(), "inputSchema": action.arguments_schema() }))
}
