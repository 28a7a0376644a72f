//! Attacks: each is contained and told in one sentence, and a run of another tenant then works.

use std::time::Duration;

use kitbag_sandbox::{Isolation, Sandbox, SandboxSettings};
use serde_json::json;

use crate::harness::{ATTACKER, Bench, budget, command, program, run, settings, tenant, told};

/// A program, and words of the sentence about it or of its value.
type Escape<'a> = (&'a str, &'a str);

async fn contained(settings: SandboxSettings, escapes: &[Escape<'_>]) {
    let sandbox = Sandbox::new(settings);
    for (source, words) in escapes {
        let outcome = sandbox
            .run(&tenant("mallory"), program(source), &Bench::default())
            .await;
        let said = match told(&outcome) {
            Ok(value) => value.to_string(),
            Err(sentence) => sentence,
        };
        assert!(
            said.contains(words) && !said.contains('\n') && said.len() < 5_000,
            "{source}\n{said:.400}"
        );
        assert_eq!(
            told(&run(&sandbox, "return 1").await),
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

/// Attacks by name, all told with the same words.
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
async fn each_layer_holds_alone_where_it_can() {
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
        "the engine gave up",
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
            ("//attack abort", "the engine gave up"),
            ("//attack panic", "it exited with 101"),
            ("//attack overflow the stack", "the engine"),
            ("//attack fill the memory", "the engine gave up"),
            ("//attack leave", "it exited with 0"),
            ("//attack leave with an error", "it exited with 3"),
        ],
    )
    .await;
    attacks_contained(behind(""), &["crash"], "the engine crashed").await;
    contained(
        settings(),
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
            (
                "//attack send garbage",
                "it sent something that is no message",
            ),
            (
                "//attack send a frame without end",
                "it sent something that is no message",
            ),
            ("//attack send half a frame", "it"),
            (
                "//attack send a text that is no message",
                "it sent something that is no message",
            ),
            (
                "//attack send a greeting again",
                "it sent a greeting out of turn",
            ),
            (
                "//attack send an end without a value",
                "it sent something that is no message",
            ),
            (
                "//attack send a value that is no JSON",
                "it sent something that is no message",
            ),
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

#[tokio::test]
async fn a_program_that_does_not_end_is_stopped() {
    let busy = "more than 0.2 s of processor time";
    let mut brief = settings();
    brief.budget.cpu = Duration::from_millis(200);
    contained(
        brief,
        &[
            ("while (true);", busy),
            (
                "for (;;) { try { while (true); } catch {} finally { while (true); } }",
                busy,
            ),
            ("const o = { get x() { while (true); } }; o.x", busy),
            ("/^(a+)+$/.test('a'.repeat(40) + 'b')", busy),
            (
                "await Promise.resolve().then(() => { while (true); })",
                busy,
            ),
            ("async function f() { for (;;) await null } await f()", busy),
            (
                "const again = () => Promise.resolve().then(again); await again()",
                busy,
            ),
            ("return { toJSON() { while (true); } }", busy),
            (
                "return new Proxy({}, { ownKeys() { while (true); } })",
                busy,
            ),
            ("return new Proxy({}, { get() { while (true); } })", busy),
            ("[3, 2, 1].sort(() => { while (true); })", busy),
            (
                "await tools.bench.echo({ get x() { while (true); } })",
                busy,
            ),
            ("console.log({ toJSON() { while (true); } })", busy),
            (
                "setTimeout(() => { while (true); }, 1); await sleep(1000)",
                busy,
            ),
            ("throw { toJSON() { while (true); } }", busy),
            (
                "throw Object.assign(new Error('x'), { get stack() { while (true); } })",
                busy,
            ),
            ("function* g() { while (true) yield 1 } return [...g()]", ""),
            ("eval('while (true);')", busy),
            ("new Function('while (true);')()", busy),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_program_that_waits_for_ever_is_stopped_by_the_clock() {
    let mut hasty = settings();
    hasty.budget.wall = Duration::from_millis(400);
    contained(
        hasty,
        &[
            ("await tools.bench.never()", "took longer than 0.4 s"),
            ("await sleep(1e9)", "took longer than 0.4 s"),
            (
                "setTimeout(() => {}, 1e9); await new Promise(() => {})",
                "took longer than 0.4 s",
            ),
            // The engine looks at the clock only between steps of the program, and this is one step.
            ("return new Array(2 ** 31).fill(0).length", ""),
            (
                "return Array.prototype.indexOf.call({ length: 2 ** 52 }, 1)",
                "took longer than 0.4 s",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_program_that_needs_too_much_memory_is_stopped() {
    let memory = "bytes of memory";
    let mut patient = settings();
    patient.budget.cpu = Duration::from_secs(10);
    contained(
        patient,
        &[
            ("let s = 'x'; while (true) s += s", ""),
            (
                "const l = []; for (;;) l.push('x'.repeat(1e6) + l.length)",
                memory,
            ),
            ("const l = []; for (;;) l.push(l.length, {})", memory),
            ("return new ArrayBuffer(1e9)", memory),
            ("const l = []; for (;;) l.push(new Uint8Array(1e6))", memory),
            (
                "return new RegExp('(' + 'a|'.repeat(1e7) + ')').test('b')",
                memory,
            ),
            ("return 'x'.repeat(1e8)", memory),
            ("return 2n ** (2n ** 40n)", ""),
            (
                "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])",
                memory,
            ),
            (
                "const p = []; for (;;) p.push(new Promise(() => {}))",
                memory,
            ),
            ("for (;;) setTimeout(() => {}, 1e6)", memory),
            ("let o = {}; for (;;) o = { o }", memory),
            ("return (await tools.bench.long()).repeat(4)", memory),
            (
                "try { const l = []; for (;;) l.push({}) } catch { return 'caught' }",
                "caught",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn nesting_and_recursion_have_an_end() {
    contained(
        settings(),
        &[
            ("function f() { f() } f()", "call stack"),
            ("const f = () => [1].map(f); f()", "call stack"),
            (
                "const o = {}; o.toString = () => `${o}`; return `${o}`",
                "call stack",
            ),
            ("return JSON.parse('['.repeat(1e6))", ""),
            (
                "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)",
                "",
            ),
            (
                "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
                "nested too deeply",
            ),
            (
                "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; await tools.bench.echo({ a })",
                "nested too deeply",
            ),
            (
                "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')",
                "",
            ),
            ("return eval('('.repeat(1e5))", ""),
            ("const o = {}; o.toJSON = () => o; return o", "the value"),
            (
                "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); return p.x",
                "",
            ),
        ],
    )
    .await;
    let parsers = [
        "(",
        "[",
        "{a:",
        "f(",
        "`${",
        "!",
        "a=>",
        "-",
        "a?",
        "async()=>{",
        "if(1)",
        "new ",
    ];
    for text in parsers {
        let deep = format!("return {}", text.repeat(100_000));
        contained(settings(), &[(&deep, "")]).await;
    }
}

#[tokio::test]
async fn huge_output_is_refused_or_cut() {
    contained(
        settings(),
        &[
            ("return 'x'.repeat(200000)", "more than 100000 bytes"),
            ("return new Array(1e6).fill(1)", "more than 100000 bytes"),
            ("return new Array(4294967295)", "more than 100000 bytes"),
            ("return '\\0'.repeat(50000)", "more than 100000 bytes"),
            ("throw new Error('x'.repeat(1e6) )", ""),
            (
                "await tools.bench.echo({ x: 'x'.repeat(3e6) })",
                "longer than",
            ),
        ],
    )
    .await;
    let sandbox = Sandbox::new(settings());
    for source in [
        "for (;;) console.log('x'.repeat(1000))",
        "for (;;) console.log('')",
        "console.log('\\0'.repeat(1e6))",
    ] {
        let outcome = run(&sandbox, source).await;
        let bytes: usize = outcome.console.iter().map(|line| line.text.len()).sum();
        assert!(bytes <= budget().output + 100, "{source} printed {bytes}");
        assert!(
            outcome
                .console
                .last()
                .unwrap()
                .text
                .ends_with("… more was printed")
        );
    }
}

#[tokio::test]
async fn a_program_that_bends_the_built_in_objects_harms_itself_only() {
    contained(settings(), &[
        ("Promise.prototype.then = () => { throw 1 }; return (await tools.bench.issues()).total", "2"),
        ("JSON.stringify = () => 'x'; JSON.parse = () => 'x'; return (await tools.bench.echo({ a: 1 })).arguments.a", "1"),
        ("Object.prototype.toJSON = () => 'mine'; return (await call('echo', { a: 1 })).arguments", "takes one object"),
        ("Object.defineProperty(Object.prototype, 'kind', { set() { throw new Error('set') } }); await call('fails')", "Error"),
        ("Array.prototype.map = Array.prototype.forEach = null; Object.freeze = null; return uuid().length", "36"),
        ("Function.prototype.call = Function.prototype.apply = null; return (await tools.bench.issues()).total", "2"),
        ("globalThis.Promise = null; globalThis.ToolError = null; await call('fails')", "ToolError: fails failed"),
        ("globalThis.Proxy = null; globalThis.Error = null; return (await tools.bench.issues()).total", "2"),
        ("Object.setPrototypeOf(tools, null); tools.bench = 1; return (await tools.bench.issues()).total", "2"),
        ("return Object.getOwnPropertyNames(tools).concat(Reflect.ownKeys(tools.bench))", "[]"),
        ("ToolError.prototype.constructor = null; Error.prepareStackTrace = () => { throw 1 }; await call('fails')", ""),
        ("return call.constructor('return this')() === globalThis", "true"),
        ("return (await tools.constructor.constructor()).total", "failed"),
        ("return (await tools.__proto__.__proto__({ a: 1 })).total", "failed"),
        ("await tools; await tools.bench; return 'kept'", "kept"),
        ("Object.prototype.then = function (f) { f(1) }; return 5", ""),
        ("return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", ""),
    ])
    .await;
}

#[tokio::test]
async fn floods_of_calls_are_refused_and_then_ended() {
    contained(settings(), &[
        ("const r = await Promise.allSettled(Array.from({ length: 300 }, () => call('echo'))); return r.filter(r => r.status === 'rejected').map(r => r.reason.kind)[99]", "too_many_calls"),
        ("await Promise.all(Array.from({ length: 5000 }, () => call('echo')))", "more than 200 calls"),
        ("for (;;) call('echo', { x: 'x'.repeat(1e4) })", "more than 200 calls"),
        ("for (;;) { try { await call('echo') } catch {} }", "more than 200 calls"),
        ("return (await Promise.all(Array.from({ length: 150 }, () => call('echo', { x: 'x'.repeat(1e4) })))).length", "150"),
        ("await tools.bench.too_long()", "too much for a program"),
    ])
    .await;
}

#[tokio::test]
async fn nothing_is_left_over_from_an_earlier_run() {
    let sandbox = Sandbox::new(settings());
    let traces = "globalThis.secret = 1; Object.prototype.secret = 2; Array.prototype.map = null; tools.secret = 3;
                  console.log.secret = 4; ToolError.secret = 5; setTimeout(() => call('echo'), 0); return 1";
    let looks = "return [typeof secret, [].secret, [1].map(x => x)[0], console.log.secret, ToolError.secret]";
    for who in ["mallory", "acme", "mallory"] {
        let left = sandbox
            .run(&tenant(who), program(traces), &Bench::default())
            .await;
        assert_eq!(told(&left), Ok(json!(1)));
        let found = sandbox
            .run(&tenant(who), program(looks), &Bench::default())
            .await;
        assert_eq!(
            told(&found),
            Ok(json!(["undefined", null, 1, null, null])),
            "{who}"
        );
        assert_eq!(found.calls, 0);
    }
}
