//! The environment of a program: the functions it can call, its result, and its errors.

use kitbag_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::harness::{run, settings, value_or_error};

async fn returns(cases: &[(&str, Value)]) {
    let sandbox = Sandbox::new(settings());
    for (source, expected) in cases {
        assert_eq!(
            value_or_error(&run(&sandbox, source).await).as_ref(),
            Ok(expected),
            "{source}"
        );
    }
}

/// The error of each program contains these words.
async fn fails(cases: &[(&str, &[&str])]) {
    let sandbox = Sandbox::new(settings());
    for (source, words) in cases {
        let text = value_or_error(&run(&sandbox, source).await).unwrap_err();
        for word in *words {
            assert!(text.contains(word), "{source}\n{text}\nlacks {word}");
        }
    }
}

#[tokio::test]
async fn a_program_returns_a_value_from_behind_the_jail() {
    returns(&[
        ("return 1 + 1", json!(2)),
        ("1 + 1", json!(2)),
        ("const n: number = 3; n", json!(3)),
        ("let x = 1", json!(null)),
        ("return { d: new Date(0), u: undefined, n: NaN, a: [undefined], h: 1.5, z: -0, e: 1e300 }",
         json!({ "d": "1970-01-01T00:00:00.000Z", "n": null, "a": [null], "h": 1.5, "z": 0, "e": 1e300 })),
        ("return '\\ud83d and \\u{1f600}'", json!("\u{fffd} and \u{1f600}")),
        ("return new Error('x')", json!({ "name": "Error", "message": "x" })),
        ("return typeof fetch + typeof require + typeof process", json!("undefinedundefinedundefined")),
    ])
    .await;
}

#[tokio::test]
async fn a_program_reaches_tools_under_any_name() {
    let arguments = json!({ "a": [1] });
    let member = |server: &str| json!({ "tool": { "member": { "server": server, "tool": "echo" } }, "arguments": arguments });
    returns(&[
        ("tools.bench.echo({ a: [1] })", member("bench")),
        (
            "return await tools['my-server'].echo({ a: [1] })",
            member("my-server"),
        ),
        (
            "const { bench } = tools; const { echo } = bench; return echo({ a: [1] })",
            member("bench"),
        ),
        (
            "return call('echo', { a: [1] })",
            json!({ "tool": { "exposed": "echo" }, "arguments": arguments }),
        ),
        ("return (await call('echo')).arguments", json!({})),
        (
            "return search('issues', { limit: 3 })",
            json!({ "found": "issues", "limit": 3 }),
        ),
        (
            "return search('issues')",
            json!({ "found": "issues", "limit": null }),
        ),
        (
            "return describe('git__log')",
            json!("Exposed(\"git__log\")"),
        ),
        (
            "return (await tools.bench.issues()).items.map(i => i.id)",
            json!([1, 2]),
        ),
    ])
    .await;
}

#[tokio::test]
async fn calls_made_together_are_under_way_together() {
    returns(&[(
        "return (await Promise.all([1,2,3,4,5,6,7,8].map(() => tools.bench.meet()))).length",
        json!(8),
    )])
    .await;
}

#[tokio::test]
async fn a_failed_call_throws_an_error_that_carries_the_result() {
    returns(&[
        (
            "try { await tools.disk.write({}) } catch (e) {
               return [e instanceof ToolError, e instanceof Error, e.name, e.kind, e.tool, e.message, e.result.reason]
             }",
            json!([true, true, "ToolError", "tool_error", "disk.write", "write failed", "disk full"]),
        ),
        (
            "return (await Promise.allSettled([tools.disk.write(), 1])).map(r => r.status)",
            json!(["rejected", "fulfilled"]),
        ),
    ])
    .await;
    fails(&[(
        "\n\n  await tools.disk.write({})",
        &["line 3", "ToolError: write failed"],
    )])
    .await;
}

#[tokio::test]
async fn timers_and_chance_work_and_params_are_frozen() {
    returns(&[
        ("const t = Date.now(); await sleep(30); return Date.now() - t >= 29", json!(true)),
        ("const l = []; setTimeout(() => l.push(2), 20); setTimeout(x => l.push(x), 1, 1);
          const c = setTimeout(() => l.push(3), 5); clearTimeout(c); await sleep(40); return l", json!([1, 2])),
        ("return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid()) && uuid() !== uuid()", json!(true)),
        ("return [params.name, Object.isFrozen(params), Object.isFrozen(params.list)]", json!(["x", true, true])),
        ("return new Date(2020, 0, 1).getTimezoneOffset()", json!(0)),
    ])
    .await;
    fails(&[
        ("params.list.push(3)", &["TypeError", "line 1"]),
        (
            "setTimeout(() => { throw new Error('late') }, 1); await sleep(50)",
            &["Error: late"],
        ),
        ("await new Promise(() => {})", &["nothing will settle"]),
    ])
    .await;
}

#[tokio::test]
async fn a_mistake_is_reported_with_its_position_and_a_hint() {
    fails(&[
        ("let a = 1;\nlet b = ;", &["line 2", "column 9"]),
        (
            "const a = 1;\n  foo(a)",
            &["line 2, column 3", "foo is not defined"],
        ),
        ("throw new Error('mine')", &["line 1", "Error: mine"]),
        ("throw 'text'", &["text"]),
        ("throw null", &["the program threw null"]),
        ("throw undefined", &["the program threw undefined"]),
        ("await Promise.reject(null)", &["the program threw null"]),
        ("throw 42", &["42"]),
        ("throw 0", &["0"]),
        ("throw Symbol('mine')", &["symbol"]),
        ("throw []", &["[]"]),
        (
            "throw new Error('out of memory')",
            &["Error: out of memory"],
        ),
        (
            "throw Object.assign(new Error(), { message: 7 })",
            &["\"message\":7"],
        ),
        (
            "throw Object.defineProperty(new Error(), 'message', { get() { throw null } })",
            &["cannot be shown"],
        ),
        (
            "throw new Proxy({}, { get() { throw null }, ownKeys() { throw null } })",
            &["cannot be shown"],
        ),
        ("throw new Proxy(new Error('behind'), {})", &["behind"]),
        ("throw Object.create(null)", &["{}"]),
        (
            "throw { get toJSON() { throw null } }",
            &["cannot be shown"],
        ),
        ("throw 10n", &["BigInt"]),
        ("throw () => 1", &["function"]),
        ("throw { code: 7 }", &["{\"code\":7}"]),
        (
            "const r = await tools.bench.issues();\nr.map(i => i.id)",
            &[
                "line 2",
                "r.map is not a function",
                "the keys `total`, `items`",
            ],
        ),
        (
            "const r = await tools.bench.issues();\nreturn r.data.items",
            &[
                "line 2",
                "'items' of undefined",
                "the keys `total`, `items`",
            ],
        ),
        (
            "const r = tools.bench.issues();\nreturn r.items.length",
            &["line 2", "write `await`"],
        ),
        (
            "for (const i of tools.bench.issues()) {}",
            &["not iterable", "did you forget `await`"],
        ),
        (
            "const r = tools.bench.issues();\nawait sleep(20);\nreturn r.items",
            &["line 3", "cannot read property 'items' of a promise", "did you forget `await`"],
        ),
        (
            "const { items } = tools.bench.issues(); return items",
            &["'items' of a promise", "did you forget `await`"],
        ),
        (
            "const list = async () => (await tools.bench.issues()).items;\nreturn list().length",
            &["line 2", "'length' of a promise", "did you forget `await`"],
        ),
        (
            "return JSON.stringify({ all: tools.bench.issues() })",
            &["of a promise", "did you forget `await`"],
        ),
        (
            "return tools.bench.echo({ text: `got ${tools.bench.issues()}` })",
            &["of a promise", "did you forget `await`"],
        ),
        (
            "const c = await tools.bench.issues();\nreturn c.split(' ')",
            &["line 2", "TypeError: c.split is not a function", "`c` is what bench.issues returned: an object with the keys"],
        ),
        (
            "const c = await tools.bench.issues(); const e = await tools.bench.echo({});\nreturn e.map(x => x)",
            &["e.map is not a function", "`e` is what bench.echo returned: an object with the keys `tool`"],
        ),
        (
            "const c = await tools.bench.issues();\nreturn c.data.items",
            &["`c.data` is undefined"],
        ),
        (
            "return { list: [tools.bench.issues()] }",
            &["the value.list[0] is a promise", "await"],
        ),
        ("await fetch('https://example.com')", &["no network"]),
        ("return process.env", &["no network, file or module"]),
        ("const fs = require('fs')", &["modules"]),
        ("import fs from 'fs'", &["modules"]),
        ("await github.list_issues()", &["tools.github."]),
        ("return call(5)", &["first argument must be a text"]),
        ("return tools.a.b('x')", &["takes one object"]),
        (
            "return tools.bench.echo({ f() {} })",
            &["bench.echo: the argument.f is a function"],
        ),
        (
            "return { a: { b: [1, 2n] } }",
            &["the value.a.b[1] is a BigInt"],
        ),
        (
            "const a = {}; a.me = a; return a",
            &["the value.me contains itself"],
        ),
        ("return { f: () => 1 }", &["the value.f is a function"]),
        (
            "let a = []; for (let i = 0; i < 200; i++) a = [a]; return a",
            &["nested too deeply"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn printed_lines_are_returned_with_the_value() {
    let sandbox = Sandbox::new(settings());
    let outcome = run(&sandbox, "console.log('a', { b: 1 }, undefined, null); console.error([() => 1]); console.warn(new Error('x'), tools.bench.issues())").await;
    let lines: Vec<_> = outcome
        .console
        .iter()
        .map(|line| format!("{}: {}", line.level, line.text))
        .collect();
    assert_eq!(
        lines,
        [
            "log: a {\"b\":1} undefined null",
            "error: [\"[is a function]\"]",
            "warn: {\"name\":\"Error\",\"message\":\"x\"} \"[is a promise: write `await` before the call]\"",
        ]
    );
    assert_eq!(outcome.calls, 1);
}

#[tokio::test]
async fn a_call_without_await_is_finished_and_a_promise_in_a_text_is_noticed() {
    let sandbox = Sandbox::new(settings());
    let outcome = run(
        &sandbox,
        "tools.bench.issues(); return Object.prototype.toString.call(tools.bench.issues())",
    )
    .await;
    assert_eq!(value_or_error(&outcome), Ok(json!("[object Promise]")));
    assert!(
        outcome.console[0].text.contains("did you forget `await`"),
        "{:?}",
        outcome.console
    );
    let outcome = run(&sandbox, "tools.disk.write({}); return 1").await;
    assert_eq!(
        outcome.console[0].text,
        "disk.write was called without `await` and failed: write failed"
    );
}

#[tokio::test]
async fn the_shape_of_a_program_comes_back_if_it_is_wanted() {
    let sandbox = Sandbox::new(settings());
    let mut program = crate::harness::program("return tools.bench.echo({ owner: 'me' })");
    program.wants_shape = true;
    let outcome = sandbox
        .run(
            &crate::harness::tenant("acme"),
            program,
            &crate::harness::Bench::default(),
        )
        .await;
    assert_eq!(outcome.shape.unwrap().literals[0].name, "owner");
    assert_eq!(sandbox.check("return 1").await.unwrap().literals, []);
    assert!(sandbox.check("return (").await.is_err());
}
