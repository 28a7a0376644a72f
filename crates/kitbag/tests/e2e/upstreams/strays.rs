//! Untraceable processes that servers leave behind, and processes of other gateways on the machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::harness::{Client, Era, Gateway, Home, Testbed, until};
use kitbag_testkit::processes::{alive, find_by_command_line, terminate};

fn detached_pid(home: &Home) -> Option<u32> {
    fs::read_to_string(home.path("trace").join("detached.pid"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// A gateway whose server has left a process without parent and environment.
async fn with_stray(settings: &str) -> (Gateway, u32) {
    let home = Home::new("");
    let table = Testbed::new("loose")
        .manner("detach-bare")
        .data_dir(&home.path("trace"));
    home.configure(&table.with(settings).table());
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("loose__echo").await;
    client.call("loose__echo", &json!({})).await.text();
    let stray = detached_pid(&home).expect("the server has started one");
    assert!(alive(stray), "it runs without its parent");
    (gateway, stray)
}

#[tokio::test]
async fn a_process_without_parent_and_environment_ends_with_the_gateway() {
    let (gateway, stray) = with_stray("").await;
    assert!(gateway.stop().await.success());
    assert!(!alive(stray));
}

#[tokio::test]
async fn a_process_without_parent_and_environment_ends_with_its_server() {
    let (_gateway, stray) = with_stray("idle_timeout = \"1s\"").await;
    until("it is ended", async || (!alive(stray)).then_some(())).await;
}

#[tokio::test]
async fn a_process_without_parent_and_environment_ends_when_its_server_crashes() {
    let (gateway, stray) = with_stray("").await;
    gateway
        .client(Era::Legacy)
        .await
        .call("loose__crash", &json!({}))
        .await
        .tool_error();
    until("it is ended", async || (!alive(stray)).then_some(())).await;
}

/// A gateway in a separate pid namespace, as in a container.
struct Contained {
    unshare: Child,
    base: String,
}

impl Contained {
    fn start(home: &Home) -> Self {
        let kitbag = home.command(&["serve"]);
        let mut command = Command::new("unshare");
        command
            .args(["--pid", "--fork", "--kill-child"])
            .arg(kitbag.get_program())
            .args(kitbag.get_args());
        command.env_clear().envs(
            kitbag
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
            .current_dir(home.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut unshare = command.spawn().unwrap();
        let lines = BufReader::new(unshare.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut addresses = lines.filter_map(|line| {
            let start = line.find("http://127.0.0.1:")?;
            Some(
                line[start..]
                    .split_whitespace()
                    .next()?
                    .trim_end_matches("/mcp")
                    .to_owned(),
            )
        });
        let base = addresses.next().expect("the gateway names its address");
        Self { unshare, base }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        terminate(self.unshare.id());
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

#[tokio::test]
async fn servers_of_a_gateway_in_another_pid_namespace_are_left_alone() {
    let permitted = Command::new("unshare")
        .args(["--pid", "--fork", "true"])
        .stderr(Stdio::null())
        .status();
    if !permitted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this system does not let us make a pid namespace");
        return;
    }
    let inner = Home::new("");
    inner.configure(&Testbed::new("inner").data_dir(&inner.path("trace")).table());
    let contained = Contained::start(&inner);
    let client = Client::to(format!("{}/mcp/all", contained.base), Era::Legacy)
        .connect()
        .await;
    client.knows("inner__echo").await;
    client.call("inner__echo", &json!({})).await.text();
    let trace = inner.path("trace").to_str().unwrap().to_owned();
    let servers = find_by_command_line(&trace);
    assert_eq!(servers.len(), 1);

    // Processes that a killed gateway has left on this side show once the sweep is over.
    let home = Home::new("");
    let orphan = Testbed::new("orphan")
        .manner("ignore-stdin-close")
        .data_dir(&home.path("trace"));
    home.configure(&orphan.table());
    let killed = home.serve().await;
    let local = killed.client(Era::Legacy).await;
    local.knows("orphan__echo").await;
    local.call("orphan__echo", &json!({})).await.text();
    let orphans = find_by_command_line(home.path("trace").to_str().unwrap());
    assert_eq!(orphans.len(), 1);
    killed.kill().await;
    let _next = home.serve().await;
    until("the orphan is gone", async || {
        (!alive(orphans[0])).then_some(())
    })
    .await;
    client.call("inner__echo", &json!({})).await.text();
    assert_eq!(
        find_by_command_line(&trace),
        servers,
        "the same process serves"
    );
}
