//! Tests of the checks: each finds the mistakes planted in a sample, and none in the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kitbag_clients::text_without_secrets;

use super::*;
use crate::ToolCatalog;
use crate::file::tests::TICKET;

/// The day on which the newest rows of dated data were written.
const WRITTEN: Date = jiff::civil::date(2026, 11, 16);

fn looks_secret(word: &str) -> bool {
    text_without_secrets(word) != word
}

fn names_secret(name: &str) -> bool {
    let words = ["auth", "key", "token", "secret", "cookie"];
    words.iter().any(|word| name.to_lowercase().contains(word))
}

const MANIFEST: &str = "\
| Tool | Kind | Purpose | Write ops | Owner |
|---|---|---|---|---|
| ticket | curated | Read and open tickets. | read + write | support |
";
const PAGE: &str = "Actions: `search` and `open`.";

/// A catalog of one correct tool, in which a text can be replaced.
struct SampleCatalog {
    tool: String,
    manifest: String,
    page: Option<String>,
}

fn sample() -> SampleCatalog {
    SampleCatalog {
        tool: TICKET.to_owned(),
        manifest: MANIFEST.to_owned(),
        page: Some(PAGE.to_owned()),
    }
}

impl SampleCatalog {
    fn in_tool(mut self, from: &str, to: &str) -> Self {
        assert!(self.tool.contains(from), "{from}");
        self.tool = self.tool.replacen(from, to, 1);
        self
    }

    fn without_example(self) -> Self {
        self.in_tool(
            "examples = ['{ \"subject\": \"The printer is on fire\" }']",
            "",
        )
    }

    fn in_manifest(mut self, from: &str, to: &str) -> Self {
        assert!(self.manifest.contains(from), "{from}");
        self.manifest = self.manifest.replacen(from, to, 1);
        self
    }

    fn with_page(mut self, page: Option<&str>) -> Self {
        self.page = page.map(str::to_owned);
        self
    }

    #[track_caller]
    fn finds(self, expected: &[&str]) {
        let (tools, problems) = match ToolFile::read(Path::new("ticket.toml"), &self.tool) {
            Ok(tool) => (vec![Arc::new(tool)], Vec::new()),
            Err(problems) => (Vec::new(), problems),
        };
        let manifest = Manifest::read(Path::new("TOOLS.md"), &self.manifest);
        let pages = self.page.map(|text| {
            let path = "ticket.md".into();
            ("ticket".to_owned(), ToolPage { path, text })
        });
        let pages: BTreeMap<String, ToolPage> = pages.into_iter().collect();
        let found = check(&CheckInput {
            tools: &tools,
            problems: &problems,
            manifest: Some(&manifest),
            pages: Some(&pages),
            dated: None,
            fits: &kitbag_schema::fits,
            schema_fault: &kitbag_schema::schema_fault,
            looks_secret: &looks_secret,
            names_secret: &names_secret,
        });
        let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(messages, expected);
    }
}

#[test]
fn a_catalog_without_a_mistake_passes() {
    sample().finds(&[]);
}

#[test]
fn a_tenant_as_an_argument_is_found_at_every_depth() {
    let argument = r#""subject": { "type": "string", "description": "One line." }"#;
    let nested = r#""subject": { "type": "object", "properties": { "orgId": {} }, "additionalProperties": false }"#;
    sample()
        .without_example()
        .in_tool(argument, nested)
        .finds(&["ticket.toml:47: check 03 tenancy: action `open` takes `orgId` as an argument"]);
    sample()
        .without_example()
        .in_tool(argument, nested)
        .in_tool("intents", "not_tenancy = [\"orgId\"]\nintents")
        .finds(&[]);
    for name in [
        "tenant_id",
        "org_id",
        "organizationId",
        "account_id",
        "accountId",
        "account-ids",
        "workspace_id",
        "workspaceSlug",
    ] {
        let tenant =
            format!(r#""{name}": {{ "type": "string" }}, "subject": {{ "type": "string" }}"#);
        sample()
            .in_tool(argument, &tenant)
            .in_tool("{subject}", &format!("{{subject}} {{{name}}}"))
            .finds(&[&format!(
                "ticket.toml:47: check 03 tenancy: action `open` takes `{name}` as an argument"
            )]);
    }
    for name in ["account", "ad_account_id", "workspace", "accounting"] {
        assert!(!names_a_tenant(name), "{name}");
    }
}

#[test]
fn the_manifest_and_the_files_are_compared_both_ways() {
    sample().in_manifest("| ticket |", "| tickets |").finds(&[
        "TOOLS.md:3: check 04 manifest: `tickets` has a row and no file `tickets.toml`",
        "ticket.toml:1: check 04 manifest: `ticket` has a file and no row in TOOLS.md",
    ]);
    sample()
        .in_manifest("curated", "platform")
        .in_manifest("read + write", "read")
        .finds(&[
            "ticket.toml:2: check 04 manifest: `kind` is \"curated\", and \"platform\" in TOOLS.md, line 3",
            "ticket.toml:6: check 04 manifest: `writes` is \"read + write\", and \"read\" in TOOLS.md, line 3",
        ]);
    sample().in_tool("name = \"ticket\"", "name = \"tickets\"").finds(&[
        "ticket.toml:1: check 04 manifest: `ticket` is called `tickets`, but has no alias `ticket`",
    ]);
    sample()
        .in_manifest("support |\n", "support |\n\n| Tool | Removed | Reason |\n|---|---|---|\n| ticket | 2026-05-17 | Gone. |\n")
        .finds(&["ticket.toml:1: check 04 manifest: `ticket` was removed on 2026-05-17: Gone."]);
}

#[test]
fn a_schema_that_accepts_unknown_members_is_found_at_every_level() {
    let finds = |schema: &str, place: &str| {
        sample()
            .without_example()
            .in_tool(r#"{ "type": "string", "description": "One line." }"#, schema)
            .finds(&[&format!(
                "ticket.toml:47: check 08 strict schemas: action `open`: {place} accepts unknown members"
            )]);
    };
    sample()
        .without_example()
        .in_tool("\"enum\": [\"low\", \"high\"]", "\"enum\": \"low\"")
        .finds(&["ticket.toml:44: check 08 strict schemas: action `open`: invalid schema: value is not of type \"array\""]);
    finds(r#"{ "type": "object" }"#, "`/properties/subject`");
    finds(
        r#"{ "type": ["object", "null"], "additionalProperties": true }"#,
        "`/properties/subject`",
    );
    finds(
        r#"{ "type": "array", "items": { "properties": { "a": {} } } }"#,
        "`/properties/subject/items`",
    );
    finds(
        r#"{ "anyOf": [{ "type": "string" }, { "type": "object" }] }"#,
        "`/properties/subject/anyOf/1`",
    );
    finds(
        r#"{ "type": "object", "additionalProperties": { "type": "object" } }"#,
        "`/properties/subject/additionalProperties`",
    );
    sample()
        .in_tool("\"required\": [\"subject\"],", "\"required\": [\"subject\"], \"$defs\": { \"x\": { \"type\": \"object\" } },")
        .finds(&["ticket.toml:50: check 08 strict schemas: action `open`: `/$defs/x` accepts unknown members"]);
}

#[test]
fn a_page_lists_every_action() {
    sample()
        .with_page(Some("Actions: `search`."))
        .finds(&["ticket.md: check 14 pages: the page does not list the action `open`"]);
    sample()
        .with_page(None)
        .finds(&["ticket.toml:1: check 14 pages: `ticket` has no page"]);
}

#[test]
fn a_file_that_cannot_be_read_or_has_no_write_class_is_found() {
    sample()
        .in_tool("writes = \"write\"\n", "")
        .finds(&["ticket.toml:35: check write class: in `actions.open`: missing key `writes`"]);
    sample()
        .in_tool("kind = \"curated\"", "kind = 1")
        .finds(&["ticket.toml:2: check files: in `kind`: expected a text, found an integer"]);
}

#[test]
fn a_request_that_leaves_its_hosts_or_loses_arguments_is_found() {
    sample()
        .in_tool("credential = \"desk\"", "hosts = [\"desk.example\"]\ncredential = \"desk\"")
        .finds(&["ticket.toml:11: check hosts: requests go to `x.desk.example`, but the hosts are desk.example"]);
    sample()
        .in_tool(", \"priority\": \"{priority}\"", "")
        .finds(&[
            "ticket.toml:48: check arguments: action `open` takes `priority`, but never sends it",
        ]);
    sample()
        .in_tool(
            "\"required\": [\"words\"]",
            "\"required\": [\"words\", \"who\"]",
        )
        .finds(&[
            "ticket.toml:31: check arguments: action `search` requires `who`, which is not a property",
        ]);
}

#[test]
fn an_example_that_does_not_fit_a_missing_intent_and_a_secret_are_found() {
    sample().in_tool("{ \"subject\": \"The", "{ \"titel\": \"The").finds(&[
        "ticket.toml:53: check examples: an example of `open` does not match the schema: Additional properties are not allowed ('titel' was unexpected)",
    ]);
    sample()
        .in_tool(
            "intents = [\"is there a ticket about the printer\"]",
            "intents = []",
        )
        .finds(&["ticket.toml:7: check intents: `ticket` has no intents"]);
    let secret = concat!(
        "X-Client = \"ghp_",
        "abcdefghijklmnopqrstuvwxyz0123456789\""
    );
    sample()
        .in_tool("X-Client = \"kitbag\"", secret)
        .finds(&["ticket.toml:13: check secrets: this line seems to contain a secret"]);
    sample()
        .in_tool("X-Client = \"kitbag\"", "X-Auth-Token = \"hunter2\"")
        .finds(&["ticket.toml:13: check secrets: `x-auth-token` has a fixed value"]);
}

#[test]
fn the_catalog_passes_every_check() {
    let catalog = ToolCatalog::built_in();
    let manifest = Manifest::built_in();
    let pages = catalog.tools().iter().filter_map(|tool| {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/tools/{}.md", tool.id));
        let text = std::fs::read_to_string(&path).ok()?;
        Some((tool.id.to_string(), ToolPage { path, text }))
    });
    let found = check(&CheckInput {
        tools: catalog.tools(),
        problems: catalog.problems(),
        manifest: Some(&manifest),
        pages: Some(&pages.collect()),
        dated: Some((&DatedData::built_in(), WRITTEN)),
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &looks_secret,
        names_secret: &names_secret,
    });
    let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

#[test]
fn model_providers_pass_the_checks_of_requests() {
    let found = check(&CheckInput {
        tools: crate::model_providers(),
        problems: &[],
        manifest: None,
        pages: None,
        dated: None,
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &looks_secret,
        names_secret: &names_secret,
    });
    let found = found.iter().filter(|it| it.check != CheckId::Intents);
    let messages: Vec<String> = found.map(ToString::to_string).collect();
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}
