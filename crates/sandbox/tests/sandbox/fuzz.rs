//! Random programs: the sandbox answers each of them, and works afterwards.
//!
//! `KITBAG_FUZZ=100000 cargo nextest run -p kitbag-sandbox fuzz` runs more of them.

use std::time::Duration;

use kitbag_sandbox::{RunFailure, Sandbox};
use serde_json::json;

use crate::harness::{Bench, program, run, settings, tenant, value_or_error};

#[tokio::test]
async fn random_programs_are_answered_and_leave_the_sandbox_in_order() {
    let mut brief = settings();
    brief.budget.cpu = Duration::from_millis(50);
    brief.budget.wall = Duration::from_secs(2);
    let sandbox = Sandbox::new(brief);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for number in 0..count() {
        let source = if number % 2 == 0 {
            grown(&mut dice, 4)
        } else {
            mutated(&mut dice)
        };
        let outcome = sandbox
            .run(&tenant("mallory"), program(&source), &Bench::default())
            .await;
        assert!(
            is_an_answer(outcome.value.as_ref().err()),
            "{source}\n{:?}",
            outcome.value
        );
    }
    assert_eq!(
        value_or_error(&run(&sandbox, "return 1").await),
        Ok(json!(1))
    );
}

fn count() -> usize {
    let wanted = std::env::var("KITBAG_FUZZ").ok();
    wanted.map_or(300, |count| count.parse().expect("KITBAG_FUZZ is a number"))
}

/// False for the ends that no program may cause, such as a crash of the worker.
fn is_an_answer(failure: Option<&RunFailure>) -> bool {
    !matches!(
        failure,
        Some(
            RunFailure::WorkerDied { .. }
                | RunFailure::Unavailable { .. }
                | RunFailure::Busy { .. }
        )
    )
}

/// The same numbers in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 7
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next()).unwrap() % most
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A program from a small grammar: `@` is replaced by a statement, `#` by an expression.
fn grown(dice: &mut Dice, depth: usize) -> String {
    let statements = [
        dice.pick(STATEMENTS),
        dice.pick(STATEMENTS),
        dice.pick(STATEMENTS),
    ];
    filled(dice, &statements.join("; "), depth)
}

fn filled(dice: &mut Dice, form: &str, depth: usize) -> String {
    let mut text = String::new();
    for letter in form.chars() {
        match letter {
            '@' | '#' => text += &part(dice, letter, depth),
            other => text.push(other),
        }
    }
    text
}

fn part(dice: &mut Dice, kind: char, depth: usize) -> String {
    let form = match (kind, depth) {
        ('@', 1..) => dice.pick(STATEMENTS),
        ('#', 1..) => dice.pick(EXPRESSIONS),
        _ => dice.pick(LEAVES),
    };
    filled(dice, form, depth.saturating_sub(1))
}

/// A real program with some bytes changed, omitted or doubled.
fn mutated(dice: &mut Dice) -> String {
    let mut bytes = dice.pick(PROGRAMS).as_bytes().to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len());
        match dice.below(4) {
            0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
            1 => drop(bytes.remove(at)),
            2 => bytes.extend_from_within(at..),
            _ => bytes
                .splice(at..at, dice.pick(LEAVES).bytes())
                .for_each(drop),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const LEAVES: &[&str] = &[
    "1",
    "-0",
    "NaN",
    "'x'",
    "``",
    "null",
    "undefined",
    "this",
    "[]",
    "({})",
    "x",
    "params",
    "tools",
    "globalThis",
    "console",
    "call",
    "Symbol()",
    "10n",
    "/a+/g",
    "new Map",
    "Promise",
    "JSON",
    "(async () => 1)",
    "(function* () {})",
    "(class {})",
    "'\u{2028}'",
    "'\u{1f600}'",
    "'\\ud800'",
    "ToolError",
    "eval",
    "sleep(1)",
    "Array.prototype",
    "Object.prototype",
    "new Date(0)",
    "new Uint8Array(8)",
    "new Proxy({}, {})",
    "Symbol.iterator",
];

const EXPRESSIONS: &[&str] = &[
    "(# + #)",
    "(#)(#)",
    "(#).x",
    "(#)[#]",
    "[#, #]",
    "({ a: #, [#]: # })",
    "(await #)",
    "typeof (#)",
    "(async x => #)(#)",
    "(# ? # : #)",
    "`${#}`",
    "new (#)(#)",
    "(# ?? #)",
    "(#)?.x",
    "[...#]",
    "(# in #)",
    "(# instanceof #)",
    "(await tools.bench.echo(#))",
    "(await call('echo', { a: # }))",
    "(await Promise.all([#, #]))",
    "(await Promise.race([#, #]))",
    "console.log(#, #)",
    "JSON.stringify(#)",
    "JSON.parse(#)",
    "Object.assign(#, #)",
    "new WeakRef(#)",
    "Object.defineProperty(#, 'x', { get() { return (async () => { @ })() } })",
    "new Proxy(#, { get() { return (async () => { @ })() } })",
    "Reflect.ownKeys(#)",
    "(#).then(async x => { @ })",
    "setTimeout(async () => { @ }, 1)",
    "(async function () { @ })()",
    "Object.setPrototypeOf(#, #)",
    "String(#).replace(#, #)",
    "Array.from({ length: 99 }, async x => #)",
    "[3, 1, 2].sort(async (x, y) => #)",
    "eval(String(#))",
    "new Function('x', String(#))",
    "Object.freeze(#)",
    "Reflect.apply(#, #, [#])",
    "'x'.repeat(#)",
    "new RegExp(String(#))",
    "new Array(#)",
    "BigInt(#)",
    "Object.groupBy([#], async x => #)",
];

const STATEMENTS: &[&str] = &[
    "#",
    "x = #",
    "return #",
    "{ let x = #; @ }",
    "try { @ } catch (x) { @ } finally { @ }",
    "throw #",
    "for (const x of #) { @ }",
    "for (const x in #) { @ }",
    "for (let x = 0; x < 3; x++) { @ }",
    "while (#) { @ }",
    "if (#) { @ } else { @ }",
    "await sleep(1)",
    "switch (#) { case #: @ }",
    "{ class A extends (#) { get y() { return (async () => { @ })() } } new A().y }",
    "{ const { a, ...x } = #; @ }",
    "{ async function* x() { yield #; @ } for await (const y of x()) { @ } }",
    "delete globalThis.x",
    "globalThis.x = #",
    "Object.prototype.x = #",
    "Array.prototype[0] = #",
    "Promise.prototype.then = #",
    "Object.prototype.toJSON = #",
    "globalThis.Promise = #",
];

const PROGRAMS: &[&str] = &[
    "const r = await tools.bench.issues();\nreturn r.items.map(i => ({ id: i.id, twice: i.id * 2 }));",
    "type Issue = { id: number };\nconst all: Issue[] = (await tools.bench.issues()).items;\nreturn all.filter((i: Issue) => i.id! > 1);",
    "async function main() {\n  try { await tools.disk.write({ path: '/x' }); } catch (e) { console.error(e.message, e.result); }\n  return [1, 2, 3].reduce((a, b) => a + b, 0);\n}",
    "const out = {};\nfor (const [k, v] of Object.entries(params)) out[k] = `${k}=${JSON.stringify(v)}`;\nawait sleep(1);\nreturn out;",
    "const pages = await Promise.all([1, 2, 3].map(async n => (await call('echo', { page: n })).arguments.page));\nreturn pages.sort((a, b) => b - a).join(', ').replace(/(\\d)/g, '<$1>');",
];
