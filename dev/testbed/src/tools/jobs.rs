//! Tools about work between calls: jobs that continue after their call, and roots that the server
//! remembers.

use std::io::Write;

use kitbag_wire::meta::method;
use kitbag_wire::{Notification, raw};
use serde_json::{Value, json};

use super::{TestTool, no_arguments};
use crate::call::{CallOutcome, Reply, TestCall};
use crate::input::InputRequest;

pub(super) const JOB: TestTool = TestTool::new(
    "job",
    "Answers at once; mentions and asks `words` when a file `go` is there",
    words_schema,
    |call| Box::pin(job(call)),
);

pub(super) const KNOWN_ROOTS: TestTool = TestTool::new(
    "known_roots",
    "The roots the client gave last",
    no_arguments,
    |call| Box::pin(known_roots(call)),
);

async fn job(call: TestCall) -> CallOutcome {
    let words: String = call.argument("words").unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "a job for {words}");
    tokio::spawn(go_on(call, words));
    Reply::text("The job goes on")
}

/// The job no longer belongs to a request, so its messages go to the stream for such messages.
async fn go_on(call: TestCall, words: String) {
    call.server.wait_for_file("go").await;
    let (peer, outbox) = (&call.peer, &call.peer.general);
    let line = json!({ "level": "error", "logger": "job", "data": words });
    outbox.send(Notification::new(method::LOG, Some(raw(&line))));
    outbox.send(Notification::new("notifications/job", Some(raw(&line))));
    let form = InputRequest::field(&words, "value", "string");
    for (method, params) in [(form.method, form.params), (method::LIST_ROOTS, json!({}))] {
        match peer.ask(outbox, method, &params).await {
            Ok(answer) => call
                .server
                .note(&format!("answered {method}: {}", answer.get())),
            Err(error) => call
                .server
                .note(&format!("refused {method}: {}", error.message)),
        }
    }
    call.server.note("job done");
}

async fn known_roots(call: TestCall) -> CallOutcome {
    Reply::text(call.peer.roots().unwrap_or_else(|| "none".to_owned()))
}

fn words_schema() -> Value {
    json!({ "type": "object", "properties": { "words": { "type": "string" } } })
}
