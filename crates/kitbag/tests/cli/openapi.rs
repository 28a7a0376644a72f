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
fn a_document_becomes_files_that_pass_the_checks_and_the_person_is_told_what_is_left_to_do() {
    let home = Home::new();
    home.write("spec.json", &document().to_string());
    let told = home.ok(&["tools", "import", "spec.json", "--dry-run"]);
    assert!(
        told.contains("Would generate 2 files in tools; skipped 0 operations."),
        "{told}"
    );
    assert!(!home.path("tools").exists());

    let told = home.ok(&["tools", "import", "spec.json"]);
    for text in [
        "tools/pet-shop-get-pet.toml",
        "Generated 2 files in tools",
        "2 intents among 28 tools",
        "no problems.",
        "Next: kitbag secret set pet-shop token",
        "under [catalog] in the configuration: directories = [",
    ] {
        assert!(told.contains(text), "no {text}: {told}");
    }
    let told = home.fails(&["tools", "import", "spec.json"]);
    assert!(
        told.contains("tools/pet-shop-get-pet.toml already exists"),
        "{told}"
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
fn a_document_that_cannot_be_used_or_reached_is_told_with_advice() {
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
        let told = home.fails(&["tools", "import", spec]);
        assert!(told.contains(expected), "{spec}: {told}");
    }
}

#[test]
fn an_api_of_the_own_network_is_imported_and_one_entry_of_the_configuration_permits_it() {
    let home = Home::new();
    home.write("spec.json", &document().to_string());
    let server = [
        "tools",
        "import",
        "spec.json",
        "--server",
        "http://127.0.0.1:8000/v1/",
    ];
    let told = home.fails(&server);
    assert!(
        told.contains("`http://127.0.0.1:8000/v1/` is not reached by https")
            && told.contains("add --allow-private"),
        "{told}"
    );
    assert!(!home.path("tools").exists());
    let told = home.ok(&[&server[..], &["--allow-private"]].concat());
    let expected = "Next: add to the configuration, once for all of these files:\n  [endpoints.\"pet-shop-*\"]\n  \
                    url = \"http://127.0.0.1:8000/v1\"\n  allow_private = true\n";
    for text in ["Generated 2 files in tools", "no problems.", expected] {
        assert!(told.contains(text), "no {text}: {told}");
    }
}

#[test]
fn a_document_of_which_nothing_can_be_imported_is_an_error_with_the_reason() {
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
        let told = home.fails(&words);
        assert!(
            told.contains("none of 2 operations can be imported; POST /"),
            "{told}"
        );
        assert!(
            !told.contains("no problems") && !told.contains("Next"),
            "{told}"
        );
        assert!(!home.path("tools").exists());
    }
}
