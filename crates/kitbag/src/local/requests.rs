//! The requests that a command makes to a gateway, each with the type of its answer.
//!
//! [`LocalRequest::answer`] serves both a command that joined and one that opened its own gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use kitbag_domain::{Caller, KeyId, Role, ServerName, Surface, Tenant};
use kitbag_gateway::admin::app::{
    AccessDecision, App, CallOptions, CallProgress, ServerDefinitions, ServerReport, Status,
    UnlistedServer, UseHistory,
};
use kitbag_gateway::admin::offers::{PromptRow, ResourceRow, SkillRow, ToolRow};
use kitbag_gateway::admin::search::{OperatorSearch, SearchResult};
use kitbag_gateway::admin::tool_table::ToolSummary;
use kitbag_gateway::front::user_prompt::PromptTools;
use kitbag_gateway::learning::marks::ToolMark;
use kitbag_gateway::surface::intent::trial::TemplateTrial;
use kitbag_gateway::surface::tokens::SurfaceTokens;
use kitbag_intents::IntentTemplate;
use kitbag_relevance::Options;
use kitbag_wire::Raw;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, from_str, value::to_raw_value};

use super::protocol::RequestLine;
use super::suggestions::{KnownName, suggest_names};

/// Counting a million calls takes seconds.
const HISTORY_PATIENCE: Duration = Duration::from_secs(60);

pub(crate) trait LocalRequest: Serialize + DeserializeOwned {
    type Answer: Serialize + DeserializeOwned;
    const METHOD: &str;

    fn answer(
        self,
        app: &App,
        call: CallOptions<'_>,
    ) -> impl Future<Output = anyhow::Result<Self::Answer>> + Send;
}

/// Declares each request with its parameters, its answer and the code that answers it, and
/// `answer_line`, which answers any of them as it came over the socket.
macro_rules! local_requests {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $type:ty),* } -> $answer:ty = |$app:ident, $call:pat_param| $body:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Serialize, Deserialize)]
            pub(crate) struct $name { $(pub(crate) $field: $type),* }

            impl LocalRequest for $name {
                type Answer = $answer;
                const METHOD: &str = stringify!($name);

                async fn answer(self, $app: &App, $call: CallOptions<'_>) -> anyhow::Result<$answer> {
                    let Self { $($field),* } = self;
                    Ok($body)
                }
            }
        )*

        pub(super) async fn answer_line(
            app: &App,
            RequestLine { method, params }: RequestLine<String, Raw>,
            call: CallOptions<'_>,
        ) -> anyhow::Result<Raw> {
            let params = params.get();
            Ok(match method.as_str() {
                $($name::METHOD => to_raw_value(&from_str::<$name>(params)?.answer(app, call).await?)?,)*
                _ => bail!("unknown request `{method}`"),
            })
        }
    };
}

local_requests! {
    /// Lists this server, or all servers that were never listed. Returns the servers that failed.
    FetchListings { server: Option<ServerName> } -> Vec<UnlistedServer>
        = |app, _| app.list_unlisted(server.as_ref()).await;

    /// Lists these servers again and returns their definitions unchanged.
    FetchDefinitions { servers: Vec<ServerName> } -> Vec<ServerDefinitions>
        = |app, _| app.list_definitions(&servers).await;

    /// Returns the definition of a tool as clients see it, without asking a server.
    GetDefinition { name: String } -> Option<Value> = |app, _| app.tool_definition(&name)?;

    /// Decides whether a caller may use a tool.
    ExplainAccess { tenant: Tenant, key: Option<KeyId>, role: Role, tool: String } -> AccessDecision
        = |app, _| app.explain_access(&Caller { tenant, key, role }, &tool);

    ListTools {} -> Vec<ToolRow> = |app, _| app.tool_rows();
    /// Returns the tools with their effect, their cost and their use.
    SummarizeTools {} -> Vec<ToolSummary> = |app, _| app.tool_table().await?.tools.clone();
    ListPrompts {} -> Vec<PromptRow> = |app, _| app.prompt_rows();
    ListSkills {} -> Vec<SkillRow> = |app, _| app.skill_rows();
    ListResources {} -> Vec<ResourceRow> = |app, _| app.resource_rows();

    GetPrompt { name: String, arguments: BTreeMap<String, String> } -> Value
        = |app, call| suggest_names(
            app.get_prompt(&name, &arguments, call).await,
            &name,
            "kitbag prompts",
            || app.prompt_rows().into_iter().map(KnownName::from).collect(),
        )?;

    ReadResource { uri: String } -> Value
        = |app, call| suggest_names(
            app.read_resource(&uri, call).await,
            &uri,
            "kitbag resources",
            || app.resource_rows().into_iter().map(KnownName::from).collect(),
        )?;

    CallTool { name: String, arguments: Map<String, Value> } -> Value
        = |app, call| app.call_tool(&name, arguments, call).await?;

    CallAlwaysOnTool { name: String, arguments: Map<String, Value> } -> Value
        = |app, call| app.call_always_on_tool(&name, arguments, call).await?;

    /// Checks a template that nobody has approved, and runs it once if it only reads.
    TryTemplate { template: IntentTemplate, params: Map<String, Value> } -> TemplateTrial
        = |app, call| app.try_template(&template, params, call).await;

    SearchTools { query: String, options: Options } -> SearchResult
        = |app, call| {
            let report_embedded = |done: usize, total: usize| {
                (call.progress)(CallProgress {
                    progress: done as f64,
                    total: Some(total as f64),
                    message: None,
                });
            };
            app.search_tools(OperatorSearch::local(&query, &options), report_embedded).await?
        };

    /// Teaches the searches of a tenant.
    MarkTool { mark: ToolMark } -> () = |app, _| app.mark_tool(&mark).await?;

    /// Returns the tools relevant to the prompt that the user gave an agent.
    SuggestTools { prompt: String } -> PromptTools = |app, _| app.suggest_tools(&prompt).await;

    CountTokens { surface: Surface } -> SurfaceTokens = |app, _| app.surface_tokens(surface).await;
    RestartServer { server: ServerName } -> ServerReport = |app, _| app.restart_server(&server).await?;
    GetStatus {} -> Status = |app, _| app.status();

    /// Returns calls and tokens of the last day by hour.
    GetHistory {} -> UseHistory = |app, _| app.use_history(HISTORY_PATIENCE).await;

    /// Returns the counters of the running gateway.
    GetFigures {} -> Value = |app, _| app.usage_figures();
}
