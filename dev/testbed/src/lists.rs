//! The requests common to both eras, and paged lists.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_wire::meta::method;
use kitbag_wire::{Raw, RawObject};

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::cli::Misbehaviour;
use crate::dispatch::method_not_found;
use crate::{edited, hostile, prompts, resources, skills, tools};

pub(crate) async fn serve(call: TestCall) -> CallOutcome {
    let lies = call.server.has(Misbehaviour::Lie);
    let has_skills = call.server.has(Misbehaviour::Skills);
    match call.method.as_str() {
        method::LIST_TOOLS if call.server.has(Misbehaviour::ManyTools) => {
            hostile::many_tools(&call)
        }
        method::LIST_TOOLS => list_tools(&call).await,
        method::CALL_TOOL => tools::run(call).await,
        method::LIST_RESOURCES if lies => Err(method_not_found(method::LIST_RESOURCES)),
        method::LIST_RESOURCES => page(&call, "resources", &resources::list(&call.server)),
        method::LIST_TEMPLATES if call.server.has(Misbehaviour::ManyTemplates) => {
            hostile::many_templates()
        }
        method::LIST_TEMPLATES => page(
            &call,
            "resourceTemplates",
            &resources::templates(&call.server),
        ),
        method::READ_RESOURCE => resources::read(&call),
        method::LIST_SKILLS if has_skills => page(&call, "skills", &skills::list(&call.server)),
        method::GET_SKILL if has_skills => skills::get(&call),
        method::READ_DIRECTORY if has_skills => skills::directory(&call),
        method::LIST_PROMPTS if lies => call.wait(std::future::pending()).await?,
        method::LIST_PROMPTS => page(&call, "prompts", &prompts::list(&call.server)),
        method::GET_PROMPT => prompts::get(&call).await,
        method::COMPLETE => prompts::complete(&call),
        name => Err(method_not_found(name)),
    }
}

/// So small that every list of this server has several pages.
const PAGE: usize = 2;
const ENDLESS_CURSOR: &str = "again";

async fn list_tools(call: &TestCall) -> CallOutcome {
    if call.server.has(Misbehaviour::EarlyRoots) && call.peer.handshake().is_some() {
        call.wait(call.peer.wait_for_roots()).await?;
    }
    if edited::is_mute(&call.server) {
        call.wait(std::future::pending::<()>()).await?;
    }
    let tools = tools::definitions(&call.server);
    if call.server.has(Misbehaviour::EndlessCursor) {
        let result = RawObject::new()
            .with("tools", &tools)
            .with("nextCursor", ENDLESS_CURSOR);
        return Ok(Reply::Object(result));
    }
    page(call, "tools", &tools)
}

fn page(call: &TestCall, key: &str, items: &[Raw]) -> CallOutcome {
    if !call.server.has(Misbehaviour::Paginate) {
        return Reply::member(key, items);
    }
    let start = match call.params.read::<String>("cursor") {
        Some(cursor) => offset(key, &cursor)
            .filter(|at| *at <= items.len())
            .ok_or_else(|| invalid("unknown cursor"))?,
        None => 0,
    };
    let end = items.len().min(start + PAGE);
    let mut result = RawObject::new().with(key, &items[start..end]);
    if end < items.len() {
        result.put("nextCursor", &cursor(key, end));
    }
    Ok(Reply::Object(result))
}

fn cursor(list: &str, offset: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}@{offset}"))
}

fn offset(list: &str, cursor: &str) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(list)?.strip_prefix('@')?.parse().ok()
}
