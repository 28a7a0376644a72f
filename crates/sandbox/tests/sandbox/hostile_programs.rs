//! Programs that try to harm the machine, the gateway, other tenants or their own worker.

use std::time::Duration;

use kitbag_sandbox::Sandbox;
use serde_json::json;

use crate::escapes::contained;
use crate::harness::{Bench, budget, program, run, settings, tenant, value_or_error};

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
            (
                "function* g() { while (true) yield 1 } return [...g()]",
                "more than",
            ),
            ("eval('while (true);')", busy),
            ("new Function('while (true);')()", busy),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_program_that_waits_for_ever_is_stopped_by_the_clock() {
    let mut hasty = settings();
    hasty.budget.wall = Duration::from_secs(1);
    contained(
        hasty,
        &[
            ("await tools.bench.never()", "took longer than 1 s"),
            ("await sleep(1e9)", "took longer than 1 s"),
            (
                "setTimeout(() => {}, 1e9); await new Promise(() => {})",
                "took longer than 1 s",
            ),
            // The engine only checks the clock between steps of the program, and this is one step.
            ("return new Array(2 ** 31).fill(0).length", "the program "),
            (
                "return Array.prototype.indexOf.call({ length: 2 ** 52 }, 1)",
                "the program ",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_program_that_needs_too_much_memory_is_stopped() {
    let memory = "of memory";
    let mut patient = settings();
    patient.budget.cpu = Duration::from_secs(10);
    contained(
        patient,
        &[
            ("let s = 'x'; while (true) s += s", "string too long"),
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
            ("return 2n ** (2n ** 40n)", "BigInt is too large"),
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
            ("return JSON.parse('['.repeat(1e6))", "call stack"),
            (
                "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)",
                "call stack",
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
                "too many captures",
            ),
            ("return eval('('.repeat(1e5))", "call stack"),
            ("const o = {}; o.toJSON = () => o; return o", "the value"),
            (
                "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); return p.x",
                "call stack",
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
        contained(settings(), &[(&deep, "divide it into statements")]).await;
    }
}

#[tokio::test]
async fn huge_output_is_rejected_or_truncated() {
    contained(
        settings(),
        &[
            ("return 'x'.repeat(200000)", "more than 100 kB"),
            ("return new Array(1e6).fill(1)", "more than 100 kB"),
            ("return new Array(4294967295)", "more than 100 kB"),
            ("return '\\0'.repeat(50000)", "more than 100 kB"),
            ("throw new Error('x'.repeat(1e6) )", "Error: xxx"),
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
        ("ToolError.prototype.constructor = null; Error.prepareStackTrace = () => { throw 1 }; await call('fails')", "ToolError: fails failed"),
        ("return call.constructor('return this')() === globalThis", "true"),
        ("return (await tools.constructor.constructor()).total", "failed"),
        ("return (await tools.__proto__.__proto__({ a: 1 })).total", "failed"),
        ("await tools; await tools.bench; return 'kept'", "kept"),
        ("Object.prototype.then = function (f) { f(1) }; return 5", "5"),
        ("return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "cannot block"),
    ])
    .await;
}

#[tokio::test]
async fn floods_of_calls_are_rejected_and_then_ended() {
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
        assert_eq!(value_or_error(&left), Ok(json!(1)));
        let found = sandbox
            .run(&tenant(who), program(looks), &Bench::default())
            .await;
        assert_eq!(
            value_or_error(&found),
            Ok(json!(["undefined", null, 1, null, null])),
            "{who}"
        );
        assert_eq!(found.calls, 0);
    }
}
