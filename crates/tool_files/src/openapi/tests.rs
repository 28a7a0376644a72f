//! Tests of the import: a small sample document in both notations, and a large one on request.

use std::path::Path;

use kitbag_domain::Remedy as _;
use serde_json::json;

use super::*;
use crate::checks::{CheckInput, check};

const SHOP: &str = r##"
openapi: 3.0.3
info: { title: Pet Shop, version: "1" }
servers:
  - url: http://insecure.example
  - url: https://{region}.shop.example/v2/
    variables: { region: { default: eu } }
security: [{ token: [] }]
paths:
  /pets/{pet-id}:
    parameters:
      - { name: pet-id, in: path, required: true, schema: { type: string, pattern: "(" } }
    get:
      operationId: getPet
      summary: Get a pet
      description: Get a pet by its number. It must exist.
      tags: [pets]
      parameters:
        - { name: "fields", in: query, explode: false, schema: { type: array, items: { type: string } } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: Accept, in: header, schema: { type: string } }
    patch:
      operationId: changePet
      summary: Change a pet
      tags: [pets]
      requestBody:
        required: true
        content:
          application/json: { schema: { $ref: "#/components/schemas/Pet" } }
    delete:
      operationId: removePet
      tags: [pets]
  /pets:
    get:
      operationId: list-pets
      summary: List pets
      tags: [pets]
      parameters:
        - { name: page, in: query, schema: { type: integer } }
        - { name: org, in: query, description: The owner of the shop. Not you., schema: { type: string } }
        - { name: filter, in: query, style: deepObject, schema: { type: object, properties: { kind: { type: string } } } }
      responses:
        200: { content: { application/json: { schema: { type: array, items: {} } } } }
    post:
      operationId: addPhoto
      summary: Add a photo
      tags: [photos]
      security: [{ login: [photos] }]
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [photo]
              properties: { photo: { type: string, format: binary, description: The photo. }, title: { type: string } }
  /raw:
    put:
      operationId: putRaw
      summary: Put bytes
      security: []
      requestBody: { content: { application/octet-stream: { schema: { type: string, format: binary } } } }
  /xml:
    post:
      operationId: postXml
      requestBody: { content: { application/xml: {} } }
  /search:
    post:
      operationId: search
      summary: Search
      requestBody:
        content:
          application/json:
            schema:
              oneOf:
                - { type: object, properties: { words: { type: string, nullable: true } }, required: [words] }
                - { $ref: "#/components/schemas/Node" }
components:
  securitySchemes:
    token: { type: http, scheme: bearer }
    login:
      type: oauth2
      flows:
        authorizationCode:
          authorizationUrl: https://shop.example/login
          tokenUrl: https://shop.example/token
          scopes: {}
  schemas:
    Pet:
      allOf:
        - { $ref: "#/components/schemas/Named" }
        - type: object
          properties:
            id: { type: integer, readOnly: true }
            age: { type: integer, minimum: 0, exclusiveMinimum: true }
            extra: { type: object }
    Named: { type: object, properties: { name: { type: string } }, required: [name, id] }
    Node: { type: object, properties: { child: { $ref: "#/components/schemas/Node" } } }
"##;

fn import_shop(options: &ImportOptions) -> Imported {
    import(SHOP, options, &kitbag_schema::schema_fault).unwrap()
}

fn tool(imported: &Imported, slug: &str) -> ToolFile {
    let file = imported.files.iter().find(|file| file.slug == slug);
    let file = file.unwrap_or_else(|| panic!("{slug} is not among {:?}", slugs(imported)));
    ToolFile::read(Path::new(&format!("{slug}.toml")), &file.text).unwrap()
}

fn slugs(imported: &Imported) -> Vec<&str> {
    imported
        .files
        .iter()
        .map(|file| file.slug.as_str())
        .collect()
}

/// The files pass every check that applies to single files.
#[track_caller]
fn check_all(imported: &Imported) {
    let tools: Vec<_> = imported
        .files
        .iter()
        .map(|file| {
            ToolFile::read(Path::new(&format!("{}.toml", file.slug)), &file.text)
                .unwrap()
                .into()
        })
        .collect();
    let found = check(&CheckInput {
        tools: &tools,
        problems: &[],
        manifest: None,
        pages: None,
        dated: None,
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &|word| kitbag_clients::text_without_secrets(word) != word,
        names_secret: &|name| name.to_lowercase().contains("token"),
    });
    let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(
        messages.is_empty(),
        "{} findings\n{}",
        messages.len(),
        messages[..messages.len().min(40)].join("\n")
    );
}

#[test]
fn each_operation_becomes_a_file_that_passes_the_checks() {
    let imported = import_shop(&ImportOptions::default());
    assert_eq!(
        slugs(&imported),
        [
            "pet-shop-get-pet",
            "pet-shop-change-pet",
            "pet-shop-remove-pet",
            "pet-shop-list-pets",
            "pet-shop-add-photo",
            "pet-shop-put-raw",
            "pet-shop-search",
        ]
    );
    assert_eq!(imported.skipped[0].operation, "POST /xml");
    assert_eq!(
        imported.skipped[0].reason,
        "its body can only be application/xml"
    );
    check_all(&imported);
}

#[test]
fn a_file_contains_everything_in_the_document() {
    let imported = import_shop(&ImportOptions::default());
    let expected = r#"name = "pet_shop_get_pet"
kind = "curated"
purpose = "Get a pet"
description = "Get a pet by its number. It must exist."
owner = "imported"
provider = "pet_shop"
writes = "read"
tags = ["pets"]
intents = ["get a pet in pet shop"]

[api]
url = "https://eu.shop.example/v2"
credential = "pet-shop"
auth = { scheme = "bearer" }

[actions.get_pet]
description = "Get a pet"
writes = "read"
method = "GET"
path = "/pets/{pet_id}"
query = { "fields" = "{fields,}" }
headers = { "X-Trace" = "{X_Trace}" }
input = '''
"#;
    assert!(
        imported.files[0].text.starts_with(expected),
        "{}",
        imported.files[0].text
    );
    let list = &imported.files[3].text;
    for line in [
        "not_tenancy = [\"org\"]",
        "pages = { number = \"page\", items = \"\" }",
        "query = { \"page\" = \"{page}\", \"org\" = \"{org}\", \"filter\" = \"{filter}\" }",
    ] {
        assert!(list.contains(line), "{line}\n{list}");
    }
    let photo = &imported.files[4].text;
    for line in [
        "body = \"{*}\"\nbody_type = \"multipart\"",
        "auth = { scheme = \"oauth2\", grant = \"authorization_code\", token_url = \"https://shop.example/token\", authorize_url = \
         \"https://shop.example/login\", scopes = [\"photos\"] }",
    ] {
        assert!(photo.contains(line), "{line}\n{photo}");
    }
    let raw = &imported.files[5].text;
    assert!(
        raw.contains("body = \"{content}\"\nbody_type = \"bytes\""),
        "{raw}"
    );
    assert!(!raw.contains("auth ="), "{raw}");
}

#[test]
fn loose_schemas_become_strict_ones() {
    let imported = import_shop(&ImportOptions::default());
    let input = |slug: &str| Value::Object(tool(&imported, slug).actions[0].input.clone());
    assert_eq!(
        input("pet-shop-change-pet"),
        json!({
            "type": "object",
            "properties": {
                "pet_id": { "type": "string" },
                "name": { "type": "string" },
                "age": { "type": "integer", "exclusiveMinimum": 0 },
                "extra": { "type": "object", "additionalProperties": {} },
            },
            "required": ["pet_id", "name"],
            "additionalProperties": false,
        })
    );
    let search = input("pet-shop-search");
    assert_eq!(
        search["properties"]["body"]["anyOf"][0],
        json!({
            "type": "object",
            "properties": { "words": { "type": ["string", "null"] } },
            "required": ["words"],
            "additionalProperties": false,
        })
    );
    assert!(
        search.to_string().len() < 4000,
        "a schema within itself ends somewhere"
    );
    assert_eq!(
        input("pet-shop-add-photo")["properties"]["photo"]["required"],
        json!(["base64", "filename"])
    );
}

#[test]
fn operations_of_one_tag_become_one_tool_on_request() {
    let options = ImportOptions {
        grouped: true,
        provider: Some("shop".to_owned()),
        only: vec!["pets".to_owned()],
        credential: Some("till".to_owned()),
        server: Some("https://till.example/".to_owned()),
        ..ImportOptions::default()
    };
    let imported = import_shop(&options);
    assert_eq!(slugs(&imported), ["shop-pets"]);
    let tool = tool(&imported, "shop-pets");
    let actions: Vec<&str> = tool.actions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        actions,
        ["get_pet", "change_pet", "remove_pet", "list_pets"]
    );
    let api = tool.api.as_ref().unwrap();
    assert_eq!(api.url.with_stars(), "https://till.example");
    assert_eq!(api.credential.as_ref().unwrap().as_str(), "till");
    check_all(&imported);
}

#[test]
fn a_document_that_cannot_be_used_is_rejected_with_advice() {
    for (text, expected) in [
        (
            "{",
            "this is neither JSON nor YAML: EOF while parsing an object at line 1 column 1",
        ),
        (
            "swagger: '2.0'",
            "this is OpenAPI 2.0 => convert it to 3.0 or 3.1",
        ),
        (
            "a: b",
            "this is not an OpenAPI document => look for a document with `openapi: 3.…` at its beginning",
        ),
        (
            "openapi: 3.1.0\npaths: {}",
            "the document has no operations, or none of the requested ones => omit --only to see all",
        ),
        (
            "openapi: 3.1.0\npaths: { /a: { get: {} } }",
            "the document has no usable address of the API => name the address: --server https://api.example/v1; for an API of your own network add --allow-private",
        ),
    ] {
        let error = import(
            text,
            &ImportOptions::default(),
            &kitbag_schema::schema_fault,
        )
        .unwrap_err();
        let message = match error.remedy() {
            Some(remedy) => format!("{error} => {remedy}"),
            None => error.to_string(),
        };
        assert_eq!(message, expected);
    }
}
