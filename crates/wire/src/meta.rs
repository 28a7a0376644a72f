//! The names that clients and servers agree on: methods, `_meta` keys, error codes.

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub const PROGRESS_TOKEN: &str = "progressToken";

/// Extensions of the protocol that the gateway knows.
pub mod extension {
    pub const SKILLS: &str = "io.modelcontextprotocol/skills";
}

pub mod method {
    pub const CALL_TOOL: &str = "tools/call";
    pub const CANCELLED: &str = "notifications/cancelled";
    pub const COMPLETE: &str = "completion/complete";
    pub const CREATE_MESSAGE: &str = "sampling/createMessage";
    pub const DISCOVER: &str = "server/discover";
    pub const ELICIT: &str = "elicitation/create";
    pub const GET_PROMPT: &str = "prompts/get";
    pub const GET_SKILL: &str = "skills/get";
    pub const INITIALIZE: &str = "initialize";
    pub const INITIALIZED: &str = "notifications/initialized";
    pub const LISTEN: &str = "subscriptions/listen";
    pub const LIST_PROMPTS: &str = "prompts/list";
    pub const LIST_RESOURCES: &str = "resources/list";
    pub const LIST_ROOTS: &str = "roots/list";
    pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
    pub const LIST_SKILLS: &str = "skills/list";
    pub const LIST_TEMPLATES: &str = "resources/templates/list";
    pub const LIST_TOOLS: &str = "tools/list";
    pub const LOG: &str = "notifications/message";
    pub const PING: &str = "ping";
    pub const PROGRESS: &str = "notifications/progress";
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub const READ_DIRECTORY: &str = "resources/directory/read";
    pub const READ_RESOURCE: &str = "resources/read";
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    pub const SET_LEVEL: &str = "logging/setLevel";
    pub const SUBSCRIBE: &str = "resources/subscribe";
    pub const SUBSCRIPTION_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
}

pub mod code {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// The legacy code for an unknown resource; modern revisions use `INVALID_PARAMS`.
    pub const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
}

/// `resultType` values of modern results.
pub mod result_type {
    pub const COMPLETE: &str = "complete";
    pub const INPUT_REQUIRED: &str = "input_required";
}
