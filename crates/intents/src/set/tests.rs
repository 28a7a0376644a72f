//! Requests, and the template that each finds.

use serde_json::json;

use super::*;

fn file(origin: TemplateOrigin, name: &str, intents: &str, rest: &str) -> TemplateFile {
    let (code, tables) = rest.split_once('[').unwrap_or((rest, ""));
    let tables = if tables.is_empty() {
        String::new()
    } else {
        format!("[{tables}")
    };
    TemplateFile {
        path: format!("{name}.toml").into(),
        text: format!(
            "name = \"{name}\"\ndescription = \"d\"\nintents = {intents}\ncode = \"{code}\"\n{tables}"
        ),
        origin,
    }
}

const PROJECT: &str =
    "1[parameters.project]\ntype = \"string\"\n[parameters.limit]\ntype = \"integer\"\ndefault = 5";

fn set() -> TemplateSet {
    let (set, complaints) = TemplateSet::read(&[
        file(
            TemplateOrigin::BuiltIn,
            "list_errors",
            "[\"show recent errors\", \"top {limit} errors\"]",
            "1[parameters.limit]\ntype = \"integer\"\ndefault = 5",
        ),
        file(
            TemplateOrigin::BuiltIn,
            "project_errors",
            "[\"errors in {project}\", \"list errors of a project\"]",
            PROJECT,
        ),
        file(
            TemplateOrigin::BuiltIn,
            "other_errors",
            "[\"errors in {project}\"]",
            PROJECT,
        ),
        file(
            TemplateOrigin::Own,
            "own_errors",
            "[\"list errors of a project\", \"twice\"]",
            PROJECT,
        ),
        file(TemplateOrigin::Own, "rare", "[\"twice\"]", "1"),
    ]);
    assert_eq!(complaints.len(), 3, "{complaints:?}");
    set
}

fn is_not_other(template: &IntentTemplate) -> bool {
    template.name().as_str() != "other_errors"
}

/// Finds a template whose intents have these scores, and all others a low one.
fn similar(set: &TemplateSet, words: &str, scored: &[(&str, f32)]) -> String {
    let scores: Vec<f32> = set
        .intents()
        .map(|(name, _)| {
            let mut scored = scored.iter();
            let score = scored.find(|(it, _)| *it == name.as_str());
            score.map_or(0.1, |(_, score)| *score)
        })
        .collect();
    let bar = SimilarityBar::default();
    describe_match(set.best(&scores, bar, words, &Map::new(), |_| true))
}

fn describe_match(found: Option<TemplateMatch>) -> String {
    match found {
        None => "nothing".to_owned(),
        Some(TemplateMatch::Ready { template, params }) => {
            format!("{} {}", template.name(), Value::Object(params))
        }
        Some(TemplateMatch::Incomplete { template, missing }) => {
            let names: Vec<_> = missing.iter().map(|it| it.name.as_str()).collect();
            format!("{} needs {}", template.name(), names.join(" "))
        }
    }
}

#[test]
fn a_request_finds_the_one_template_that_is_meant() {
    let set = set();
    for (words, given, expected) in [
        ("List errors", json!({}), r#"list_errors {"limit":5}"#),
        (
            "list_errors",
            json!({ "limit": 3 }),
            r#"list_errors {"limit":3}"#,
        ),
        (
            "please get the latest errors",
            json!({}),
            r#"list_errors {"limit":5}"#,
        ),
        ("top 3 errors", json!({}), r#"list_errors {"limit":3}"#),
        ("top three errors", json!({}), "nothing"),
        ("list errors", json!({ "severity": "high" }), "nothing"),
        ("errors in web", json!({}), "nothing"),
        (
            "project errors",
            json!({ "project": "web" }),
            r#"project_errors {"project":"web","limit":5}"#,
        ),
        (
            "list errors of a project",
            json!({}),
            "own_errors needs project",
        ),
        (
            "list errors of project",
            json!({ "project": "web" }),
            r#"own_errors {"project":"web","limit":5}"#,
        ),
        ("twice", json!({}), r"rare {}"),
        ("list errors by user", json!({}), "nothing"),
        ("", json!({}), "nothing"),
    ] {
        let found = set.find(words, given.as_object().unwrap(), |_| true);
        assert_eq!(describe_match(found), expected, "{words}");
    }
}

#[test]
fn templates_that_a_caller_cannot_use_are_ignored() {
    let set = set();
    let found = set.find("show errors in web", &Map::new(), is_not_other);
    assert_eq!(
        describe_match(found),
        "nothing",
        "`show` is a word of the request"
    );
    let found = set.find("errors in web", &Map::new(), is_not_other);
    assert_eq!(
        describe_match(found),
        r#"project_errors {"project":"web","limit":5}"#
    );
}

#[test]
fn similar_words_only_find_a_template_with_a_clear_lead_and_without_particulars() {
    let set = set();
    let words = "what errors did we have lately";
    assert_eq!(
        similar(&set, words, &[("list_errors", 0.9)]),
        r#"list_errors {"limit":5}"#
    );
    assert_eq!(similar(&set, words, &[("list_errors", 0.6)]), "nothing");
    assert_eq!(
        similar(&set, words, &[("list_errors", 0.9), ("rare", 0.88)]),
        "nothing"
    );
    assert_eq!(
        similar(
            &set,
            "what errors did web have in May",
            &[("list_errors", 0.9)]
        ),
        "nothing"
    );
    assert_eq!(
        similar(&set, "delete all errors", &[("list_errors", 0.9)]),
        "nothing"
    );
    assert_eq!(
        similar(&set, words, &[("project_errors", 0.9)]),
        "project_errors needs project"
    );
}

#[test]
fn an_own_template_replaces_a_built_in_one_and_learned_ones_come_last() {
    let (set, complaints) = TemplateSet::read(&[
        file(TemplateOrigin::BuiltIn, "a", "[\"do it\"]", "1"),
        file(TemplateOrigin::Own, "a", "[\"do it\"]", "2"),
        file(TemplateOrigin::Own, "a", "[\"do that\"]", "3"),
        file(TemplateOrigin::Own, "b", "[\"{\"]", "3"),
    ]);
    let messages: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(
        messages[0].contains("template `a` already exists"),
        "{messages:?}"
    );
    assert!(messages[1].starts_with("b.toml:3:12: "), "{messages:?}");
    let entry = &set.entries()[0];
    assert_eq!(
        (entry.template.code(), entry.origin),
        ("2", TemplateOrigin::Own)
    );

    let learned = IntentTemplate::from_toml(
        std::path::Path::new("l"),
        &file(
            TemplateOrigin::Learned,
            "l",
            "[\"do it\", \"do more\"]",
            "4",
        )
        .text,
    );
    let set = set.with_learned([learned.unwrap()]);
    assert_eq!(
        describe_match(set.find("do it", &Map::new(), |_| true)),
        "a {}"
    );
    assert_eq!(
        describe_match(set.find("do more", &Map::new(), |_| true)),
        "l {}"
    );
}
