//! `kitbag openapi import`: files are made, checked, never written over unasked, and what is left to do is told.

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
fn a_document_becomes_files_that_pass_the_checks_and_the_person_is_told_what_is_left_to_do() {
    let home = Home::new();
    home.write("spec.json", &document().to_string());
    let told = home.ok(&["openapi", "import", "spec.json", "--dry-run"]);
    assert!(
        told.contains("Would make 2 files in tools; skipped 0 operations."),
        "{told}"
    );
    assert!(!home.path("tools").exists());

    let told = home.ok(&["openapi", "import", "spec.json"]);
    for text in [
        "tools/pet-shop-get-pet.toml",
        "Made 2 files in tools",
        "2 intents among 23 tools",
        "nothing is wrong.",
        "Next: kitbag credentials set pet-shop token",
        "under [catalog]: directories = [",
    ] {
        assert!(told.contains(text), "no {text}: {told}");
    }
    let told = home.fails(&["openapi", "import", "spec.json"]);
    assert!(
        told.contains("tools/pet-shop-get-pet.toml is there already"),
        "{told}"
    );
    let only = [
        "openapi",
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
fn a_document_that_cannot_be_used_or_reached_is_told_with_advice() {
    let home = Home::new();
    home.write("old.json", r#"{ "swagger": "2.0" }"#);
    for (spec, expected) in [
        ("old.json", "this is OpenAPI 2.0"),
        ("absent.yaml", "absent.yaml cannot be read"),
        (
            "http://pets.example/openapi.json",
            "is not reached by https",
        ),
        (
            "https://127.0.0.1/openapi.json",
            "`127.0.0.1` may not be called",
        ),
    ] {
        let told = home.fails(&["openapi", "import", spec]);
        assert!(told.contains(expected), "{spec}: {told}");
    }
}
