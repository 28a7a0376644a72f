//! `kitbag tools import`: generates and checks files, overwrites none unasked, and prints the next steps.

use kitbag_testkit::home::Home;
use serde_json::{Value, json};

fn document() -> Value {
    let answer = json!({ "200": { "description": "ok" } });
    let id =
        json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Pet shop", "version": "1" },
        "servers": [{ "url": "https://pets.example/v1" }],
        "components": { "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } } },
        "security": [{ "key": [] }],
        "paths": {
            "/pets/{id}": { "get": {
                "operationId": "getPet", "summary": "Get a pet", "tags": ["pets"], "parameters": id, "responses": answer,
            } },
            "/orders": { "get": {
                "operationId": "listOrders", "summary": "List orders", "tags": ["orders"], "responses": answer,
            } },
        },
    })
}

#[test]
fn a_document_becomes_valid_files_and_the_next_steps_are_printed() {
    let home = Home::new();
    home.write("spec.json", &document().to_string());
    let output = home.ok(&["tools", "import", "spec.json", "--dry-run"]);
    assert!(
        output.contains("Would generate 2 files in tools; skipped 0 operations."),
        "{output}"
    );
    assert!(!home.path("tools").exists());

    let output = home.ok(&["tools", "import", "spec.json"]);
    for text in [
        "tools/pet-shop-get-pet.toml",
        "Generated 2 files in tools",
        "2 intents among 28 tools",
        "no problems.",
        "Next: kitbag secret set pet-shop token",
        "under [catalog] in the configuration: directories = [",
    ] {
        assert!(output.contains(text), "no {text}: {output}");
    }
    let output = home.fails(&["tools", "import", "spec.json"]);
    assert!(
        output.contains("tools/pet-shop-get-pet.toml already exists"),
        "{output}"
    );
    let only = [
        "tools",
        "import",
        "spec.json",
        "--only",
        "GET /orders",
        "--out",
        "few",
        "--name",
        "shop",
    ];
    assert_eq!(
        home.json(&only)["files"],
        json!(["few/shop-list-orders.toml"])
    );
}

#[test]
fn an_unusable_or_unreachable_document_is_reported_with_a_remedy() {
    let home = Home::new();
    home.write("old.json", r#"{ "swagger": "2.0" }"#);
    for (spec, expected) in [
        ("old.json", "this is OpenAPI 2.0"),
        ("absent.yaml", "cannot read absent.yaml"),
        ("http://pets.example/openapi.json", "does not use https"),
        (
            "https://127.0.0.1/openapi.json",
            "`127.0.0.1` may not be called",
        ),
    ] {
        let output = home.fails(&["tools", "import", spec]);
        assert!(output.contains(expected), "{spec}: {output}");
    }
}

#[test]
fn an_api_in_a_private_network_is_imported_and_allowed_by_one_entry() {
    let home = Home::new();
    home.write("spec.json", &document().to_string());
    let server = [
        "tools",
        "import",
        "spec.json",
        "--server",
        "http://127.0.0.1:8000/v1/",
    ];
    let output = home.fails(&server);
    assert!(
        output.contains("`http://127.0.0.1:8000/v1/` is not reached by https")
            && output.contains("add --allow-private"),
        "{output}"
    );
    assert!(!home.path("tools").exists());
    let output = home.ok(&[&server[..], &["--allow-private"]].concat());
    let expected = "Next: add to the configuration, once for all of these files:\n  [endpoints.\"pet-shop-*\"]\n  \
                    url = \"http://127.0.0.1:8000/v1\"\n  allow_private = true\n";
    for text in ["Generated 2 files in tools", "no problems.", expected] {
        assert!(output.contains(text), "no {text}: {output}");
    }
}

#[test]
fn a_document_without_importable_operations_is_an_error() {
    let home = Home::new();
    let mut xml = document();
    let body = json!({ "content": { "application/xml": { "schema": { "type": "string" } } }, "required": true });
    for path in ["/pets/{id}", "/orders"] {
        let operation = xml["paths"][path]["get"].take();
        xml["paths"][path] = json!({ "post": operation });
        xml["paths"][path]["post"]["requestBody"] = body.clone();
    }
    home.write("xml.json", &xml.to_string());
    for words in [
        vec!["tools", "import", "xml.json"],
        vec!["tools", "import", "xml.json", "--dry-run"],
    ] {
        let output = home.fails(&words);
        assert!(
            output.contains("none of 2 operations can be imported; POST /"),
            "{output}"
        );
        assert!(
            !output.contains("no problems") && !output.contains("Next"),
            "{output}"
        );
        assert!(!home.path("tools").exists());
    }
}
