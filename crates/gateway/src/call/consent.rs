//! Decides whether a program may call a tool that may write, and asks the user if the rules require
//! it.

use kitbag_domain::text::strip_invisible;
use kitbag_domain::{WriteClass, derived_effect};
use kitbag_policy::CodeWrites;
use kitbag_wire::meta::method;
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::json;

use crate::call::CallSubject;
use crate::call::failure::Failure;
use crate::call::resolve::{CallTarget, Executor};
use crate::turn::Turn;
use crate::turn::run::CodeRun;

/// Permits a call that is not made by a program, that only reads, or that the rules or the user
/// allow.
pub(crate) async fn require_consent(turn: &Turn, target: &CallTarget) -> Result<(), Failure> {
    let Some(run) = &turn.run else { return Ok(()) };
    if write_class(turn, target) == WriteClass::Read {
        return Ok(());
    }
    if run.only_reads {
        return Err(denied_failure(turn, target, "a trial only reads"));
    }
    match turn.policy().writes_from_code(turn.caller()) {
        CodeWrites::Allow => Ok(()),
        CodeWrites::Deny => Err(denied_failure(
            turn,
            target,
            "the rules of this gateway forbid it",
        )),
        CodeWrites::Ask => ask_user(turn, run, target).await,
    }
}

/// Returns the effect of a call. A tool without known effect may do anything.
pub(crate) fn write_class(turn: &Turn, target: &CallTarget) -> WriteClass {
    match &target.executor {
        Executor::Api(target) if target.request.method.is_safe() => WriteClass::Read,
        Executor::Api(_) => WriteClass::Write,
        Executor::ToolFile(target) => target.write_class(),
        Executor::Mcp(target) => match &target.subject {
            CallSubject::Tool(name) => turn
                .catalog
                .tool(name)
                .map_or(WriteClass::Unknown, |entry| turn.gateway.write_class(entry)),
            _ => WriteClass::Read,
        },
    }
}

async fn ask_user(turn: &Turn, run: &CodeRun, target: &CallTarget) -> Result<(), Failure> {
    let tool = tool_name(target);
    if run.is_permitted(&tool) {
        return Ok(());
    }
    let question = consent_question(&tool, target);
    let capabilities = &turn.client.capabilities;
    if !capabilities.can_answer(method::ELICIT, Some(&question)) {
        return Err(denied_failure(
            turn,
            target,
            "this client cannot ask the user",
        ));
    }
    let answer = turn.back.clone().ask(method::ELICIT, Some(question)).await;
    let answer = answer.map_err(|error| Failure::ClientRefused { error })?;
    match Consent::parse(&answer) {
        Consent::Once => Ok(()),
        Consent::Run => {
            run.permit_tool(&tool);
            Ok(())
        }
        Consent::No => Err(denied_failure(turn, target, "the user did not permit it")),
    }
}

/// The user's answer.
#[derive(Debug, PartialEq, Eq)]
enum Consent {
    Once,
    /// For every call of this tool in this run.
    Run,
    No,
}

impl Consent {
    /// Everything but a clear yes is a no.
    fn parse(answer: &Raw) -> Self {
        let answer = RawObject::open(answer).unwrap_or_default();
        let action: Option<String> = answer.read("action");
        if action.as_deref() != Some("accept") {
            return Self::No;
        }
        let content = answer.get_object("content").unwrap_or_default();
        match content.read::<String>("permit").as_deref() {
            Some(ONCE) => Self::Once,
            Some(RUN) => Self::Run,
            _ => Self::No,
        }
    }
}

const ONCE: &str = "this call";
const RUN: &str = "all calls of this tool in this run";
const NEVER: &str = "no";

fn consent_question(tool: &str, target: &CallTarget) -> Raw {
    let message = format!(
        "A program written by the model wants to call `{tool}`, which may change something, with {}. Allow it?",
        truncate_arguments(target)
    );
    raw(&json!({
        "message": strip_invisible(&message),
        "requestedSchema": {
            "type": "object",
            "properties": { "permit": { "type": "string", "enum": [ONCE, RUN, NEVER] } },
            "required": ["permit"],
        },
    }))
}

/// Returns the arguments, shortened to a length that a user will read.
fn truncate_arguments(target: &CallTarget) -> String {
    const MOST: usize = 600;
    let text = target.arguments().unwrap_or("no arguments");
    let cut = &text[..text.floor_char_boundary(MOST)];
    let more = if cut.len() < text.len() { " …" } else { "" };
    format!("{cut}{more}")
}

/// Names the one configuration line that would allow the call, and the alternative that works now.
fn denied_failure(turn: &Turn, target: &CallTarget, why: &str) -> Failure {
    let tool = tool_name(target);
    let capability = &target.capability;
    let changes = derived_effect::name_implies_change(capability.server.as_str(), &capability.name);
    let (effect, line) = match write_class(turn, target) {
        WriteClass::Unknown if !changes => (
            "does not say whether it only reads",
            format!("`write_class = \"read\"` under [tools.{tool}], if it only reads"),
        ),
        _ => (
            "may change something",
            "`code_writes = \"allow\"` under [policy]".to_owned(),
        ),
    };
    let user = match &target.executor {
        Executor::Api(_) => String::new(),
        _ => format!(" The user can run it with `kitbag call {tool}`."),
    };
    let reason = format!(
        "`{tool}` {effect}, and {why}. To let programs and run_intent call it, set {line}.{user}"
    );
    Failure::Denied { reason }
}

fn tool_name(target: &CallTarget) -> String {
    match &target.executor {
        Executor::Mcp(target) => target.subject.kind_and_name().1.to_owned(),
        Executor::ToolFile(target) => target.tool.file.name.to_string(),
        Executor::Api(_) => format!("{} {}", target.capability.server, target.capability.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &serde_json::Value, expected: &Consent) {
        assert_eq!(Consent::parse(&raw(answer)), *expected, "{answer}");
    }

    #[test]
    fn only_a_plain_yes_permits_a_call() {
        check(
            &json!({ "action": "accept", "content": { "permit": ONCE } }),
            &Consent::Once,
        );
        check(
            &json!({ "action": "accept", "content": { "permit": RUN } }),
            &Consent::Run,
        );
        for no in [
            json!({ "action": "accept", "content": { "permit": NEVER } }),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "permit": ONCE } }),
            json!({ "action": "cancel" }),
            json!([]),
        ] {
            check(&no, &Consent::No);
        }
    }
}
