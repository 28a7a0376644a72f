//! Claims about the shape of a program.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(source: &str, code: &str, literals: &Value) {
    let shape = shape(source).unwrap();
    assert_eq!(shape.code, code);
    let found = shape.literals.into_iter();
    let found: serde_json::Map<_, _> = found.map(|it| (it.name, it.value)).collect();
    assert_eq!(&Value::Object(found), literals);
}

#[test]
fn literals_in_the_arguments_of_tools_are_extracted() {
    check(
        "return tools.github.list({ owner: 'octocat', page: { size: -1.5, all: true }, labels: [`a`, 'b'] })",
        "return tools.github.list({ owner: params.owner, page: { size: params.size, all: params.all }, labels: [params.labels, params.labels_2] });",
        &json!({ "owner": "octocat", "size": -1.5, "all": true, "labels": "a", "labels_2": "b" }),
    );
    check(
        "return call('slack__send', { text: 'hi' })",
        "return call('slack__send', { text: params.text });",
        &json!({ "text": "hi" }),
    );
    check(
        "return tools['a']?.b('x', { 'issue-number': 7 })",
        "return tools['a']?.b(params.value, { 'issue-number': params.issue_number });",
        &json!({ "value": "x", "issue_number": 7 }),
    );
}

#[test]
fn the_same_value_under_the_same_key_has_one_name() {
    check(
        "await tools.a.b({ id: 1 });\nawait tools.a.c({ id: 1 });\nreturn tools.a.d({ id: 2 })",
        "await tools.a.b({ id: params.id });\nawait tools.a.c({ id: params.id });\nreturn tools.a.d({ id: params.id_2 });",
        &json!({ "id": 1, "id_2": 2 }),
    );
}

#[test]
fn a_constant_used_only_for_tools_is_extracted_at_its_declaration() {
    check(
        "const who = 'octocat';\nreturn tools.a.b({ owner: who })",
        "const who = params.owner;\nreturn tools.a.b({ owner: who });",
        &json!({ "owner": "octocat" }),
    );
    let elsewhere = "const who = \"x\";\nlog(who);\nreturn tools.a.b({ owner: who });";
    check(elsewhere, elsewhere, &json!({}));
    let twice = "const who = \"x\";\nf((who) => who);\nreturn tools.a.b({ who });";
    check(twice, twice, &json!({}));
}

#[test]
fn other_values_stay_in_the_program() {
    for code in [
        "return tools.a.b({ q: \"is:\" + state, [key]: 1, n: null, big: 1n, __proto__: \"x\" });",
        "return other.a.b({ owner: \"x\" });",
        "return call(name, { owner: \"x\" });",
    ] {
        check(code, code, &json!({}));
    }
}

#[test]
fn names_that_the_program_already_reads_are_not_reused() {
    check(
        "const { a } = params;\nreturn tools.x.y({ a: 1, b: params.b, c: { b: 2 } })",
        "const { a } = params;\nreturn tools.x.y({ a: params.a_2, b: params.b, c: { b: params.b_2 } });",
        &json!({ "a_2": 1, "b_2": 2 }),
    );
    for code in [
        "return tools.a.b({ ...params, limit: 10 });",
        "const params = 1;\nreturn tools.a.b({ limit: 10 });",
        "const { a, ...rest } = params;\nreturn tools.a.b({ limit: 10 });",
    ] {
        check(code, code, &json!({}));
    }
}

#[test]
fn programs_that_differ_only_in_literals_layout_comments_and_types_have_one_shape() {
    let one = "const r = await tools.a.b({ id: 1 })\nfor (const x of r) { if (x) log(x) }\nclass A { y = 1 }\nr";
    let other = "// Lists.
        interface R { z: string }
        const r: R = await tools.a.b<R>({ id: 22 } as any);
        for (const x of r) {
            if (x) log(x!);
        }
        class A { private y: number = 1; z(): void; }
        r satisfies R;";
    assert_eq!(shape(one).unwrap().code, shape(other).unwrap().code);
}

#[test]
fn a_shape_names_each_tool_once_and_its_purpose() {
    let shape = shape(
        "/**\n * Sends the\n * news.\n */\nawait tools.a.b(); await tools.a.b();\nawait call(`c__d`); // end",
    )
    .unwrap();
    let member = ToolPath::Member {
        server: "a".to_owned(),
        tool: "b".to_owned(),
    };
    assert_eq!(shape.tools, [member, ToolPath::Exposed("c__d".to_owned())]);
    assert_eq!(shape.purpose.as_deref(), Some("Sends the news."));
    let lines = super::shape("// One\n// two\n\n// three\n1").unwrap();
    assert_eq!(lines.purpose.as_deref(), Some("One two"));
}

#[test]
fn a_shape_is_laid_out_in_one_way() {
    check(
        "switch (a) { case 1: b()\nbreak; default: ; }\ndo { i++ } while (!c)\nlabel: for (;;) continue label;\nif (d) ; else e()\nvar o = { get f() { return 1 .toFixed() }, g: {} }\nx = (y) => `${y}z`;;\nreturn",
        "switch (a) {\n  case 1:\n  b();\n  break;\n  default:\n}\ndo {\n  i ++;\n} while (!c);\nlabel: for (;;) continue label;\nif (d); else e();\nvar o = { get f() {\n  return 1 .toFixed();\n}, g: { } };\nx = (y) => `${ y }z`;\nreturn;",
        &json!({}),
    );
}
