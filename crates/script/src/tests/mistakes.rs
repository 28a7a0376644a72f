//! Claims about mistakes: their position, and their remedy.

use super::*;

#[track_caller]
fn check(source: &str, position: (usize, usize), part_of_hint: &str) {
    let mistake = javascript(source).expect_err(source);
    assert_eq!((mistake.line, mistake.column), position, "{mistake}");
    let hint = mistake.hint.clone().unwrap_or_default();
    assert!(hint.contains(part_of_hint), "{mistake}: {hint}");
}

#[test]
fn a_mistakes_position_is_counted_in_characters() {
    check("const x = {\n  a: 1\n  b: 2\n}", (3, 3), "");
    check("const ä = \"ü\";  §", (1, 17), "");
    check("```js\nlet = 1 +\n```", (3, 4), "");
}

#[test]
fn syntax_without_a_counterpart_comes_with_a_replacement() {
    check("enum X { A }", (1, 1), "const Color = {");
    check(
        "namespace N { export const a = 1 }",
        (1, 1),
        "write an object",
    );
    check(
        "class A { constructor(private x: B) {} }",
        (1, 23),
        "this.name = name",
    );
    check("@dec class A {}", (1, 1), "call a function");
    check("async (x) => x", (1, 8), "without a function");
    check("export default class A {}", (1, 16), "return the value");
    check("export default 1;\nconst a = 2", (1, 1), "return the value");
}

#[test]
fn modules_are_rejected_and_tools_are_named() {
    for (source, column) in [
        ("import fs from 'fs'", 1),
        ("import x = require('y')", 1),
        ("const fs = require('fs')", 12),
        ("const fs = await import('fs')", 18),
        ("import.meta.url", 1),
        ("export * from 'x'", 1),
        ("export { a } from 'x'", 1),
    ] {
        check(source, (1, column), "tools.<server>.<tool>(…)");
    }
}

#[test]
fn await_in_a_plain_function_comes_with_a_remedy() {
    check("items.forEach(x => { await f(x) })", (1, 22), "`async`");
}

#[test]
fn a_program_that_is_nested_too_deep_is_rejected_before_it_is_parsed() {
    for (open, close) in [
        ("(", ")"),
        ("f(() => {", "})"),
        ("`${", "}`"),
        ("!", ""),
        ("a ** ", ""),
        ("if (a) {} else ", ""),
        ("x => ", ""),
        ("!(", ")"),
    ] {
        let source = open.repeat(2_000) + "x" + &close.repeat(2_000);
        let mistake = javascript(&source).expect_err(open);
        assert!(
            mistake.hint.is_some_and(|hint| hint.contains("divide it")),
            "{open}"
        );
    }
}

#[test]
fn a_long_program_is_not_taken_for_a_deep_one() {
    for line in [
        "a = b.c.d + e.f\n",
        "const r1 = await tools.a.b({ c: [1, 2, -3] })\n",
        "/* ( */ s = \"(\" + '[' + `{` // {\n",
        "if (/[(\"]/.test(a)) { b() }\n",
        "f(x => ({ ...x, y: -1 }));",
    ] {
        assert!(javascript(&line.repeat(1_000)).is_ok(), "{line}");
    }
}
