//! Workers that crash or are compromised. Each attack is contained and reported in one sentence,
//! and another tenant's run works afterwards.

use std::time::Duration;

use kitbag_sandbox::{Isolation, Sandbox, SandboxSettings};
use serde_json::json;

use crate::harness::{ATTACKER, Bench, command, program, run, settings, tenant, value_or_error};

/// A program, and a part of its error or its value.
pub(crate) type Escape<'a> = (&'a str, &'a str);

pub(crate) async fn contained(settings: SandboxSettings, escapes: &[Escape<'_>]) {
    let sandbox = Sandbox::new(settings);
    for (source, words) in escapes {
        let outcome = sandbox
            .run(&tenant("mallory"), program(source), &Bench::default())
            .await;
        let text = match value_or_error(&outcome) {
            Ok(value) => value.to_string(),
            Err(sentence) => sentence,
        };
        assert!(
            text.contains(words) && !text.contains('\n') && text.len() < 5_000,
            "{source}\n{text:.400}"
        );
        assert_eq!(
            value_or_error(&run(&sandbox, "return 1").await),
            Ok(json!(1)),
            "after {source}"
        );
    }
}

fn attacker() -> SandboxSettings {
    SandboxSettings {
        worker: command(ATTACKER, &[]),
        ..settings()
    }
}

/// A worker with one layer of the jail, or with none.
fn behind(layer: &str) -> SandboxSettings {
    SandboxSettings {
        worker: command(ATTACKER, &[layer]),
        isolation: Isolation::BestEffort,
        ..settings()
    }
}

/// Attacks by name, all reported with the same text.
async fn attacks_contained(settings: SandboxSettings, names: &[&str], words: &str) {
    let sources: Vec<_> = names
        .iter()
        .map(|name| format!("//attack {name}"))
        .collect();
    let escapes: Vec<_> = sources
        .iter()
        .map(|source| (source.as_str(), words))
        .collect();
    contained(settings, &escapes).await;
}

#[tokio::test]
async fn a_system_call_that_a_worker_does_not_need_ends_it() {
    let names = [
        "read a file",
        "read the environment",
        "read the memory",
        "read the first process",
        "read another descriptor",
        "use an inherited descriptor",
        "look at a file",
        "list a folder",
        "write a file",
        "make a folder",
        "make a symlink",
        "make a link",
        "remove a file",
        "rename a file",
        "open with openat2",
        "make a file in memory",
        "make a pipe",
        "connect to an address",
        "listen",
        "send a datagram",
        "connect to a local socket",
        "start a process",
        "become another program",
        "start a thread",
        "trace",
        "trace the gateway",
        "kill the gateway",
        "kill the first process",
        "kill the group",
        "map executable memory",
        "make memory executable",
        "raise a limit",
        "become dumpable",
        "outlive the gateway",
        "change the root",
        "leave the namespace",
        "mount",
        "sleep",
        "crash",
    ];
    attacks_contained(attacker(), &names, "the jail forbids").await;
}

#[tokio::test]
async fn each_layer_holds_by_itself_where_it_can() {
    std::fs::write("/tmp/kitbag-sandbox-victim", "").unwrap();
    let files = [
        "read a file",
        "list a folder",
        "write a file",
        "make a folder",
        "make a symlink",
        "remove a file",
        "rename a file",
        "connect to an address",
        "open with openat2",
    ];
    attacks_contained(behind("Landlock"), &files, "refused: Permission denied").await;
    attacks_contained(
        behind("resource limits"),
        &["read a file", "make a pipe", "listen"],
        "refused: Too many open files",
    )
    .await;
    attacks_contained(
        behind("resource limits"),
        &["fill the memory"],
        "the engine aborted",
    )
    .await;
    attacks_contained(
        behind("no capabilities"),
        &["change the root", "mount"],
        "refused: Operation not permitted",
    )
    .await;
    attacks_contained(behind("no capabilities"), &["raise a limit"], "succeeded").await;
}

#[tokio::test]
async fn an_inherited_descriptor_is_closed() {
    let shell = [
        "-c",
        "exec 5</etc/passwd; exec \"$0\" \"$@\"",
        ATTACKER,
        "closed files",
    ];
    let inheriting = |arguments: &[&str]| SandboxSettings {
        worker: command("/bin/sh", arguments),
        ..behind("")
    };
    attacks_contained(
        inheriting(&shell),
        &["use an inherited descriptor"],
        "refused: Bad file descriptor",
    )
    .await;
}

#[tokio::test]
async fn a_worker_that_crashes_costs_one_run() {
    contained(
        attacker(),
        &[
            ("//attack abort", "the engine aborted"),
            ("//attack panic", "it exited with 101"),
            ("//attack overflow the stack", "the engine"),
            ("//attack fill the memory", "the engine aborted"),
            ("//attack leave", "it exited with 0"),
            ("//attack leave with an error", "it exited with 3"),
        ],
    )
    .await;
    attacks_contained(behind(""), &["crash"], "the engine crashed").await;
    // Without idle workers, because all of them are killed.
    let alone = SandboxSettings {
        warm: 0,
        ..settings()
    };
    contained(
        alone,
        &[("await tools.bench.kill_worker()", "the system killed it")],
    )
    .await;
}

#[tokio::test]
async fn a_worker_that_does_not_keep_to_the_protocol_is_ended() {
    let mut hasty = attacker();
    hasty.budget.wall = Duration::from_secs(1);
    contained(
        hasty,
        &[
            ("//attack send garbage", "it sent an invalid message"),
            (
                "//attack send a frame without end",
                "it sent an invalid message",
            ),
            ("//attack send half a frame", "it"),
            (
                "//attack send a text that is not a message",
                "it sent an invalid message",
            ),
            (
                "//attack send a greeting again",
                "it sent a greeting out of turn",
            ),
            (
                "//attack send an end without a value",
                "it sent an invalid message",
            ),
            (
                "//attack send a value that is not JSON",
                "it sent an invalid message",
            ),
            ("//attack send a deep value", "it is nested too deeply"),
            ("//attack send a long value", "its value is too long"),
            ("//attack send a long reason", "its reason is too long"),
            (
                "//attack flood the gateway with requests",
                "more than 200 calls",
            ),
            ("//attack flood the gateway with lines", "succeeded"),
            ("//attack ask under one number", "it"),
            ("//attack fall silent", "took longer than 1 s"),
        ],
    )
    .await;
}
