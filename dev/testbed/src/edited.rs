//! Definitions that a test writes into a file while the server runs: an author who publishes
//! another version, or a hostile one.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use kitbag_wire::{Raw, RawObject};
use serde_json::json;

use crate::call::{CallOutcome, Reply, TestCall};
use crate::cli::Misbehaviour;
use crate::server::TestServer;
use crate::subscriptions::AnnouncedChange;
use crate::tools::echo;

/// Returns the definitions under this member of `edited.json`, as the file is now.
pub(crate) fn definitions(server: &TestServer, member: &str) -> Vec<Raw> {
    file(server).read(member).unwrap_or_default()
}

/// Returns the server's instructions from the file, if it has any.
pub(crate) fn instructions(server: &TestServer) -> Option<String> {
    file(server).read("instructions")
}

fn file(server: &TestServer) -> RawObject {
    if !server.has(Misbehaviour::Edited) {
        return RawObject::new();
    }
    let text = server.in_data_dir("edited.json").map(fs::read_to_string);
    let text = text.and_then(Result::ok).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// True if the server no longer answers list requests.
pub(crate) fn is_mute(server: &TestServer) -> bool {
    server.has(Misbehaviour::Edited) && exists(server, "mute")
}

/// Answers for every tool, listed or not.
pub(crate) async fn call(call: TestCall) -> CallOutcome {
    if exists(&call.server, "flood") {
        flood(&call.server);
    }
    echo(call).await
}

/// Answers for every prompt, listed or not.
pub(crate) fn prompt(server: &Arc<TestServer>, name: &str) -> CallOutcome {
    if exists(server, "flood") {
        flood(server);
    }
    let content = json!({ "type": "text", "text": format!("{name} says this") });
    Reply::member("messages", &[json!({ "role": "user", "content": content })])
}

/// Returns the text of every resource, listed or not; the file may have another one under `texts`.
pub(crate) fn text(server: &TestServer, uri: &str) -> Option<String> {
    let is_own = server.has(Misbehaviour::Edited) && uri.starts_with(SCHEME);
    let texts = file(server).get_object("texts").unwrap_or_default();
    is_own.then(|| {
        texts
            .read(uri)
            .unwrap_or_else(|| format!("{uri} says this"))
    })
}

/// Returns a skill by its URI: its definition under `told`, or else the listed one.
pub(crate) fn skill(server: &TestServer, uri: &str) -> Option<Raw> {
    let members = ["told", "skills"].into_iter();
    let mut skills = members.flat_map(|member| definitions(server, member));
    skills.find(|it| own_uri(it).as_deref() == Some(uri))
}

/// Returns the files of all skills below this URI.
pub(crate) fn directory(server: &TestServer, uri: &str) -> Option<Vec<Raw>> {
    if !server.has(Misbehaviour::Edited) || !uri.starts_with(SCHEME) {
        return None;
    }
    let skills = definitions(server, "skills");
    let skills = skills.iter().filter_map(|it| RawObject::open(it).ok());
    let files = skills.flat_map(|it| it.read::<Vec<Raw>>("resources").unwrap_or_default());
    let is_inside = |it: &Raw| own_uri(it).is_some_and(|file| file.starts_with(uri));
    Some(files.filter(is_inside).collect())
}

fn own_uri(definition: &Raw) -> Option<String> {
    RawObject::open(definition).ok()?.read("uri")
}

const SCHEME: &str = "note:";

fn exists(server: &TestServer, name: &str) -> bool {
    server.in_data_dir(name).is_some_and(|path| path.exists())
}

/// So often that a gateway which waits for silence would wait forever.
const EVERY: Duration = Duration::from_millis(5);

/// Announces endless changes, the first of them before the call is answered.
fn flood(server: &Arc<TestServer>) {
    let announce = |server: &TestServer| {
        server.listeners.announce(&AnnouncedChange::Tools);
        server.listeners.announce(&AnnouncedChange::Prompts);
    };
    announce(server);
    if server.begins_to_flood() {
        let server = server.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                announce(&server);
            }
        });
    }
}
