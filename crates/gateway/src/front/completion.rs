//! Reads and rewrites the reference of `completion/complete`. The policy must check the same
//! reference that the server reads, so the gateway rewrites the reference with only the members
//! that the policy checked.

use std::collections::HashMap;

use kitbag_domain::{Capability, Kind};
use kitbag_wire::RawObject;

use crate::call::failure::Failure;
use crate::call::required_string;
use crate::catalog::uri_template::fill_template;

/// The subject of a completion: a prompt's name, or a resource template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompletionReference {
    Prompt(String),
    Resource(String),
}

const PROMPT: &str = "ref/prompt";
const RESOURCE: &str = "ref/resource";

impl CompletionReference {
    /// Reads the reference. Its type decides which member counts, as it does for servers.
    pub(crate) fn parse(params: &RawObject) -> Result<Self, Failure> {
        let reference = params
            .get_object("ref")
            .ok_or_else(|| Failure::bad_params("`ref` must be an object"))?;
        match required_string(&reference, "type")?.as_str() {
            PROMPT => Ok(Self::Prompt(required_string(&reference, "name")?)),
            RESOURCE => Ok(Self::Resource(required_string(&reference, "uri")?)),
            other => Err(Failure::bad_params(format!(
                "unknown `ref` type `{other}`; expected {PROMPT} or {RESOURCE}"
            ))),
        }
    }
}

/// Rewrites the reference for its server. If the request contains values, returns the resource that
/// results from the template: it must be permitted as well.
pub(crate) fn rewrite_reference(target: &Capability, params: &mut RawObject) -> Option<Capability> {
    let (kind, member) = match target.kind {
        Kind::Resource => (RESOURCE, "uri"),
        Kind::Prompt | Kind::Tool => (PROMPT, "name"),
    };
    params.put(
        "ref",
        &RawObject::new()
            .with("type", kind)
            .with(member, &target.name),
    );
    if target.kind != Kind::Resource {
        return None;
    }
    let name = fill_template(&target.name, &completion_values(params));
    (name != target.name).then(|| Capability {
        name,
        ..target.clone()
    })
}

/// Returns the values chosen earlier, and the partial value being completed.
fn completion_values(params: &RawObject) -> HashMap<String, String> {
    let context = params
        .get_object("context")
        .and_then(|it| it.get_object("arguments"))
        .unwrap_or_default();
    let mut values: HashMap<String, String> = context
        .iter()
        .filter_map(|(name, value)| {
            Some((name.to_owned(), serde_json::from_str(value.get()).ok()?))
        })
        .collect();
    let typed = params.get_object("argument").unwrap_or_default();
    if let (Some(name), Some(value)) = (typed.read("name"), typed.read::<String>("value"))
        && !value.is_empty()
    {
        values.insert(name, value);
    }
    values
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    /// Checks the reference for the policy, and the reference for the server.
    #[track_caller]
    fn check(reference: &Value, expected: Result<(CompletionReference, Value), &str>) {
        let mut params = RawObject::open(&raw(&json!({ "ref": reference }))).unwrap();
        let found = CompletionReference::parse(&params)
            .map_err(|failure| failure.to_string())
            .map(|read| {
                let (kind, name) = match &read {
                    CompletionReference::Prompt(name) => (Kind::Prompt, name),
                    CompletionReference::Resource(uri) => (Kind::Resource, uri),
                };
                let target = Capability {
                    server: "s".parse().unwrap(),
                    kind,
                    name: name.clone(),
                };
                rewrite_reference(&target, &mut params);
                (read, params.read::<Value>("ref").unwrap())
            });
        assert_eq!(found, expected.map_err(str::to_owned), "{reference}");
    }

    #[test]
    fn only_the_member_named_by_the_type_is_forwarded() {
        check(
            &json!({ "type": "ref/resource", "uri": "mem://secret/{x}", "name": "public" }),
            Ok((
                CompletionReference::Resource("mem://secret/{x}".to_owned()),
                json!({ "type": "ref/resource", "uri": "mem://secret/{x}" }),
            )),
        );
        check(
            &json!({ "type": "ref/prompt", "uri": "mem://secret/{x}", "name": "p", "NAME": "q", "Type": "ref/resource" }),
            Ok((
                CompletionReference::Prompt("p".to_owned()),
                json!({ "type": "ref/prompt", "name": "p" }),
            )),
        );
        check(&json!({ "name": "p" }), Err("`type` is missing"));
        check(
            &json!({ "type": "ref/resource", "name": "p" }),
            Err("`uri` is missing"),
        );
        check(
            &json!({ "type": "REF/RESOURCE", "uri": "x" }),
            Err("unknown `ref` type `REF/RESOURCE`; expected ref/prompt or ref/resource"),
        );
    }

    #[test]
    fn a_template_is_judged_with_the_values_of_the_request() {
        let params = json!({
            "argument": { "name": "x", "value": "pay" }, "context": { "arguments": { "area": "secret" } },
        });
        let mut params = RawObject::open(&raw(&params)).unwrap();
        let target = Capability {
            server: "s".parse().unwrap(),
            kind: Kind::Resource,
            name: "mem://{area}/{+x}".to_owned(),
        };
        assert_eq!(
            rewrite_reference(&target, &mut params).unwrap().name,
            "mem://secret/pay"
        );
    }
}
