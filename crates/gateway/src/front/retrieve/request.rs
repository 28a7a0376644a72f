//! Parses and validates requests to `/v1/retrieve`, field by field. An error names the valid
//! values.

use kitbag_domain::WriteClass;
use kitbag_domain::nearest_name;
use kitbag_relevance::MAX_TOP_K;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug)]
pub(super) struct RetrieveRequest {
    pub(super) intents: RequestedQueries,
    pub(super) top_k: usize,
    pub(super) min_score: Option<f64>,
    pub(super) min_confidence: Option<f32>,
    pub(super) token_budget: Option<usize>,
    pub(super) max_cost_usd: Option<f64>,
    pub(super) include_unknown_cost: bool,
    pub(super) max_latency_ms_p99: Option<f64>,
    pub(super) scopes: Vec<String>,
    pub(super) servers: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) write_class: Vec<WriteClass>,
    pub(super) exclude: Vec<String>,
    pub(super) format: DefinitionFormat,
}

/// The queries of a request, from its field `intent` or `intents`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedQueries {
    One(String),
    /// Each query finds its own tools, and all share the slots.
    Several(Vec<String>),
}

/// Each is embedded by itself, and each needs one of at most twenty slots.
const MOST_QUERIES: usize = 10;

/// The output format of the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DefinitionFormat {
    /// One line each.
    #[default]
    Compact,
    /// As in `tools/list`.
    Mcp,
    Anthropic,
    Openai,
}

/// A request error, as returned in the answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct RequestFault {
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

/// Each field, and its valid values.
const FIELDS: [(&str, &str); 15] = [
    ("intent", "a text that describes the task"),
    ("intents", "a list of 1 to 10 texts, in place of `intent`"),
    ("top_k", "a whole number from 1 to 20"),
    ("min_score", "a number from 0 to 1"),
    ("min_confidence", "a number from 0 to 1"),
    ("token_budget", "a whole number of at least 1"),
    ("max_cost_usd", "a number of at least 0"),
    ("include_unknown_cost", "`true` or `false`"),
    ("max_latency_ms_p99", "a number of at least 0"),
    ("scopes", "a list of texts"),
    ("servers", "a list of names of servers and APIs"),
    ("tags", "a list of texts"),
    (
        "write_class",
        "a list of `read`, `write`, `destructive` and `unknown`",
    ),
    ("exclude", "a list of names of tools"),
    ("format", "`compact`, `mcp`, `anthropic` or `openai`"),
];

/// The name of `servers` until version 0.2.
const FORMER_SERVERS: &str = "providers";

/// Names by which a caller may try to choose a tenant.
const TENANCY: [&str; 3] = ["tenant_id", "tenant", "tenantId"];

impl RetrieveRequest {
    pub(super) fn parse(body: &[u8]) -> Result<Self, RequestFault> {
        let mut fields = Fields::parse(body)?;
        Ok(Self {
            intents: fields.take_queries()?,
            top_k: fields
                .take_field("top_k", |it| (1..=MAX_TOP_K).contains(it))?
                .unwrap_or(MAX_TOP_K),
            min_score: fields.take_field("min_score", |it| (0.0..=1.0).contains(it))?,
            min_confidence: fields.take_field("min_confidence", |it| (0.0..=1.0).contains(it))?,
            token_budget: fields.take_field("token_budget", |it| *it > 0)?,
            max_cost_usd: fields.take_field("max_cost_usd", |it: &f64| *it >= 0.0)?,
            include_unknown_cost: fields
                .take_field("include_unknown_cost", |_| true)?
                .unwrap_or_default(),
            max_latency_ms_p99: fields.take_field("max_latency_ms_p99", |it: &f64| *it >= 0.0)?,
            scopes: fields.take_field("scopes", |_| true)?.unwrap_or_default(),
            servers: fields.take_field("servers", |_| true)?.unwrap_or_default(),
            tags: fields.take_field("tags", |_| true)?.unwrap_or_default(),
            write_class: fields
                .take_field("write_class", |_| true)?
                .unwrap_or_default(),
            exclude: fields.take_field("exclude", |_| true)?.unwrap_or_default(),
            format: fields.take_field("format", |_| true)?.unwrap_or_default(),
        })
    }

    /// Replaces the servers' names by their canonical spelling, among those the caller may know of.
    pub(super) fn normalize_servers(&mut self, known: &[String]) -> Result<(), RequestFault> {
        for server in &mut self.servers {
            match known.iter().find(|name| name.eq_ignore_ascii_case(server)) {
                Some(name) => server.clone_from(name),
                None => return Err(RequestFault::unknown_server(server, known)),
            }
        }
        Ok(())
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn parse(body: &[u8]) -> Result<Self, RequestFault> {
        let mut fields = match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(RequestFault::invalid_body("not a JSON object")),
            Err(error) => {
                return Err(RequestFault::invalid_body(&format!(
                    "not valid JSON: {error}"
                )));
            }
        };
        if let Some(servers) = fields.remove(FORMER_SERVERS) {
            fields.insert("servers".to_owned(), servers);
        }
        match fields
            .keys()
            .find(|key| !FIELDS.iter().any(|(name, _)| name == key))
        {
            Some(tenant) if TENANCY.contains(&tenant.as_str()) => {
                Err(RequestFault::tenant_given(tenant))
            }
            Some(unknown) => Err(RequestFault::unknown_field(unknown)),
            None => Ok(Self(fields)),
        }
    }

    fn take_queries(&mut self) -> Result<RequestedQueries, RequestFault> {
        let one = self.take_field("intent", |_| true)?;
        let several = self.take_field("intents", |it: &Vec<_>| {
            (1..=MOST_QUERIES).contains(&it.len())
        })?;
        match (one, several) {
            (Some(intent), None) => Ok(RequestedQueries::One(intent)),
            (None, Some(intents)) => Ok(RequestedQueries::Several(intents)),
            (Some(_), Some(_)) => Err(RequestFault::invalid_field(
                "intents",
                "cannot be combined with `intent`",
            )),
            (None, None) => Err(RequestFault::invalid_field("intent", "is missing")),
        }
    }

    /// Takes a field that is present and not null, if it can be parsed and is accepted.
    fn take_field<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
        is_valid: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, RequestFault> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let shown = value.to_string();
        match serde_json::from_value(value) {
            Ok(read) if is_valid(&read) => Ok(Some(read)),
            _ => Err(RequestFault::invalid_field(
                name,
                &format!("cannot be {}", excerpt(&shown)),
            )),
        }
    }
}

/// Returns a beginning that is long enough to be recognized.
fn excerpt(text: &str) -> String {
    const ENOUGH: usize = 60;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl RequestFault {
    fn invalid_body(why: &str) -> Self {
        let message = format!("invalid request: {why}");
        let example = r#"{"intent": "open an issue", "top_k": 5}"#;
        Self {
            message,
            field: None,
            expected: None,
            advice: Some(format!("send {example}")),
        }
    }

    fn invalid_field(name: &str, what: &str) -> Self {
        let expected = FIELDS
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, expected)| *expected);
        let wanted = expected
            .map(|expected| format!("; expected {expected}"))
            .unwrap_or_default();
        Self {
            message: format!("`{name}` {what}{wanted}"),
            field: Some(name.to_owned()),
            expected: expected.map(str::to_owned),
            advice: None,
        }
    }

    fn tenant_given(name: &str) -> Self {
        Self {
            message: format!(
                "`{name}` is not accepted: the tenant is taken from the request's key"
            ),
            field: Some(name.to_owned()),
            expected: None,
            advice: Some(format!(
                "omit `{name}`, and use a key of that tenant: kitbag key create --tenant NAME"
            )),
        }
    }

    fn unknown_field(name: &str) -> Self {
        let fields = FIELDS.iter().map(|(field, _)| *field);
        let advice = match nearest_name(name, fields.clone()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("the fields are {}", fields.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("unknown field `{}`; {advice}", excerpt(name));
        Self {
            message,
            field: Some(excerpt(name)),
            expected: None,
            advice: Some(advice),
        }
    }

    fn unknown_server(name: &str, known: &[String]) -> Self {
        let advice = match nearest_name(name, known.iter().map(String::as_str)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if known.is_empty() => "there are no servers or APIs yet".to_owned(),
            None => format!("expected one of {}", known.join(", ")),
        };
        let message = format!("unknown server or API `{}`; {advice}", excerpt(name));
        Self {
            message,
            field: Some("servers".to_owned()),
            expected: None,
            advice: Some(advice),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(request: &Value, field: Option<&str>, expected: &str) {
        let wrong = RetrieveRequest::parse(request.to_string().as_bytes()).unwrap_err();
        assert_eq!(wrong.field.as_deref(), field, "{wrong:?}");
        assert!(wrong.message.contains(expected), "{wrong:?}");
    }

    #[test]
    fn invalid_values_are_rejected_with_the_valid_ones() {
        check(&json!([]), None, "not a JSON object");
        check(&json!({}), Some("intent"), "is missing");
        check(
            &json!({ "intents": [] }),
            Some("intents"),
            "cannot be []; expected a list of 1 to 10 texts",
        );
        check(
            &json!({ "intents": vec!["x"; 11] }),
            Some("intents"),
            "1 to 10",
        );
        check(
            &json!({ "intent": "x", "intents": ["y"] }),
            Some("intents"),
            "cannot be combined with `intent`",
        );
        check(
            &json!({ "intent": 7 }),
            Some("intent"),
            "cannot be 7; expected a text",
        );
        check(
            &json!({ "intent": "x", "topk": 3 }),
            Some("topk"),
            "did you mean `top_k`?",
        );
        for tenancy in ["tenant_id", "tenant", "tenantId"] {
            check(
                &json!({ "intent": "x", (tenancy): "acme" }),
                Some(tenancy),
                "the tenant is taken from the request's key",
            );
        }
        check(
            &json!({ "intent": "x", "zzzzzz": 3 }),
            Some("zzzzzz"),
            "the fields are intent",
        );
        check(
            &json!({ "intent": "x", "top_k": 50 }),
            Some("top_k"),
            "cannot be 50; expected a whole number from 1 to 20",
        );
        check(
            &json!({ "intent": "x", "top_k": 0 }),
            Some("top_k"),
            "1 to 20",
        );
        check(
            &json!({ "intent": "x", "top_k": "3" }),
            Some("top_k"),
            "1 to 20",
        );
        check(
            &json!({ "intent": "x", "max_cost_usd": -1 }),
            Some("max_cost_usd"),
            "at least 0",
        );
        check(
            &json!({ "intent": "x", "min_score": 1.5 }),
            Some("min_score"),
            "0 to 1",
        );
        check(
            &json!({ "intent": "x", "format": "yaml" }),
            Some("format"),
            "\"yaml\"",
        );
        check(
            &json!({ "intent": "x", "write_class": ["reed"] }),
            Some("write_class"),
            "destructive",
        );
    }

    #[test]
    fn server_names_ignore_case_and_unknown_ones_are_rejected() {
        let known = ["git".to_owned(), "Files".to_owned()];
        let with_server = |name: &str, field: &str| {
            let request = json!({ "intent": "x", field: [name] });
            RetrieveRequest::parse(request.to_string().as_bytes()).unwrap()
        };
        let mut right = with_server("FILES", "servers");
        right.normalize_servers(&known).unwrap();
        assert_eq!(right.servers, ["Files"]);
        let wrong = with_server("gitt", "providers")
            .normalize_servers(&known)
            .unwrap_err();
        assert_eq!(wrong.advice.as_deref(), Some("did you mean `git`?"));
    }
}
