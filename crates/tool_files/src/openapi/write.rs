//! The text of a tool file.

use serde_json::Value;

use super::ImportOptions;
use super::access::toml_string;
use super::operation::ImportedAction;
use crate::checks::names_a_tenant;

/// The content of one file.
pub(super) struct FileParts<'a> {
    pub(super) name: &'a str,
    pub(super) provider: &'a str,
    pub(super) title: &'a str,
    pub(super) options: &'a ImportOptions,
    /// Never empty.
    pub(super) actions: &'a [ImportedAction],
}

impl FileParts<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = self.tool();
        text.push_str(&self.api());
        for action in self.actions {
            text.push_str(&action_text(action));
        }
        text
    }

    fn tool(&self) -> String {
        let (purpose, description) = match self.actions {
            [only] => (only.purpose.clone(), only.description.clone()),
            several => self.describe_group(several),
        };
        let owner = self.options.owner.as_deref().unwrap_or("imported");
        let mut lines = vec![
            key("name", self.name),
            key("kind", "curated"),
            key("purpose", &purpose),
            key("description", &description),
            key("owner", owner),
            key("provider", self.provider),
            key("writes", self.writes()),
            list("tags", &self.tags()),
            list("intents", &self.intents()),
        ];
        let tenants = self.not_tenancy();
        if !tenants.is_empty() {
            lines.push(list("not_tenancy", &tenants));
        }
        lines.concat()
    }

    fn describe_group(&self, actions: &[ImportedAction]) -> (String, String) {
        let tag = actions[0].tags.first().map_or("api", String::as_str);
        let purpose = format!("{} of {}", tag, self.title);
        let purposes: Vec<&str> = actions
            .iter()
            .map(|it| it.purpose.as_str())
            .take(8)
            .collect();
        let description = format!("{purpose}: {}.", purposes.join("; "));
        (purpose, description)
    }

    fn writes(&self) -> &'static str {
        let reads = self.actions.iter().any(|it| it.writes() == "read");
        let changes = self.actions.iter().any(|it| it.writes() != "read");
        match (reads, changes) {
            (true, true) => "read + write",
            (false, true) => "write",
            (_, false) => "read",
        }
    }

    fn tags(&self) -> Vec<String> {
        let mut tags: Vec<String> = self.actions.iter().flat_map(|it| it.tags.clone()).collect();
        tags.dedup();
        tags
    }

    fn intents(&self) -> Vec<String> {
        let provider = self.provider.replace('_', " ");
        let actions = self.actions.iter().take(5);
        actions.map(|it| intent(it, &provider)).collect()
    }

    /// Names such as `org` refer to something at this provider; the credential still determines the
    /// tenant.
    fn not_tenancy(&self) -> Vec<String> {
        let inputs = self.actions.iter().map(|it| &it.input);
        let mut names: Vec<String> = inputs.flat_map(property_names).collect();
        names.retain(|name| names_a_tenant(name));
        names.sort();
        names.dedup();
        names
    }

    fn api(&self) -> String {
        let access = &self.actions[0].access;
        let mut text = format!(
            "\n[api]\n{}",
            key("url", &access.url.replace('{', "{{").replace('}', "}}"))
        );
        if let Some(auth) = &access.auth {
            let own = self.provider.replace('_', "-");
            let credential = self.options.credential.as_deref().unwrap_or(&own);
            text.push_str(&key("credential", credential));
            text.push_str(&format!("auth = {auth}\n"));
        }
        text
    }
}

/// People ask for an object and name the provider. The area is added, because several areas may have
/// such objects.
fn intent(action: &ImportedAction, provider: &str) -> String {
    let purpose = lower_first_letter(&action.purpose);
    let area = action.tags.first().map(|tag| tag.replace(['-', '_'], " "));
    let known = format!("{purpose} {provider}").to_lowercase();
    match area.filter(|area| !known.contains(area.to_lowercase().trim_end_matches('s'))) {
        Some(area) => format!("{purpose} in {area} of {provider}"),
        None => format!("{purpose} in {provider}"),
    }
}

fn action_text(action: &ImportedAction) -> String {
    let mut text = format!("\n[actions.{}]\n", action.name);
    text.push_str(&key("description", &action.purpose));
    text.push_str(&key("writes", action.writes()));
    text.push_str(&key("method", &action.method));
    text.push_str(&key("path", &action.path));
    text.push_str(&pairs("query", &action.query));
    text.push_str(&pairs("headers", &action.headers));
    if let Some(body) = &action.body {
        text.push_str(&key("body", &body.pattern));
        if let Some(kind) = body.kind {
            text.push_str(&key("body_type", kind));
        }
    }
    if let Some(page) = &action.page {
        text.push_str(&format!(
            "pages = {{ number = {}, items = \"\" }}\n",
            toml_string(page)
        ));
    }
    text.push_str(&schema_text(&action.input));
    text
}

/// Returns the schema in triple quotes, which need no escapes, unless it contains triple quotes
/// itself.
fn schema_text(schema: &Value) -> String {
    let json = serde_json::to_string_pretty(schema).unwrap_or_default();
    match json.contains("'''") {
        true => key("input", &json),
        false => format!("input = '''\n{json}'''\n"),
    }
}

fn key(name: &str, value: &str) -> String {
    format!("{name} = {}\n", toml_string(value))
}

fn list(name: &str, values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| toml_string(value)).collect();
    format!("{name} = [{}]\n", values.join(", "))
}

fn pairs(name: &str, pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{} = {}", toml_string(name), toml_string(value)))
        .collect();
    format!("{name} = {{ {} }}\n", pairs.join(", "))
}

fn lower_first_letter(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let rest = letters.as_str();
    // An abbreviation stays as it is.
    match rest.starts_with(char::is_uppercase) {
        true => text.to_owned(),
        false => format!("{}{rest}", first.to_lowercase()),
    }
}

fn property_names(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let own = members.get("properties").and_then(Value::as_object);
            let own = own
                .into_iter()
                .flat_map(|properties| properties.keys().cloned());
            let inner = members.values().flat_map(property_names);
            own.chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(property_names).collect(),
        _ => Vec::new(),
    }
}
