//! Configuration edits while the gateway runs.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Client, Era, Gateway, Home, Testbed, processes, until};

const UPDATED: &str = "notifications/resources/updated";
const WATCHED: &str = "test://watched-resource";
const OTHER: &str = "test://static-text";

/// A gateway that has listed `one`.
async fn with_one(more: &str) -> Gateway {
    let gateway = Gateway::with(&format!("{}{more}", one())).await;
    gateway.client(Era::Modern).await.knows("one__echo").await;
    gateway
}

fn one() -> String {
    Testbed::new("one").table()
}

async fn says(gateway: &Gateway, what: &str) {
    until(what, async || gateway.log().contains(what).then_some(())).await;
}

async fn lacks(client: &Client, tool: &str) {
    let what = format!("{tool} is gone");
    until(&what, async || {
        (!client.tool_names().await.iter().any(|it| it == tool)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_added_server_is_there_without_a_restart_and_clients_are_notified() {
    for client_era in Era::each() {
        let gateway = with_one("").await;
        let client = gateway.client(client_era).await;
        let mut changes = client.listen().await;
        let process = process_of_one(&gateway, &client).await;
        gateway
            .home
            .configure(&format!("{}{}", one(), Testbed::new("two").table()));
        changes.wait_for("notifications/tools/list_changed").await;
        client.knows("two__echo").await;
        for tool in ["one__echo", "two__echo"] {
            assert_eq!(
                client.call(tool, &json!({ "a": 1 })).await.text(),
                r#"{"a":1}"#
            );
        }
        assert!(
            gateway.children().contains(&process),
            "what has not changed goes on"
        );
    }
}

#[tokio::test]
async fn an_added_server_is_there_over_stdio_too() {
    let home = Home::new(&one());
    let client = Client::stdio(&home, Era::Modern).connect().await;
    client.knows("one__echo").await;
    home.configure(&Testbed::new("two").table());
    client.knows("two__echo").await;
    lacks(&client, "one__echo").await;
}

#[tokio::test]
async fn a_removed_server_finishes_its_calls_and_then_ends() {
    let home = Home::new("");
    let trace = home.path("trace");
    home.configure(&Testbed::new("slow").data_dir(&trace).table());
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("slow__slow").await;
    let call = json!({
        "name": "slow__slow",
        "arguments": { "ms": 4000, "steps": 40 },
        "_meta": { "progressToken": 1 },
    });
    let mut under_way = client.start("tools/call", &call).await;
    under_way.wait_for("notifications/progress").await;
    home.configure("");
    lacks(&client, "slow__slow").await;
    let output = client.call("slow__slow", &json!({ "ms": 1 })).await.error();
    assert_eq!(output["message"], "there is no tool called `slow__slow`");
    assert_eq!(under_way.finish().await.text(), "slept 4000 ms in 40 steps");
    let words = trace.to_str().unwrap();
    until("its process ends", async || {
        processes::find_by_command_line(words)
            .is_empty()
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_bad_edit_is_reported_and_the_previous_configuration_stays() {
    let gateway = with_one("").await;
    let client = gateway.client(Era::Modern).await;
    for (edit, output) in [
        (
            "[servers.two]\ncommand = 'a'\nurl = 'b'",
            "keeping the previous configuration",
        ),
        ("[serves]", "serves"),
        (
            "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true",
            "but no key exists",
        ),
        ("[servers.two]\ncommand = '${secret:none", "invalid TOML"),
    ] {
        gateway.home.configure(edit);
        says(&gateway, output).await;
        assert_eq!(
            client.call("one__echo", &json!({})).await.text(),
            "{}",
            "after {edit}"
        );
    }
    fs::remove_file(gateway.home.path("kitbag.toml")).unwrap();
    says(&gateway, "kitbag.toml no longer exists").await;
    assert_eq!(client.call("one__echo", &json!({})).await.text(), "{}");
    gateway.home.configure(&Testbed::new("two").table());
    client.knows("two__echo").await;
}

#[tokio::test]
async fn an_added_rule_applies_from_then_on() {
    let gateway = with_one("").await;
    let client = gateway.client(Era::Legacy).await;
    gateway
        .home
        .configure(&format!("{}[policy]\ndeny_tools = [\"one/ech*\"]", one()));
    lacks(&client, "one__echo").await;
    let output = client.call("one__echo", &json!({})).await.tool_error();
    assert!(output.contains("one/ech*"), "{output}");
}

#[tokio::test]
async fn no_call_fails_however_often_servers_are_changed() {
    let two = |round: usize| {
        Testbed::new("two")
            .with(&format!("idle_timeout = \"{round}m\""))
            .table()
    };
    let gateway = with_one(&two(99)).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("two__echo").await;
    let process = process_of_one(&gateway, &client).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for tool in ["one__echo", "two__echo"] {
        for client_era in [Era::BOTH, Era::BOTH].concat() {
            let (client, done) = (gateway.client(client_era).await, done.clone());
            callers.spawn(async move {
                let mut calls = 0;
                while !done.load(Ordering::Relaxed) {
                    let sent = json!({ "number": calls });
                    assert_eq!(
                        client.call(tool, &sent).await.text(),
                        sent.to_string(),
                        "{tool}"
                    );
                    calls += 1;
                }
                calls
            });
        }
    }
    for round in 1..=8 {
        gateway.home.configure(&format!("{}{}", one(), two(round)));
        let taken_over = "configuration reloaded";
        until("it is in force", async || {
            (gateway.log().matches(taken_over).count() == round).then_some(())
        })
        .await;
    }
    done.store(true, Ordering::Relaxed);
    assert!(callers.join_all().await.into_iter().all(|calls| calls > 0));
    assert!(
        gateway.children().contains(&process),
        "what has not changed goes on"
    );
}

/// The process of the first server, the only one called so far.
async fn process_of_one(gateway: &Gateway, client: &Client) -> u32 {
    assert_eq!(client.call("one__echo", &json!({})).await.text(), "{}");
    until("it alone runs", async || {
        match gateway.children().as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    })
    .await
}

#[tokio::test]
async fn a_watching_client_is_notified_even_after_the_server_was_changed() {
    for era in ["legacy", "modern"] {
        let table = |more: &str| Testbed::new("one").era(era).with(more).table();
        let gateway = Gateway::with(&table("")).await;
        let client = gateway
            .client_at("/servers/one/mcp", Era::Modern)
            .connect()
            .await;
        client.knows("touch_resource").await;
        let mut watching = client
            .subscribe(&json!({ "resourceSubscriptions": [WATCHED] }))
            .await;
        let started = gateway.log().matches("server=one era=").count();
        gateway.home.configure(&table("idle_timeout = \"9m\""));
        until("the new one runs", async || {
            (gateway.log().matches("server=one era=").count() > started).then_some(())
        })
        .await;
        // It may not have subscribed yet when the resource first changes.
        until("an update is heard", async || {
            client
                .call("touch_resource", &json!({ "uri": WATCHED }))
                .await
                .text();
            tokio::time::timeout(Duration::from_millis(500), watching.wait_for(UPDATED))
                .await
                .ok()
        })
        .await;
    }
}

#[tokio::test]
async fn an_added_rule_applies_to_resources_already_watched() {
    let gateway = with_one("").await;
    let client = gateway
        .client_at("/servers/one/mcp", Era::Modern)
        .connect()
        .await;
    let mut watching = client
        .subscribe(&json!({ "resourceSubscriptions": [WATCHED, OTHER] }))
        .await;
    gateway.home.configure(&format!(
        "{}[policy]\ndeny_tools = [\"one/test://watched-*\"]",
        one()
    ));
    says(&gateway, "configuration reloaded").await;
    for uri in [WATCHED, OTHER] {
        client
            .call("touch_resource", &json!({ "uri": uri }))
            .await
            .text();
    }
    assert_eq!(watching.wait_for(UPDATED).await["params"]["uri"], OTHER);
}

#[tokio::test]
async fn the_built_in_server_goes_and_comes_back_with_other_data() {
    const LOOKUP: &str = "agents__lookup_capability";
    let gateway = Gateway::with("[agents]\nenabled = true\n").await;
    let client = gateway.client(Era::Modern).await;
    client.knows(LOOKUP).await;
    gateway.home.configure("[agents]\nenabled = false\n");
    lacks(&client, LOOKUP).await;
    for agent in ["mine", "yours"] {
        let folder = gateway
            .home
            .path(&format!("{agent}/agents/{agent}/capabilities"));
        fs::create_dir_all(&folder).unwrap();
        let data = json!({
            "agent": {
                "id": agent, "name": agent, "vendor": "Me", "version": "1", "lastUpdated": "2026-01-01",
            },
            "capabilities": [
                { "name": "Cooking", "category": "testing", "available": null, "status": "unknown" },
            ],
        });
        fs::write(folder.join("current.json"), data.to_string()).unwrap();
        gateway
            .home
            .configure(&format!("[agents]\ndirectory = \"{agent}\"\n"));
        client.knows(LOOKUP).await;
        until("the new data is asked", async || {
            let answer = client
                .call(LOOKUP, &json!({ "agent": agent, "capability": "cooking" }))
                .await;
            (answer.result()["structuredContent"]["agent"] == agent).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn settings_that_need_a_restart_are_named() {
    let gateway = with_one("").await;
    gateway
        .home
        .configure(&format!("[serve]\nbind = \"127.0.0.1:1\"\n{}", one()));
    says(&gateway, "key=\"serve.bind\"").await;
    assert_eq!(
        gateway
            .client(Era::Modern)
            .await
            .call("one__echo", &json!({}))
            .await
            .text(),
        "{}"
    );
}

#[tokio::test]
async fn a_projects_servers_are_not_imported_unasked() {
    let home = Home::new(&format!("{}[import]\nfollow = [\"cursor\"]", one()));
    let line = Testbed::new("two").era("legacy").line();
    let words: Vec<_> = line.split_whitespace().collect();
    let file =
        |name: &str| json!({ "mcpServers": { name: { "command": words[0], "args": words[1..] } } });
    for (folder, name) in [("project/.cursor", "foreign"), (".cursor", "mine")] {
        fs::create_dir_all(home.path(folder)).unwrap();
        fs::write(home.path(folder).join("mcp.json"), file(name).to_string()).unwrap();
    }
    let config = home.path("kitbag.toml");
    let mut command = home.command(&["serve", "--stdio", "--config", config.to_str().unwrap()]);
    command
        .current_dir(home.path("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    let written = async || {
        fs::read_to_string(&config)
            .ok()
            .filter(|text| text.contains("[servers.mine]"))
    };
    let text = until("the person's own server is imported", written).await;
    assert!(!text.contains("foreign"), "{text}");
    drop(gateway.stdin.take());
    gateway.wait().unwrap();
}

#[tokio::test]
async fn servers_added_to_a_followed_client_are_imported_and_served() {
    let home = Home::new(&one());
    let cursor = home.path(".cursor/mcp.json");
    fs::create_dir(home.path(".cursor")).unwrap();
    let output = home
        .kitbag(&["import", "--from", "cursor", "--follow"])
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("one__echo").await;

    let line = Testbed::new("two").line();
    let words: Vec<_> = line.split_whitespace().collect();
    let server =
        json!({ "command": words[0], "args": words[1..], "env": { "API_TOKEN": "s3cret-s3cret" } });
    fs::write(&cursor, "{ not yet").unwrap();
    says(&gateway, ".cursor/mcp.json").await;
    fs::write(
        &cursor,
        json!({ "mcpServers": { "two": server } }).to_string(),
    )
    .unwrap();
    client.knows("two__echo").await;
    let config = fs::read_to_string(home.path("kitbag.toml")).unwrap();
    assert!(
        config.contains("${secret:") && !config.contains("s3cret-s3cret"),
        "{config}"
    );
}

#[tokio::test]
async fn servers_removed_or_changed_here_stay_so_when_a_followed_client_rewrites_its_file() {
    let home = Home::new("");
    let cursor = home.path(".cursor/mcp.json");
    fs::create_dir(home.path(".cursor")).unwrap();
    let line = Testbed::new("x").line();
    let words: Vec<_> = line.split_whitespace().collect();
    let written = |names: &[&str]| {
        let server = |name: &str| json!({ "command": words[0], "args": words[1..], "env": { "NAME": name } });
        let servers: serde_json::Map<_, _> = names
            .iter()
            .map(|it| ((*it).to_owned(), server(it)))
            .collect();
        fs::write(
            &cursor,
            json!({ "mcpServers": servers, "rewritten": names.len() }).to_string(),
        )
        .unwrap();
    };
    written(&["gone", "changed"]);
    let output = home
        .kitbag(&["import", "--from", "cursor", "--follow"])
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = home.kitbag(&["servers", "remove", "gone"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let config = || fs::read_to_string(home.path("kitbag.toml")).unwrap();
    let changed = config().replace("NAME = \"changed\"", "NAME = \"mine\"");
    fs::write(home.path("kitbag.toml"), changed).unwrap();
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("changed__echo").await;
    for (names, new) in [
        (&["gone", "changed", "one"][..], "one"),
        (&["changed", "gone", "one", "two"], "two"),
    ] {
        written(names);
        client.knows(&format!("{new}__echo")).await;
        let text = config();
        assert!(
            !text.contains("[servers.gone]") && !text.contains("changed-cursor"),
            "{text}"
        );
        assert!(text.contains("NAME = \"mine\""), "{text}");
    }
}

#[tokio::test]
async fn dangerous_servers_of_a_followed_client_wait_for_the_user() {
    let home = Home::new("");
    fs::create_dir(home.path(".cursor")).unwrap();
    home.configure("[import]\nfollow = [\"cursor\"]");
    let server =
        json!({ "command": "sh", "args": ["-c", format!("touch {}", home.path("ran").display())] });
    let gateway = home.serve().await;
    fs::write(
        home.path(".cursor/mcp.json"),
        json!({ "mcpServers": { "sly": server } }).to_string(),
    )
    .unwrap();
    says(&gateway, "disabled until you have reviewed it").await;
    says(&gateway, "configuration reloaded").await;
    let text = fs::read_to_string(home.path("kitbag.toml")).unwrap();
    assert!(
        text.contains("[servers.sly]") && text.contains("enabled = false"),
        "{text}"
    );
    assert!(!home.path("ran").exists());
}
