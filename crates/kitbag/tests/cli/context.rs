//! `kitbag context`: importing, listing and deleting facts.

use kitbag_testkit::home::Home;

const FACTS: &str = r#"
{"subject": "Contoso", "predicate": "employees", "object": 900, "source": {"name": "CRM", "quote": "Headcount: 900"}, "authority": "reliable", "observed_at": "2026-10-01"}
{"subject": "Fabrikam", "predicate": "office", "object": "Berlin", "source": {"name": "Wiki", "quote": "They sit in Berlin."}, "authority": 4, "observed_at": "2026-05-01T10:00:00Z"}
"#;

fn objects(home: &Home, words: &[&str]) -> String {
    let listed = home.json(&[&["context", "list"], words].concat());
    let rows = listed.as_array().into_iter().flatten();
    let objects: Vec<&str> = rows.filter_map(|row| row["object"].as_str()).collect();
    objects.join(" ")
}

#[test]
fn facts_are_imported_replaced_listed_deleted_and_audited() {
    let home = Home::new();
    home.write("facts.jsonl", FACTS);
    let output = home.run(&["context", "import", "facts.jsonl", "--tenant", "acme"]);
    assert_eq!(output.stdout.trim(), "Imported 2 facts");
    assert!(
        output.stderr.contains("`enabled = true` under [context]"),
        "{}",
        output.stderr
    );
    let again = home.ok(&["context", "import", "facts.jsonl", "--tenant", "acme"]);
    assert_eq!(again.trim(), "Imported 0 facts; 2 already known");
    home.ok(&["context", "import", "facts.jsonl", "--all-tenants"]);
    assert_eq!(objects(&home, &[]), "900 Berlin 900 Berlin");
    assert_eq!(
        objects(&home, &["--tenant", "acme", "--subject", " CONTOSO"]),
        "900"
    );

    let newer = FACTS.lines().nth(1).unwrap().replace("900", "950");
    home.write("crm.jsonl", &newer);
    let replace = [
        "context",
        "import",
        "crm.jsonl",
        "--tenant",
        "acme",
        "--replace",
        "CRM",
    ];
    assert_eq!(home.ok(&replace).trim(), "Imported 1 fact; 1 replaced");
    assert_eq!(objects(&home, &["--tenant", "acme"]), "Berlin 950");

    home.write("bad.jsonl", &FACTS.replace("\"Wiki\"", "7"));
    let refused = home.fails(&["context", "import", "bad.jsonl", "--tenant", "globex"]);
    assert!(refused.contains("line 3 is not a fact"), "{refused}");
    assert_eq!(objects(&home, &["--tenant", "globex"]), "");

    let unnamed = home.fails(&["context", "forget"]);
    assert!(unnamed.contains("select facts by --source"), "{unnamed}");
    let forgotten = home.ok(&["context", "forget", "--source", "Wiki"]);
    assert_eq!(forgotten.trim(), "Deleted 2 facts");
    assert_eq!(objects(&home, &[]), "900 950");
    let audit = home.ok(&["audit", "--event", "facts_forgotten"]);
    assert!(audit.contains("source Wiki"), "{audit}");
}

#[test]
fn a_rephrased_question_finds_its_fact_and_agent_state_survives_a_restart() {
    let home = Home::new();
    let config = home.config();
    let config = config.to_str().unwrap_or_default();
    home.write(config, "[catalog]\ntools = ['context-*', 'agent-state', 'icp-scorer']\n[context]\nenabled = true\n");
    home.write("facts.jsonl", FACTS);
    home.ok(&["context", "import", "facts.jsonl"]);
    let question = "question=how many people work at Contoso?";
    let answer = home.ok(&["call", "context_query", question, "limit=1"]);
    assert!(answer.contains("Headcount: 900"), "{answer}");
    let value = "value.record=1800";
    home.ok(&["call", "agent_state", "action=set", "key=k", value]);
    let kept = home.ok(&["call", "agent_state", "action=get", "key=k"]);
    assert!(kept.contains("1800"), "{kept}");
    let companies = r#"companies=[{"name": "a"}]"#;
    let unscored = home.run(&["call", "icp_scorer", companies]);
    let output = format!("{}{}", unscored.stdout, unscored.stderr);
    assert!(output.contains("CONFIG_MISSING"), "{output}");
}
