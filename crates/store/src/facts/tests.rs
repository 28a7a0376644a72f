//! Tests facts, on both engines.

use super::*;
use crate::test_store::{TestPlace, each_engine};

each_engine!(
    every_field_of_a_fact_survives_a_restart_and_no_fact_is_stored_twice,
    a_tenant_reads_its_own_facts_and_those_for_all,
    a_source_is_replaced_and_matching_facts_are_deleted,
    a_holder_has_no_more_facts_than_its_limit,
);

fn fact(subject: &str, object: &str, source: &str) -> NewFact {
    NewFact {
        tenant: None,
        subject: subject.to_owned(),
        subject_key: subject.to_lowercase(),
        predicate: "Employees".to_owned(),
        predicate_key: "employees".to_owned(),
        object: object.to_owned(),
        source: source.to_owned(),
        url: (object == "900").then(|| "https://crm.example/1".to_owned()),
        quote: "ünï '; --".to_owned(),
        authority: 1,
        observed_at: Timestamp(5),
        valid_until: (object == "900").then_some(Timestamp(7)),
        meaning: (object == "900").then(|| ContextVector {
            model: "m".to_owned(),
            vector: vec![1.0, -1.0, 0.0],
        }),
    }
}

async fn import(
    store: &Store,
    holder: Option<&Tenant>,
    replaced_source: Option<&str>,
    facts: &[NewFact],
) -> FactImportOutcome {
    let import = FactImport {
        holder,
        replaced_source,
        facts,
        most: 3,
    };
    store.import_facts(import).await.unwrap()
}

async fn objects(store: &Store, filter: &FactFilter) -> String {
    let found = store.facts(filter).await.unwrap();
    let objects: Vec<&str> = found.iter().map(|it| it.fact.object.as_str()).collect();
    objects.join(" ")
}

const fn outcome_of(added: u64, replaced: u64) -> FactImportOutcome {
    FactImportOutcome::Imported { added, replaced }
}

async fn every_field_of_a_fact_survives_a_restart_and_no_fact_is_stored_twice(place: TestPlace) {
    let store = place.open().await;
    let acme: Tenant = "acme".parse().unwrap();
    let facts = [
        fact("Contoso", "900", "CRM"),
        fact("Contoso", "850", "press"),
    ];
    assert_eq!(
        import(&store, Some(&acme), None, &facts).await,
        outcome_of(2, 0)
    );
    assert_eq!(
        import(&store, Some(&acme), None, &facts).await,
        outcome_of(0, 0)
    );
    store.close().await;
    let store = place.open().await;
    let found = store.facts(&FactFilter::default()).await.unwrap();
    let found: Vec<NewFact> = found.into_iter().map(|it| it.fact).collect();
    let kept = facts.map(|fact| NewFact {
        tenant: Some(acme.clone()),
        ..fact
    });
    assert_eq!(found, kept);
}

async fn a_tenant_reads_its_own_facts_and_those_for_all(place: TestPlace) {
    let store = place.open().await;
    let (acme, globex): (Tenant, Tenant) = ("acme".parse().unwrap(), "globex".parse().unwrap());
    import(&store, Some(&acme), None, &[fact("Contoso", "1", "a")]).await;
    import(&store, Some(&globex), None, &[fact("Contoso", "2", "a")]).await;
    import(&store, None, None, &[fact("Contoso", "3", "a")]).await;
    for (holders, expected) in [
        (FactHolders::Any, "1 2 3"),
        (FactHolders::ReadBy(acme.clone()), "1 3"),
        (FactHolders::Only(Some(acme)), "1"),
        (FactHolders::ReadBy(globex), "2 3"),
        (FactHolders::Only(None), "3"),
    ] {
        let filter = FactFilter {
            holders,
            ..FactFilter::default()
        };
        assert_eq!(objects(&store, &filter).await, expected, "{filter:?}");
    }
}

async fn a_source_is_replaced_and_matching_facts_are_deleted(place: TestPlace) {
    let store = place.open().await;
    let facts = [fact("Contoso", "1", "a"), fact("Fabrikam", "2", "b")];
    import(&store, None, None, &facts).await;
    let newer = [fact("Contoso", "3", "a")];
    assert_eq!(
        import(&store, None, Some("a"), &newer).await,
        outcome_of(1, 1)
    );
    let all = FactFilter::default;
    for (filter, expected) in [
        (all(), "2 3"),
        (
            FactFilter {
                limit: Some(1),
                ..all()
            },
            "2",
        ),
        (
            FactFilter {
                after_id: 2,
                ..all()
            },
            "3",
        ),
        (
            FactFilter {
                id: Some(2),
                ..all()
            },
            "2",
        ),
        (
            FactFilter {
                subject_key: Some("contoso".to_owned()),
                ..all()
            },
            "3",
        ),
        (
            FactFilter {
                predicate_key: Some("employees".to_owned()),
                ..all()
            },
            "2 3",
        ),
        (
            FactFilter {
                predicate_key: Some("x".to_owned()),
                ..all()
            },
            "",
        ),
    ] {
        assert_eq!(objects(&store, &filter).await, expected, "{filter:?}");
    }
    let of_b = FactFilter {
        source: Some("b".to_owned()),
        ..all()
    };
    assert_eq!(store.delete_facts(&of_b).await.unwrap(), 1);
    assert_eq!(objects(&store, &all()).await, "3");
}

async fn a_holder_has_no_more_facts_than_its_limit(place: TestPlace) {
    let store = place.open().await;
    let facts = ["1", "2", "3", "4"].map(|object| fact("Contoso", object, "a"));
    assert_eq!(
        import(&store, None, None, &facts).await,
        FactImportOutcome::TooMany { would_be: 4 }
    );
    assert_eq!(objects(&store, &FactFilter::default()).await, "");
    import(&store, None, None, &facts[..3]).await;
    assert_eq!(
        import(&store, None, Some("a"), &facts[1..]).await,
        outcome_of(3, 3)
    );
    assert_eq!(objects(&store, &FactFilter::default()).await, "2 3 4");
}
