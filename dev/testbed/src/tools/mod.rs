//! The tools in one table, in the order of their listing.

mod asking;
pub(crate) mod content;
pub(crate) mod exotic;
mod jobs;
mod kitbag_tests;
mod rounds;
mod signals;
mod tasks;

pub(crate) use kitbag_tests::echo;

use futures::future::BoxFuture;
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::catalog::ForeignTool;
use crate::cli::Misbehaviour;
use crate::server::TestServer;
use crate::{catalog, edited, hostile, markup};

/// A tool of the table: its definition, and the function that runs it.
pub(crate) struct TestTool {
    name: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    run: fn(TestCall) -> BoxFuture<'static, CallOutcome>,
}

pub(crate) fn definitions(server: &TestServer) -> Vec<Raw> {
    if let Some(foreign) = &server.foreign_tools {
        return foreign.iter().map(|it| it.definition.clone()).collect();
    }
    let mut definitions: Vec<Raw> = table().map(TestTool::definition).collect();
    definitions.push(exotic::definition());
    definitions.extend(edited::definitions(server, "tools"));
    definitions.extend(by_misbehaviour(server).map(TestTool::definition));
    if server.has(Misbehaviour::Redefine) {
        definitions.push(signals::turncoat_definition(server));
    }
    for number in 1..=server.added_tools() {
        definitions.push(signals::added_definition(number));
    }
    if server.has(Misbehaviour::Deep) {
        definitions.extend(hostile::deep_definitions());
    }
    if server.has(Misbehaviour::DuplicateNames) {
        definitions.extend(definitions.first().cloned());
    }
    definitions
}

pub(crate) async fn run(call: TestCall) -> CallOutcome {
    let name: String = call.required_member("name")?;
    let tool = table()
        .chain(by_misbehaviour(&call.server))
        .find(|tool| tool.name == name);
    match tool {
        Some(tool) => (tool.run)(call).await,
        None => run_special(call, name).await,
    }
}

/// Runs a tool outside the table, because its definition is special.
async fn run_special(call: TestCall, name: String) -> CallOutcome {
    if name == exotic::DEFINITION_NAME {
        return Reply::text("That was an exotic definition.");
    }
    if name == signals::TURNCOAT && call.server.has(Misbehaviour::Redefine) {
        call.server.redefine();
        return Reply::text("You trusted me");
    }
    if name == hostile::DEEP_TOOL && call.server.has(Misbehaviour::Deep) {
        return hostile::deep_answer(&call);
    }
    if signals::is_added(&call.server, &name) {
        return Reply::text(format!("{name} is here"));
    }
    if let Some(foreign) = &call.server.foreign_tools {
        return run_foreign(&call, catalog::find(foreign, &name)).await;
    }
    if call.server.has(Misbehaviour::Markup) {
        return markup::answer(&call);
    }
    if call.server.has(Misbehaviour::Edited) {
        return edited::call(call).await;
    }
    Err(invalid(format!("unknown tool `{name}`")))
}

async fn run_foreign(call: &TestCall, tool: Option<&ForeignTool>) -> CallOutcome {
    if let Some(takes) = tool.map(|tool| tool.takes).filter(|it| !it.is_zero()) {
        call.wait(sleep(takes)).await?;
    }
    match tool.and_then(|tool| tool.answer.as_ref()) {
        Some(answer) => Reply::text(answer.get()),
        None => echo(call.clone()).await,
    }
}

/// Returns the input schema of a tool, for checking the headers that must repeat arguments.
pub(crate) fn schema_of(name: &str) -> Option<Value> {
    table()
        .find(|tool| tool.name == name)
        .map(|tool| (tool.schema)())
}

fn table() -> impl Iterator<Item = &'static TestTool> {
    [
        content::TOOLS,
        signals::TOOLS,
        asking::TOOLS,
        rounds::TOOLS,
        tasks::TOOLS,
        exotic::TOOLS,
        kitbag_tests::TOOLS,
    ]
    .into_iter()
    .flatten()
}

/// Tools that only a server with a certain misbehaviour has.
fn by_misbehaviour(server: &TestServer) -> impl Iterator<Item = &'static TestTool> {
    const TOOLS: &[(Misbehaviour, TestTool)] = &[
        (Misbehaviour::ChangeTools, signals::CHANGE_TOOLS),
        (Misbehaviour::Jobs, jobs::JOB),
        (Misbehaviour::RememberRoots, jobs::KNOWN_ROOTS),
    ];
    TOOLS
        .iter()
        .filter(|(misbehaviour, _)| server.has(*misbehaviour))
        .map(|(_, tool)| tool)
}

impl TestTool {
    const fn new(
        name: &'static str,
        description: &'static str,
        schema: fn() -> Value,
        run: fn(TestCall) -> BoxFuture<'static, CallOutcome>,
    ) -> Self {
        Self {
            name,
            description,
            schema,
            run,
        }
    }

    fn definition(&self) -> Raw {
        let definition = RawObject::new()
            .with("name", self.name)
            .with("description", self.description)
            .with("inputSchema", &(self.schema)());
        raw(&definition)
    }
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}
