//! The client that sent a request: its identity, capabilities and log level.

use std::sync::Arc;

use kitbag_domain::{Caller, ShortText};
use kitbag_upstream::{ClientIdentity, ClientProfile, LogLevel, RequestedLogs};
use kitbag_wire::{Era, Raw, RawObject, raw};

#[derive(Debug, Clone)]
pub(crate) struct McpClient {
    pub(crate) caller: Caller,
    pub(crate) era: Era,
    /// Distinguishes the clients of one caller at a server that serves several.
    pub(crate) id: Arc<str>,
    /// The name that the client gives itself.
    pub(crate) name: Option<ShortText>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) logs: RequestedLogs,
}

/// The capabilities that a client declared.
#[derive(Debug, Clone)]
pub(crate) struct ClientCapabilities {
    raw: Raw,
    object: RawObject,
}

impl McpClient {
    /// Reads the client's name from its `clientInfo`.
    pub(crate) fn read_name(info: Option<&RawObject>) -> Option<ShortText> {
        let name: String = info?.read("name")?;
        Some(ShortText::truncate(&name))
    }

    pub(crate) fn profile(&self) -> ClientProfile {
        ClientProfile {
            identity: self.identity(),
            capabilities: self.capabilities.raw.clone(),
            logs: self.logs,
        }
    }

    /// All clients of the local user are one principal. Several people may share a key, so each
    /// client with a key is a principal of its own.
    pub(crate) fn identity(&self) -> ClientIdentity {
        let tenant = &self.caller.tenant;
        let principal = match &self.caller.key {
            Some(key) => format!("{tenant}/{key}/{}", self.id),
            None => tenant.to_string(),
        };
        let account = self
            .caller
            .key
            .as_ref()
            .map_or(tenant.to_string(), |key| format!("{tenant}/{key}"));
        ClientIdentity {
            principal: principal.into(),
            client: self.id.clone(),
            account: account.into(),
            is_owner: self.caller.key.is_none(),
        }
    }

    /// True if the client wants a log line of this level.
    pub(crate) fn wants_log(&self, params: &Raw) -> bool {
        match self.logs {
            RequestedLogs::None => false,
            RequestedLogs::Unset => true,
            RequestedLogs::From(wanted) => {
                parse_log_level(params).is_none_or(|level| level >= wanted)
            }
        }
    }
}

fn parse_log_level(log_line: &Raw) -> Option<LogLevel> {
    let level: String = RawObject::open(log_line).ok()?.read("level")?;
    LogLevel::parse(&level)
}

impl ClientCapabilities {
    pub(crate) fn new(declared: Option<Raw>) -> Self {
        let raw = declared.unwrap_or_else(|| raw(&RawObject::new()));
        Self {
            object: RawObject::open(&raw).unwrap_or_default(),
            raw,
        }
    }

    /// True if the client can answer a server's request of this method.
    pub(crate) fn can_answer(&self, method: &str, params: Option<&Raw>) -> bool {
        use kitbag_wire::meta::method;
        match method {
            method::LIST_ROOTS => self.object.contains("roots"),
            method::CREATE_MESSAGE => self.object.contains("sampling"),
            method::ELICIT => self.can_elicit(params),
            _ => false,
        }
    }

    /// True if the client can ask the user to open a URL.
    pub(crate) fn can_open_url(&self) -> bool {
        self.object
            .get_object("elicitation")
            .is_some_and(|declared| declared.contains("url"))
    }

    /// An `elicitation` capability without modes means forms, as in revisions before modes existed.
    fn can_elicit(&self, params: Option<&Raw>) -> bool {
        let Some(declared) = self.object.get_object("elicitation") else {
            return false;
        };
        let mode: Option<String> =
            params.and_then(|params| RawObject::open(params).ok()?.read("mode"));
        match mode.as_deref() {
            Some("url") => self.can_open_url(),
            _ => declared.is_empty() || declared.contains("form") || !declared.contains("url"),
        }
    }
}
