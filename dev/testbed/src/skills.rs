//! Skills: one with a second file, and one that is generated when it is read.

use kitbag_wire::{Raw, raw};
use serde_json::{Value, json};

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::edited;
use crate::server::TestServer;

const REFUNDS: &str = "skill://refunds/SKILL.md";
const LIMITS: &str = "skill://refunds/references/limits.md";
const DAILY: &str = "skill://reports/daily/SKILL.md";

pub(crate) fn list(server: &TestServer) -> Vec<Raw> {
    let own = [refunds(), daily()];
    let own = own.iter().map(raw);
    own.chain(edited::definitions(server, "skills")).collect()
}

fn refunds() -> Value {
    json!({
        "uri": REFUNDS,
        "frontmatter": { "name": "refunds", "description": "Refund a customer by the rules of the company" },
        "resources": [
            {
                "uri": REFUNDS,
                "digest": "sha256:f8d0e0705d69975954e54975f76ed631283bea44149dc13ceb9f8ee3a4793499",
                "size": 115,
            },
            {
                "uri": LIMITS,
                "digest": "sha256:4458d271161d469c71ac8284ef7f3db449255921334343d67e0c692ed552d8f4",
                "size": 42,
            },
        ],
    })
}

fn daily() -> Value {
    json!({
        "uri": DAILY,
        "frontmatter": { "name": "daily", "description": "Assemble the report of the day" },
        "resources": "dynamic",
    })
}

pub(crate) fn get(call: &TestCall) -> CallOutcome {
    let uri: String = call.required_member("uri")?;
    if let Some(skill) = edited::skill(&call.server, &uri) {
        return Reply::member("skill", &skill);
    }
    match uri.as_str() {
        REFUNDS => Reply::member("skill", &refunds()),
        DAILY => Reply::member("skill", &daily()),
        _ => Err(invalid(format!("no skill is served at {uri}"))),
    }
}

pub(crate) fn directory(call: &TestCall) -> CallOutcome {
    let uri: String = call.required_member("uri")?;
    if let Some(files) = edited::directory(&call.server, &uri) {
        return Reply::member("resources", &files);
    }
    match uri.as_str() {
        "skill://refunds/references" => Reply::member(
            "resources",
            &json!([{ "uri": LIMITS, "name": "limits.md", "mimeType": "text/markdown" }]),
        ),
        _ => Err(invalid(format!("{uri} is not a directory resource"))),
    }
}

/// Returns the text of a file.
pub(crate) fn text(uri: &str) -> Option<&'static str> {
    match uri {
        REFUNDS => Some(
            "---\nname: refunds\ndescription: Refund a customer by the rules of the company\n---\n\n\
             Read references/limits.md first.\n",
        ),
        LIMITS => Some("At most 50 euros without a second person.\n"),
        DAILY => Some("---\nname: daily\ndescription: Assemble the report of the day\n---\n"),
        _ => None,
    }
}
