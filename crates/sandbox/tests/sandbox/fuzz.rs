//! Random programs: the sandbox answers each of them, and works afterwards.
//!
//! `KITBAG_FUZZ=100000 cargo nextest run -p kitbag-sandbox fuzz` runs more of them.

use std::time::Duration;

use kitbag_sandbox::{RunFailure, Sandbox};
use serde_json::json;

use crate::harness::{Bench, program, run, settings, tenant, told};

#[tokio::test]
async fn random_programs_are_answered_and_leave_the_sandbox_in_order() {
    let mut brief = settings();
    brief.budget.cpu = Duration::from_millis(50);
    brief.budget.wall = Duration::from_millis(500);
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
    assert_eq!(told(&run(&sandbox, "return 1").await), Ok(json!(1)));
}

fn count() -> usize {
    let wanted = std::env::var("KITBAG_FUZZ").ok();
    wanted.map_or(300, |count| count.parse().expect("KITBAG_FUZZ is a number"))
}

/// A program can end in any way but these: it must not bring the worker down.
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

/// A program from a small grammar: `#` stands for another part.
fn grown(dice: &mut Dice, depth: usize) -> String {
    let form = if depth == 0 {
        dice.pick(LEAVES)
    } else {
        dice.pick(FORMS)
    };
    let mut parts = form.split('#');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += &grown(dice, depth.saturating_sub(1));
        text += part;
    }
    text
}

/// A real program with some bytes changed, left out or doubled.
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
    "{}",
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
    "arguments",
    "new.target",
    "async () => 1",
    "function* () {}",
    "class {}",
    "\u{2028}",
    "\u{1f600}",
    "'\\ud800'",
    "ToolError",
    "eval",
];

const FORMS: &[&str] = &[
    "# + #",
    "(#)(#)",
    "#.x",
    "#[#]",
    "[#, #]",
    "({ a: #, [#]: # })",
    "await #",
    "typeof #",
    "(x => #)(#)",
    "# ? # : #",
    "`${#}`",
    "new (#)(#)",
    "return #",
    "#;\n#",
    "let x = #; #",
    "try { # } catch (x) { # } finally { # }",
    "throw #",
    "for (const x of #) { # }",
    "for (let x = 0; x < 3; x++) { # }",
    "while (#) { # }",
    "if (#) { # } else { # }",
    "await tools.bench.echo(#)",
    "await call('echo', { a: # })",
    "await Promise.all([#, #])",
    "console.log(#, #)",
    "JSON.stringify(#)",
    "JSON.parse(#)",
    "Object.assign(#, #)",
    "Object.defineProperty(#, 'x', { get() { # } })",
    "new Proxy(#, { get() { # } })",
    "Reflect.ownKeys(#)",
    "#.then(x => { # })",
    "setTimeout(() => { # }, 1)",
    "await sleep(1); #",
    "(function () { # })()",
    "Object.setPrototypeOf(#, #)",
    "[...#]",
    "String.prototype.replace.call(#, #, #)",
    "Array.from({ length: 99 }, x => #)",
    "structuredClone(#)",
    "eval('#')",
    "delete globalThis.x, #",
    "new WeakRef(#)",
];

const PROGRAMS: &[&str] = &[
    "const r = await tools.bench.issues();\nreturn r.items.map(i => ({ id: i.id, twice: i.id * 2 }));",
    "type Issue = { id: number };\nconst all: Issue[] = (await tools.bench.issues()).items;\nreturn all.filter((i: Issue) => i.id! > 1);",
    "async function main() {\n  try { await tools.disk.write({ path: '/x' }); } catch (e) { console.error(e.message, e.result); }\n  return [1, 2, 3].reduce((a, b) => a + b, 0);\n}",
    "const out = {};\nfor (const [k, v] of Object.entries(params)) out[k] = `${k}=${JSON.stringify(v)}`;\nawait sleep(1);\nreturn out;",
    "const pages = await Promise.all([1, 2, 3].map(async n => (await call('echo', { page: n })).arguments.page));\nreturn pages.sort((a, b) => b - a).join(', ').replace(/(\\d)/g, '<$1>');",
];
