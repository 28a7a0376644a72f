//! Tests of the tools through the public API that the gateway uses.

mod context;
mod web;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_domain::Remedy as _;
use kitbag_store::{FeedbackQuery, FeedbackResolution};
use kitbag_tool_files::ToolCatalog;
use serde_json::json;

use super::*;

/// 2026-11-16T00:00:00Z
const NOW: Timestamp = Timestamp(1_794_787_200_000);

struct TestPlatform {
    platform: Platform,
    store: Store,
    _folder: tempfile::TempDir,
}

impl TestPlatform {
    async fn open(profiles: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("kitbag.db").as_path()).await;
        let store = store.unwrap();
        let file = profiles.map(|text| -> PathBuf {
            let path = folder.path().join("icp.toml");
            std::fs::write(&path, text).unwrap();
            path
        });
        let services = PlatformServices {
            store: store.clone(),
            embed: by_words(),
            now: || NOW,
            context: true,
            data_files: file.into_iter().collect(),
            web: Some(Arc::new(web::unreachable_pages())),
        };
        Self {
            platform: Platform::new(services),
            store,
            _folder: folder,
        }
    }

    /// Calls `tool action` for a tenant; returns the answer, or `CODE: message`.
    async fn call(&self, tenant: &str, call: &str, arguments: Value) -> Value {
        let (tool, action) = call.split_once(' ').unwrap();
        let (tool, action) = (tool.parse().unwrap(), action.parse().unwrap());
        let arguments = arguments.as_object().unwrap().clone();
        let caller = caller(tenant);
        match self
            .platform
            .run_action(&tool, &action, arguments, &caller)
            .await
        {
            Ok(PlatformAnswer::Json(answer)) => answer,
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(error.remedy().is_some(), "{error}");
                json!(format!("{}: {error}", error.code()))
            }
        }
    }
}

fn caller(tenant: &str) -> PlatformCaller {
    PlatformCaller {
        tenant: tenant.parse().unwrap(),
        key: Some(KeyId("k1".to_owned())),
        client: Some(ShortText::truncate("claude")),
    }
}

/// Texts are as similar as the number of words they share: enough to check that vectors are
/// computed and compared.
fn by_words() -> EmbedFunction {
    Arc::new(|texts| {
        let (TextsToEmbed::Questions(texts) | TextsToEmbed::Documents(texts)) = texts;
        let vectors = texts.iter().map(|text| vector(text)).collect();
        let model = "words".to_owned();
        Box::pin(async { Ok(EmbeddedTexts { model, vectors }) })
    })
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; 64];
    for word in text.split_whitespace() {
        let mut hasher = DefaultHasher::new();
        word.trim_matches(['.', '?', ':'])
            .to_lowercase()
            .hash(&mut hasher);
        vector[(hasher.finish() % 64) as usize] += 1.0;
    }
    vector
}

#[tokio::test]
async fn every_action_of_the_tool_files_runs() {
    let kitbag = TestPlatform::open(None).await;
    let catalog = ToolCatalog::built_in();
    let own = catalog
        .tools()
        .iter()
        .filter(|tool| is_platform_tool(&tool.id));
    let mut counts = HashMap::new();
    for tool in own {
        for action in &tool.actions {
            *counts.entry(tool.id.to_string()).or_insert(0) += 1;
            let call = format!("{} {}", tool.id, action.name);
            for example in &action.examples {
                let answer = kitbag.call("acme", &call, json!(example)).await;
                let told = answer.as_str().unwrap_or_default();
                assert!(
                    !told.starts_with("UNKNOWN") && !told.starts_with("INVALID"),
                    "{call}: {told}"
                );
            }
            let strange = kitbag
                .call("acme", &call, json!({ "tenant": "globex" }))
                .await;
            assert!(
                strange.as_str().unwrap().starts_with("INVALID_ARGUMENTS"),
                "{call}: {strange}"
            );
        }
    }
    assert_eq!(counts.values().sum::<usize>(), PlatformAction::ALL.len());
    assert_eq!(counts["agent-state"], 4);
    let unknown = kitbag.call("acme", "agent-state watch", json!({})).await;
    assert_eq!(
        unknown,
        "UNKNOWN_ACTION: `agent-state` has no action `watch`"
    );
}

#[tokio::test]
async fn an_agent_stores_changes_lists_and_deletes_values_of_its_own_tenant() {
    let kitbag = TestPlatform::open(None).await;
    let at = "2026-11-16T00:00:00Z";
    for (tenant, call, arguments, answer) in [
        (
            "acme",
            "get",
            json!({ "key": "sync" }),
            json!("NOT_FOUND: no value is stored under the key `sync`"),
        ),
        (
            "acme",
            "set",
            json!({ "key": "sync", "value": { "record": 1800 }, "if_version": 0 }),
            json!({ "key": "sync", "version": 1, "expires_at": null }),
        ),
        (
            "acme",
            "set",
            json!({ "key": "sync", "value": null, "if_version": 0 }),
            json!("CONFLICT: the key `sync` has version 1, not 0: it changed since it was read"),
        ),
        (
            "acme",
            "get",
            json!({ "key": "sync" }),
            json!({ "key": "sync", "version": 1, "bytes": 19, "updated_at": at, "value": { "record": 1800 } }),
        ),
        (
            "globex",
            "get",
            json!({ "key": "sync" }),
            json!("NOT_FOUND: no value is stored under the key `sync`"),
        ),
        (
            "acme",
            "set",
            json!({ "key": "soon", "value": 1, "ttl_seconds": 60 }),
            json!({ "key": "soon", "version": 2, "expires_at": "2026-11-16T00:01:00Z" }),
        ),
        (
            "acme",
            "list",
            json!({ "prefix": "s", "limit": 1 }),
            json!({
                "keys": [{
                    "key": "soon", "version": 2, "bytes": 5, "updated_at": at, "expires_at": "2026-11-16T00:01:00Z"
                }],
                "next": "soon"
            }),
        ),
        (
            "acme",
            "list",
            json!({ "after": "sync" }),
            json!({ "keys": [], "next": null }),
        ),
        (
            "globex",
            "list",
            json!({}),
            json!({ "keys": [], "next": null }),
        ),
        (
            "globex",
            "delete",
            json!({ "key": "sync" }),
            json!({ "key": "sync", "deleted": false }),
        ),
        (
            "acme",
            "delete",
            json!({ "key": "sync", "if_version": 7 }),
            json!("CONFLICT: the key `sync` has version 1, not 7: it changed since it was read"),
        ),
        (
            "acme",
            "delete",
            json!({ "key": "sync" }),
            json!({ "key": "sync", "deleted": true }),
        ),
        (
            "acme",
            "set",
            json!({ "key": "large", "value": "x".repeat(65_535) }),
            json!("TOO_LARGE: the value has 65537 bytes as JSON; the limit is 65536"),
        ),
        (
            "acme",
            "set",
            json!({ "key": "a\u{0}b", "value": 1 }),
            json!(
                "INVALID_ARGUMENTS: invalid arguments: a key has 1 to 256 characters, and no control characters"
            ),
        ),
        (
            "acme",
            "set",
            json!({ "key": "for ever", "value": 1, "ttl_seconds": u64::MAX }),
            json!({ "key": "for ever", "version": 3, "expires_at": "9999-12-30T22:00:00Z" }),
        ),
    ] {
        let call = format!("agent-state {call}");
        let found = kitbag.call(tenant, &call, arguments.clone()).await;
        assert_eq!(found, answer, "{call} {arguments}");
    }
}

#[tokio::test]
async fn a_report_reaches_the_operator_with_the_agents_identity() {
    let kitbag = TestPlatform::open(None).await;
    let report = json!({
        "kind": "blocked", "summary": "No tool reads \u{1b}[31mCAD files", "tool": "files", "severity": "high"
    });
    let answer = kitbag.call("acme", "submit-feedback submit", report).await;
    assert_eq!(answer, json!({ "id": 1, "status": "open" }));
    let resolution = FeedbackResolution {
        at: NOW,
        note: Some("built".to_owned()),
    };
    kitbag.store.resolve_feedback(1, &resolution).await.unwrap();
    let query = FeedbackQuery {
        limit: 9,
        ..FeedbackQuery::default()
    };
    let mut found = kitbag.store.list_feedback(&query).await.unwrap();
    let line = feedback::reports::FeedbackLine::from_stored(found.remove(0));
    let at = "2026-11-16T00:00:00Z";
    assert_eq!(
        serde_json::to_value(line).unwrap(),
        json!({
            "id": 1, "status": "resolved", "kind": "blocked", "severity": "high",
            "summary": "No tool reads CAD files", "details": null, "tool": "files", "tenant": "acme",
            "key": "k1", "client": "claude", "at": at, "resolved_at": at, "resolution": "built"
        })
    );
    for (report, told) in [
        (
            json!({ "kind": "blocked", "summary": " " }),
            "`summary` is empty",
        ),
        (
            json!({ "kind": "idea", "summary": "x".repeat(201) }),
            "has 201 characters; the limit is 200",
        ),
        (
            json!({ "kind": "rant", "summary": "x" }),
            "unknown variant `rant`",
        ),
    ] {
        let answer = kitbag.call("acme", "submit-feedback submit", report).await;
        assert!(answer.as_str().unwrap().contains(told), "{answer}");
    }
}

#[tokio::test]
async fn missing_configuration_is_reported() {
    let kitbag = TestPlatform::open(None).await;
    let off = Platform::new(PlatformServices {
        store: kitbag.store.clone(),
        embed: by_words(),
        now: || NOW,
        context: false,
        data_files: Vec::new(),
        web: None,
    });
    let kitbag = TestPlatform {
        platform: off,
        ..kitbag
    };
    let company = json!({ "companies": [{ "name": "a" }] });
    for (call, arguments, told) in [
        (
            "context-query query",
            json!({ "question": "x" }),
            "CONTEXT_PLANE_UNAVAILABLE: the context plane is not enabled on this gateway",
        ),
        (
            "context-explain explain",
            json!({ "subject": "x", "predicate": "y" }),
            "CONTEXT_PLANE_UNAVAILABLE: the context plane is not enabled on this gateway",
        ),
        (
            "icp-scorer score",
            company.clone(),
            "CONFIG_MISSING: no ideal customer profile is valid today",
        ),
    ] {
        let answer = kitbag.call("acme", call, arguments).await;
        assert!(answer.as_str().unwrap().starts_with(told), "{answer}");
    }
    let broken = TestPlatform::open(Some("[[profile]]\nx = 1")).await;
    let answer = broken.call("acme", "icp-scorer score", company).await;
    let told = "CONFIG_INVALID: invalid data file: line 2, `profile`: unknown key `x`";
    assert!(answer.as_str().unwrap().starts_with(told), "{answer}");
}

const PROFILES: &str = r#"
[[profile]]
name = "usual"
valid_from = 2026-01-01
source = "sales"
employees = { weight = 3, ranges = [{ from = 50, to = 500, fit = 100 }] }
country = { weight = 1, fits = { NL = 100 } }

[[profile]]
name = "next"
valid_from = 2027-01-01
source = "sales"
country = { weight = 1, fits = { FR = 100 } }
"#;

#[tokio::test]
async fn companies_are_scored_best_first_against_the_current_profile() {
    let kitbag = TestPlatform::open(Some(PROFILES)).await;
    let companies = json!([
        { "name": "small", "employees": 12 },
        { "name": "right", "employees": 240, "country": "nl" }
    ]);
    let asked = json!({ "companies": companies });
    let answer = kitbag.call("acme", "icp-scorer score", asked).await;
    assert_eq!(answer["profile"], "usual");
    assert_eq!(
        answer["companies"][0],
        json!({
            "name": "right", "score": 100, "known_percent": 100,
            "reasons": ["employees 240: 100 of 100, weight 3", "country nl: 100 of 100, weight 1"]
        })
    );
    assert_eq!(answer["companies"][1]["known_percent"], 75);
    let asked = json!({ "companies": companies, "profile": "next" });
    let answer = kitbag.call("acme", "icp-scorer score", asked.clone()).await;
    assert_eq!(
        answer,
        "NOT_FOUND: there is no ideal customer profile `next`"
    );
    let both = PROFILES.replace("2027-01-01", "2026-01-01");
    let kitbag = TestPlatform::open(Some(&both)).await;
    let named = kitbag.call("acme", "icp-scorer score", asked).await;
    assert_eq!(named["profile"], "next");
    let unnamed = json!({ "companies": companies });
    let unnamed = kitbag.call("acme", "icp-scorer score", unnamed).await;
    assert_eq!(
        unnamed,
        "INVALID_ARGUMENTS: there are several ideal customer profiles; `profile` is missing"
    );
}
