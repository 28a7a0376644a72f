//! The providers of language models, ready for requests.

use std::sync::Arc;

use kitbag_apis::DeclaredApi;
use kitbag_config::{CatalogSettings, ToolEndpoint};
use kitbag_domain::Capability;
use kitbag_tool_files::ToolFile;
use kitbag_tool_spec::{ActionSpec, CredentialName};

use super::file_tools::ApiClients;
use super::tool_files_server;

/// All built-in providers, each at the base URL that the operator configured.
#[derive(Debug, Default)]
pub(crate) struct ModelProviders(Vec<ModelProvider>);

#[derive(Debug)]
pub(crate) struct ModelProvider {
    file: Arc<ToolFile>,
    endpoint: ToolEndpoint,
    pub(crate) api: DeclaredApi,
}

impl ModelProviders {
    /// Unchanged providers are reused, because they know the current limits of each tenant.
    pub(super) fn reuse_or_build(
        self: &Arc<Self>,
        settings: &CatalogSettings,
        clients: &mut ApiClients,
    ) -> Arc<Self> {
        let files = kitbag_tool_files::model_providers().iter();
        let asked_for: Vec<_> = files
            .map(|file| (file, settings.endpoint(&file.id)))
            .collect();
        let known = self.0.iter().map(|it| &it.endpoint);
        if known.eq(asked_for.iter().map(|(_, endpoint)| endpoint)) {
            return self.clone();
        }
        let providers = asked_for.into_iter().filter_map(|(file, endpoint)| {
            Some(ModelProvider {
                api: clients.build_api(file, &endpoint)?,
                file: file.clone(),
                endpoint,
            })
        });
        Arc::new(Self(providers.collect()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ModelProvider> {
        self.0.iter().find(|it| it.file.name.as_str() == name)
    }
}

impl ModelProvider {
    pub(crate) fn credential(&self) -> Option<&CredentialName> {
        self.file.api.as_ref()?.credential.as_ref()
    }

    pub(crate) fn request(&self, action: &str) -> Option<&ActionSpec> {
        self.file.action(action)?.request.as_deref()
    }
}

/// Returns the model as a capability for the audit and the priors. No tool has a slash in its name.
pub(crate) fn model_subject(provider: &str, model: &str) -> Capability {
    Capability::tool(tool_files_server(), format!("{provider}/{model}"))
}

pub(crate) fn is_model(capability: &Capability) -> bool {
    capability.server == tool_files_server() && capability.name.contains('/')
}
