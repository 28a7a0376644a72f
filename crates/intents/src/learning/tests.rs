//! Runs, and their effect on a template.

use serde_json::json;

use super::*;

const CODE: &str = "return await tools.git.log({ repo: params.repo });";

fn learned_use(definition: &str) -> LearnedUse {
    LearnedUse {
        server: "git".parse().unwrap(),
        tool: "log".to_owned(),
        definition: Some(definition.to_owned()),
    }
}

fn repository(value: Value) -> [(String, Value); 1] {
    [("repo".to_owned(), value)]
}

/// Describes the changes of state in a story, and the last state. Each letter is an event: a
/// success with repository `a`, `b` or 7 (`n`), a failure (`F`), a changed tool (`c`), a user's
/// approval (`y`) and rejection (`x`).
fn story(letters: &str, words: Option<&str>, read_only: bool, promotes: bool) -> String {
    let (mut learned, mut events): (Option<LearnedTemplate>, Vec<String>) = (None, Vec::new());
    let mut definition = 1;
    for letter in letters.chars() {
        let repo = match letter {
            'n' => json!(7),
            other => json!(other.to_string()),
        };
        let (literals, uses) = (
            [("repo".to_owned(), repo)],
            [learned_use(&definition.to_string())],
        );
        let run = ProgramRun {
            words,
            code: CODE,
            literals: &literals,
            uses: &uses,
            read_only,
            succeeded: letter != 'F',
            at: Timestamp(1),
        };
        let change;
        (learned, change) = match (learned, letter) {
            (None, _) => (LearnedTemplate::from_first_run(&run), None),
            (Some(it), 'c') => {
                definition += 1;
                let (it, change) = it.after_change(&learned_use(&definition.to_string()));
                (Some(it), change)
            }
            (Some(it), 'y') => (Some(it.approve(Timestamp(2)).0), None),
            (Some(it), 'x') => (Some(it.reject(Timestamp(2)).0), None),
            (Some(it), _) => {
                let (it, change) = it.after_run(&run, promotes);
                (Some(it), change)
            }
        };
        events.extend(change.map(|change| format!("{change:?}")));
    }
    events.push(
        learned
            .map_or("nothing", |it| it.state().as_str())
            .to_owned(),
    );
    events.join(" ")
}

#[test]
fn a_program_is_promoted_by_varied_success_and_demoted_by_failure_or_change() {
    for (letters, expected) in [
        ("F", "nothing"),
        ("a", "candidate"),
        ("ab", "candidate"),
        ("aaaa", "candidate"),
        ("aba", "Promoted promoted"),
        ("aFba", "Promoted promoted"),
        ("aFFba", "Promoted promoted"),
        ("abaF", "Promoted promoted"),
        ("abaFF", "Promoted DemotedByFailures demoted"),
        ("abaFaFaF", "Promoted DemotedByFailures demoted"),
        ("abaFFaba", "Promoted DemotedByFailures Promoted promoted"),
        ("abac", "Promoted DemotedByChangedTool demoted"),
        ("abacab", "Promoted DemotedByChangedTool demoted"),
        ("abcab", "candidate"),
        ("abcaba", "Promoted promoted"),
        ("ay", "approved"),
        ("ayFFFF", "approved"),
        ("aycc", "approved"),
        ("abaxaba", "Promoted rejected"),
        ("axy", "approved"),
    ] {
        assert_eq!(
            story(letters, Some("show the log of a"), true, true),
            expected,
            "{letters}"
        );
    }
}

#[test]
fn nothing_is_promoted_without_intents_without_the_setting_or_if_it_writes() {
    let words = Some("show the log");
    assert_eq!(story("abab", None, true, true), "candidate");
    assert_eq!(story("abab", Some("log of x/y"), true, true), "candidate");
    assert_eq!(story("abab", words, true, false), "candidate");
    assert_eq!(story("abab", words, false, true), "candidate");
    assert_eq!(story("ababy", words, false, true), "approved");
}

#[test]
fn a_template_takes_types_and_intents_but_no_values_from_runs() {
    let uses = [learned_use("1")];
    let (secret, number) = (repository(json!("s3cret")), repository(json!(7)));
    let run = ProgramRun {
        words: Some("show the log of s3cret"),
        code: CODE,
        literals: &secret,
        uses: &uses,
        read_only: true,
        succeeded: true,
        at: Timestamp(1),
    };
    let learned = LearnedTemplate::from_first_run(&run).unwrap();
    let other = ProgramRun {
        words: Some("log"),
        literals: &number,
        ..run
    };
    let (learned, _) = learned.after_run(&other, true);
    let kept = serde_json::to_string(&learned).unwrap();
    assert!(!kept.contains("s3cret"), "{kept}");
    let read: LearnedTemplate = serde_json::from_str(&kept).unwrap();
    assert_eq!(read, learned);
    let template = learned.template();
    let intents: Vec<_> = template.intents().iter().map(ToString::to_string).collect();
    assert_eq!(intents, ["show the log of {repo}", "log"]);
    assert_eq!(
        template.parameters().schema()["properties"]["repo"],
        json!({ "type": ["string", "number"] })
    );
    assert!(template.name().as_str().starts_with("learned_log_"));

    let file = template.to_toml().unwrap();
    let again = IntentTemplate::from_toml(std::path::Path::new("x.toml"), &file).unwrap();
    let imported = LearnedTemplate::from_import(again, Timestamp(3));
    assert_eq!(imported.template(), template);
    assert_eq!(imported.id(), learned.id());
    assert!(!imported.is_active());
}

#[test]
fn the_oldest_inactive_templates_are_dropped_first() {
    let uses = [learned_use("1")];
    let many: Vec<LearnedTemplate> = (0..LearnedTemplate::MAX + 2)
        .map(|number| {
            let code = format!("return {number};");
            let run = ProgramRun {
                words: None,
                code: &code,
                literals: &[],
                uses: &uses,
                read_only: true,
                succeeded: true,
                at: Timestamp(number as i64),
            };
            let learned = LearnedTemplate::from_first_run(&run).unwrap();
            if number == 0 {
                learned.approve(Timestamp(0)).0
            } else {
                learned
            }
        })
        .collect();
    assert_eq!(surplus(&many), [many[1].id(), many[2].id()]);
    assert!(surplus(&many[..9]).is_empty());
}
