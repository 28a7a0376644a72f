//! Claims about declarations.

use kitbag_domain::text::strip_invisible;
use kitbag_wire::raw;
use serde_json::json;

use super::*;

/// Checks the arguments in a line.
#[track_caller]
fn check(schema: &Value, expect: &str) {
    let text = short(&json!({ "inputSchema": schema }));
    assert_eq!(text, format!("f({expect}): Promise<string | any>"));
}

/// Checks the type of a required argument in a line.
#[track_caller]
fn check_type(schema: &Value, expect: &str) {
    let object = json!({ "properties": { "a": schema }, "required": ["a"] });
    check(&object, &format!("args: {{ a: {expect} }}"));
}

fn short(definition: &Value) -> String {
    checked_declaration(definition, DeclarationSize::Short)
}

fn full(definition: &Value) -> String {
    checked_declaration(definition, DeclarationSize::Full)
}

/// Returns a declaration, of which nothing must remain once its types and comments are removed.
#[track_caller]
fn checked_declaration(definition: &Value, size: DeclarationSize) -> String {
    let definition = RawObject::open(&raw(definition)).unwrap();
    let text = declaration("f", &definition, size);
    let program = text.replacen("f(", "declare function f(", 1);
    let left = kitbag_script::shape(&program).map(|shape| shape.code);
    assert_eq!(left.as_deref(), Ok(""), "{text}");
    assert_eq!(strip_invisible(&text), text);
    text
}

#[test]
fn a_tool_becomes_one_line_with_its_required_arguments_first() {
    let text = short(&json!({
        "description": "Opens an issue. More follows.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "labels": { "type": "array", "items": { "type": "string" } },
                "state": { "enum": ["open", "closed"] },
                "owner": { "type": "string", "description": "left out" },
            },
            "required": ["owner"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "number": { "type": "integer" },
                "user": { "properties": { "id": {} } },
            },
            "required": ["number"],
        },
    }));
    assert_eq!(
        text,
        "f(args: { owner: string; labels?: string[]; state?: \"open\" | \"closed\" }): \
         Promise<{ number: number; user?: object }> // Opens an issue"
    );
}

#[test]
fn a_tool_without_required_arguments_may_be_called_without_any() {
    check(&Value::Null, "");
    check(&json!({ "type": "object" }), "");
    check(&json!({ "type": "object", "properties": {} }), "");
    check(
        &json!({ "properties": { "a": { "type": "string" } } }),
        "args?: { a?: string }",
    );
    check(&json!(true), "args?: any");
    check(
        &json!({ "type": "array", "items": { "type": "string" } }),
        "args?: string[]",
    );
    check(
        &json!({ "additionalProperties": { "type": "number" } }),
        "args?: Record<string, number>",
    );
}

#[test]
fn each_form_of_schema_has_its_type() {
    for (schema, expect) in [
        (json!({}), "any"),
        (json!(true), "any"),
        (json!(false), "never"),
        (json!({ "type": "unheard" }), "any"),
        (json!({ "type": ["integer", "null"] }), "number | null"),
        (
            json!({ "type": "string", "nullable": true }),
            "string | null",
        ),
        (json!({ "const": -1.5 }), "-1.5"),
        (json!({ "const": { "a": 1 } }), "object"),
        (
            json!({ "enum": ["a", 1, null, true] }),
            "\"a\" | 1 | null | true",
        ),
        (
            json!({ "enum": ["a", "b", "c", "d", "e", "f", "g", "h", "i"] }),
            "string",
        ),
        (json!({ "type": "array" }), "any[]"),
        (
            json!({ "items": { "type": ["string", "number"] } }),
            "(string | number)[]",
        ),
        (
            json!({ "prefixItems": [{ "type": "string" }], "items": false }),
            "[string]",
        ),
        (
            json!({ "items": [{ "type": "string" }, {}] }),
            "[string, any, ...any[]]",
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            "string | null",
        ),
        (
            json!({ "oneOf": [{ "const": "a" }, { "const": "a" }] }),
            "\"a\"",
        ),
        (json!({ "anyOf": [{ "type": "string" }, {}] }), "any"),
        (
            json!({ "allOf": [{ "properties": { "b": {} } }, { "required": ["b"] }] }),
            "{ b?: any }",
        ),
        (
            json!({ "properties": { "b": {} }, "allOf": [{ "anyOf": [{ "const": 1 }, { "const": 2 }] }] }),
            "{ b?: any } & (1 | 2)",
        ),
        (
            json!({ "properties": { "b": {} }, "patternProperties": { "^x": { "type": "string" } } }),
            "{ b?: any; [key: string]: string }",
        ),
        (
            json!({ "type": "object", "additionalProperties": true }),
            "object",
        ),
        (
            json!({ "properties": { "b": { "properties": { "c": {} } } } }),
            "{ b?: object }",
        ),
        (
            json!({ "properties": {}, "required": ["é", "x-y"] }),
            "{ \"é\": any; \"x-y\": any }",
        ),
        (json!({ "$ref": "https://example.com/a.json" }), "any"),
    ] {
        check_type(&schema, expect);
    }
}

#[test]
fn references_are_followed_and_circles_end() {
    check(
        &json!({
            "$defs": {
                "Node": { "properties": { "id": { "type": "string" }, "next": { "$ref": "#/$defs/Node" } } },
                "Loop": { "$ref": "#/$defs/Loop" },
            },
            "properties": { "node": { "$ref": "#/$defs/Node" }, "loop": { "$ref": "#/$defs/Loop" } },
        }),
        "args?: { node?: { id?: string; next?: any }; loop?: any }",
    );
    let defs: serde_json::Map<_, _> = (0..60)
        .map(|level| (format!("a{level}"), doubling_schema(level + 1)))
        .collect();
    let text = full(
        &json!({ "inputSchema": { "$defs": defs, "properties": { "a": doubling_schema(0) } } }),
    );
    assert!(text.len() <= MAX_FULL);
}

fn doubling_schema(level: usize) -> Value {
    let next = json!({ "$ref": format!("#/$defs/a{level}") });
    json!({ "properties": { "x": next, "y": next } })
}

#[test]
fn the_full_form_describes_in_comments_the_limits_that_types_cannot_express() {
    let text = full(&json!({
        "description": "Lists.\nAll of them.",
        "inputSchema": {
            "properties": {
                "since": { "type": "string", "format": "date-time", "description": "First day" },
                "page": {
                    "properties": { "size": { "type": "integer", "minimum": 1, "maximum": 9, "default": 5 } },
                },
            },
            "required": ["since"],
        },
    }));
    assert_eq!(
        text,
        "// Lists. All of them.
f(args: {
  // First day (format: date-time)
  since: string;
  page?: {
    // default: 5, minimum: 1, maximum: 9
    size?: number;
  };
}): Promise<string | any>"
    );
}

#[test]
fn text_of_a_server_stays_within_its_comment_and_hides_nothing() {
    let hostile = "a */ } \n); evil() // \u{202e}\u{200b}/*";
    let definition = json!({
        "description": hostile,
        "inputSchema": {
            "properties": {
                hostile: { "description": hostile, "default": hostile, "pattern": "*/" },
                "e": { "enum": [hostile, "\u{200b}"] },
            },
        },
    });
    let text = full(&definition);
    assert!(text.contains(r#""\u200b""#), "{text}");
    short(&definition);
}

#[test]
fn a_comment_shows_patterns_and_comment_marks_as_the_server_wrote_them() {
    let glob = "Use **/*.ts, /* not */ *.ts // ever";
    let text = full(&json!({
        "description": glob,
        "inputSchema": { "properties": { "p": { "type": "string", "description": glob, "default": "**/*" } } },
    }));
    assert_eq!(
        text,
        format!(
            "// {glob}\nf(args?: {{\n  // {glob} (default: **/*)\n  p?: string;\n}}): Promise<string | any>"
        )
    );
}

#[test]
fn a_large_schema_is_truncated_to_the_size() {
    let long = "word ".repeat(100);
    let many: serde_json::Map<_, _> = (0..300)
        .map(|number| {
            (
                format!("member_{number}"),
                json!({ "description": long, "enum": ["a", "b"] }),
            )
        })
        .collect();
    let names: Vec<&String> = many.keys().collect();
    let definition = json!({ "inputSchema": { "properties": many } });
    assert!(short(&definition).ends_with("; /*…*/ }): Promise<string | any>"));
    assert!(full(&definition).len() <= MAX_FULL);
    let required = json!({ "inputSchema": { "properties": many, "required": names } });
    assert_eq!(short(&required), "f(args: object): Promise<string | any>");
}

#[test]
fn a_name_that_is_not_an_identifier_is_called_with_brackets() {
    assert_eq!(
        member_call("github", "create_issue"),
        "tools.github.create_issue"
    );
    assert_eq!(
        member_call("my-server", "a b"),
        r#"tools["my-server"]["a b"]"#
    );
}

#[test]
fn every_tool_of_the_evaluation_set_has_a_declaration_that_typescript_can_read() {
    let tools = include_str!("../../../../evals/p0/tools.jsonl");
    for line in tools.lines() {
        let tool: Value = serde_json::from_str(line).unwrap();
        let definition =
            json!({ "description": tool["description"], "inputSchema": tool["schema"] });
        assert!(short(&definition).len() <= MAX_SHORT);
        assert!(full(&definition).len() <= MAX_FULL);
    }
}
