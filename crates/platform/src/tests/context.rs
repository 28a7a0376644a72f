//! Tests of the context plane: facts from a file, questions, and claims.

use super::*;
use crate::context::import::{ContextImport, ContextImportError, ImportedFacts, import_facts};

impl TestPlatform {
    async fn import(
        &self,
        holder: Option<&str>,
        text: &str,
    ) -> Result<ImportedFacts, ContextImportError> {
        let what = ContextImport {
            text,
            holder: holder.map(|it| it.parse().unwrap()),
            replaced_source: None,
        };
        import_facts(&self.store, &by_words(), &what).await
    }
}

const FACTS: &str = r#"
{"subject": "Contoso", "predicate": "employees", "object": 900, "source": {"name": "CRM", "url": "https://crm.example/1", "quote": "Headcount: 900"}, "authority": "reliable", "observed_at": "2026-10-01"}
{"subject": "Contoso", "predicate": "employees", "object": "850", "source": {"name": "Press", "quote": "about 850 people work there"}, "authority": 3, "observed_at": "2026-11-01"}
{"subject": "Contoso", "predicate": "renewal_date", "object": "2027-03-31", "source": {"name": "Contract", "quote": "The contract renews on 31 March 2027."}, "authority": 1, "observed_at": "2026-01-01"}
{"subject": "Contoso", "predicate": "renewal_date", "object": "2026-03-31", "source": {"name": "Old contract", "quote": "renews on 31 March 2026"}, "authority": 1, "observed_at": "2025-01-01", "valid_until": "2026-04-01"}
{"subject": "Fabrikam", "predicate": "office", "object": "Berlin", "source": {"name": "CRM", "quote": "Office: Berlin"}, "authority": 2, "observed_at": "2026-05-01"}
"#;

/// Returns the objects of the facts found, in order.
async fn find_objects(kitbag: &TestPlatform, tenant: &str, arguments: Value) -> String {
    let answer = kitbag.call(tenant, "context-query query", arguments).await;
    let Some(facts) = answer["facts"].as_array() else {
        return answer.to_string();
    };
    let objects: Vec<&str> = facts
        .iter()
        .map(|it| it["object"].as_str().unwrap())
        .collect();
    objects.join(" ")
}

#[tokio::test]
async fn facts_are_found_by_a_question_a_subject_and_a_predicate() {
    let kitbag = TestPlatform::open(None).await;
    let imported = kitbag.import(Some("acme"), FACTS).await.unwrap();
    assert_eq!((imported.added, imported.known), (5, 0));
    let again = kitbag.import(Some("acme"), FACTS).await.unwrap();
    assert_eq!((again.added, again.known), (0, 5));
    for (arguments, objects) in [
        (
            json!({ "subject": " contoso ", "predicate": "EMPLOYEES" }),
            "900 850",
        ),
        (json!({ "subject": "Contoso" }), "2027-03-31 900 850"),
        (
            json!({ "subject": "Contoso", "lowest_tier": 2 }),
            "2027-03-31 900",
        ),
        (json!({ "predicate": "office" }), "Berlin"),
        (
            json!({ "question": "when does the contract renew?", "limit": 1 }),
            "2027-03-31",
        ),
        (
            json!({ "question": "how many people work at Contoso", "subject": "contoso", "limit": 1 }),
            "850",
        ),
        (json!({ "question": "Berlin" }), "Berlin"),
        (json!({ "question": "zebra" }), ""),
        (json!({ "subject": "Tailspin\u{0}" }), ""),
    ] {
        assert_eq!(
            find_objects(&kitbag, "acme", arguments.clone()).await,
            objects,
            "{arguments}"
        );
    }
    let answer = kitbag
        .call(
            "acme",
            "context-query query",
            json!({ "predicate": "employees", "limit": 1 }),
        )
        .await;
    assert_eq!(
        answer,
        json!({
            "facts": [{
                "subject": "Contoso", "predicate": "employees", "object": "900", "quote": "Headcount: 900",
                "source": "CRM", "authority": { "tier": 2, "name": "reliable" },
                "observed_at": "2026-10-01T00:00:00Z", "url": "https://crm.example/1",
                "contradicted": "other sources say otherwise: see context_explain"
            }],
            "more": 1
        })
    );
}

#[tokio::test]
async fn a_tenant_sees_its_own_facts_and_shared_ones() {
    let kitbag = TestPlatform::open(None).await;
    kitbag.import(Some("acme"), FACTS).await.unwrap();
    let shared = r#"{"subject": "Fabrikam", "predicate": "office", "object": "Paris", "source": {"name": "Wiki", "quote": "Paris"}, "authority": 4, "observed_at": "2026-05-01"}"#;
    kitbag.import(None, shared).await.unwrap();
    let office = json!({ "predicate": "office" });
    assert_eq!(
        find_objects(&kitbag, "acme", office.clone()).await,
        "Berlin Paris"
    );
    assert_eq!(find_objects(&kitbag, "globex", office).await, "Paris");
    let claim = json!({ "subject": "fabrikam", "predicate": "office" });
    let acme = kitbag
        .call("acme", "context-explain explain", claim.clone())
        .await;
    assert_eq!(
        (&acme["stands"], &acme["contested"]),
        (&json!("Berlin"), &json!(true))
    );
    let globex = kitbag
        .call("globex", "context-explain explain", claim)
        .await;
    assert_eq!(
        (&globex["stands"], &globex["contested"]),
        (&json!("Paris"), &json!(false))
    );
    let claim = json!({ "subject": "Contoso", "predicate": "employees" });
    let hidden = kitbag
        .call("globex", "context-explain explain", claim)
        .await;
    assert_eq!(
        hidden,
        "NOT_FOUND: no fact says anything about `employees` of `Contoso`"
    );
}

#[tokio::test]
async fn a_claim_is_explained_with_backing_contradicting_and_ended_facts() {
    let kitbag = TestPlatform::open(None).await;
    kitbag.import(None, FACTS).await.unwrap();
    let claim = json!({ "subject": "CONTOSO", "predicate": "Renewal_Date" });
    let answer = kitbag.call("acme", "context-explain explain", claim).await;
    assert_eq!(answer["subject"], "Contoso");
    assert_eq!(answer["stands"], "2027-03-31");
    assert_eq!(
        answer["backing"][0]["quote"],
        "The contract renews on 31 March 2027."
    );
    assert_eq!(answer["ended"][0]["source"], "Old contract");
    assert_eq!(answer["contradicting"], json!([]));
}

#[tokio::test]
async fn a_file_with_a_mistake_is_rejected_with_the_line_and_nothing_is_stored() {
    let kitbag = TestPlatform::open(None).await;
    let good = FACTS.lines().nth(1).unwrap();
    for (from, to, told) in [
        (
            "\"reliable\"",
            "9",
            "the authority must be 1 (authoritative)",
        ),
        ("2026-10-01", "soon", "`soon` is not a timestamp"),
        ("https:", "file:", "is not an HTTP URL"),
        ("\"Contoso\"", "\" \"", "the text is empty"),
        ("900,", "[900],", "the object must be a text"),
        ("\"predicate\"", "\"tenant\"", "unknown field `tenant`"),
    ] {
        let text = format!("{good}\n\n{}", good.replace(from, to));
        let error = kitbag.import(None, &text).await.unwrap_err().to_string();
        assert!(
            error.starts_with("line 3 is not a fact") && error.contains(told),
            "{error}"
        );
    }
    let other = ContextImport {
        text: good,
        holder: None,
        replaced_source: Some("Wiki"),
    };
    let error = import_facts(&kitbag.store, &by_words(), &other)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ContextImportError::OtherSource { number: 1, .. }),
        "{error}"
    );
    assert_eq!(
        find_objects(&kitbag, "acme", json!({ "subject": "contoso" })).await,
        ""
    );
}

#[tokio::test]
async fn a_question_is_compared_by_words_if_embedding_fails() {
    let kitbag = TestPlatform::open(None).await;
    kitbag.import(None, FACTS).await.unwrap();
    let embed: EmbedFunction = Arc::new(|_| {
        let reason = "the service is away".to_owned();
        Box::pin(async { Err(EmbeddingFailed { reason }) })
    });
    let kitbag = TestPlatform {
        platform: Platform::new(PlatformServices {
            store: kitbag.store.clone(),
            embed,
            now: || NOW,
            context: true,
            data_files: Vec::new(),
            web: None,
        }),
        ..kitbag
    };
    let question = json!({ "question": "where is the office of Fabrikam?" });
    let answer = kitbag.call("acme", "context-query query", question).await;
    assert_eq!(answer["facts"][0]["object"], "Berlin");
    assert!(
        answer["note"]
            .as_str()
            .unwrap()
            .contains("the service is away"),
        "{answer}"
    );
}
