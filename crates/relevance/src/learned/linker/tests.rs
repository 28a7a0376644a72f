//! Stories of clients, and the lessons they teach.

use kitbag_domain::Caller;

use super::*;

const MINUTE: i64 = 60_000;

/// A story in lines such as `2 ann searches hungry: a b c`, with the minute first, and the
/// lessons it teaches, each as `signal tool words`. Words are compared by their first letter.
#[track_caller]
fn check(story: &str, expected: &[&str]) {
    let mut linker = UseLinker::default();
    let lines = story.lines().map(str::trim).filter(|it| !it.is_empty());
    let taught: Vec<String> = lines
        .flat_map(|line| {
            let event = event(line);
            let vector = event.what.words().map(|words| vector(words));
            let arguments = line.split_once(" with ").map(|(_, it)| it.to_owned());
            linker.take(&event, vector, arguments)
        })
        .map(|draft| told(&draft))
        .collect();
    assert_eq!(taught, expected, "{story}");
}

fn event(line: &str) -> UseEvent {
    let (minute, rest) = line.split_once(' ').unwrap();
    let (client, rest) = rest.split_once(' ').unwrap();
    let (verb, rest) = rest.split_once(' ').unwrap();
    let rest = rest.split(" with ").next().unwrap();
    let (first, names) = rest.split_once(':').unwrap_or((rest, ""));
    let names: Arc<[String]> = names.split_whitespace().map(str::to_owned).collect();
    let what = match verb {
        "says" => UseKind::Said {
            words: first.into(),
        },
        "searches" => UseKind::Searched {
            words: first.into(),
            found: names,
        },
        "sees" => UseKind::Surfaced {
            tools: first.split_whitespace().map(str::to_owned).collect(),
        },
        "calls" => called(first, Outcome::Ok),
        "fails" => called(first, Outcome::ToolError),
        "errs" => called(first, Outcome::Invalid),
        _ => panic!("{verb}"),
    };
    let caller = Caller::local();
    let id = (client != "person").then(|| client.into());
    UseEvent {
        client: ClientKey { caller, id },
        at: Timestamp(minute.parse::<i64>().unwrap() * MINUTE),
        what,
    }
}

fn called(tool: &str, outcome: Outcome) -> UseKind {
    UseKind::Called {
        tool: tool.to_owned(),
        arguments: None,
        outcome,
    }
}

/// Words that begin alike mean the same.
fn vector(words: &str) -> Arc<[f32]> {
    let angle = 2.0 * f32::from(words.as_bytes()[0]);
    [angle.cos(), angle.sin()].into()
}

fn told(draft: &LessonDraft) -> String {
    let context = match &draft.context {
        DraftContext::Words { words, .. } => words.to_string(),
        DraftContext::Arguments(text) => text.clone().unwrap_or_default(),
    };
    format!("{} {} {context}", draft.signal.as_str(), draft.tool)
        .trim_end()
        .to_owned()
}

#[test]
fn a_call_belongs_to_the_words_before_it() {
    check(
        "0 ann searches hungry: a b\n1 ann calls a",
        &["found_then_used a hungry"],
    );
    check(
        "0 ann searches hungry: b\n1 ann calls a",
        &["used a hungry"],
    );
    check("0 ann says hungry\n1 ann calls a", &["used a hungry"]);
    check(
        "0 ann says hungry\n11 ann calls a",
        &["used_without_words a"],
    );
    check(
        "0 ann says hungry\n1 ben calls a",
        &["used_without_words a"],
    );
    check("0 person says hungry\n1 ann calls a", &["used a hungry"]);
    check(
        "0 person says hungry\n1 ann searches thirsty: a\n2 ann calls a",
        &["found_then_used a thirsty"],
    );
}

#[test]
fn the_same_call_for_the_same_words_teaches_once() {
    check(
        "0 ann says hungry\n1 ann calls a\n1 ann calls a\n2 ann says hungry\n2 ann calls a",
        &["used a hungry", "used a hungry"],
    );
    check("0 ann calls a\n1 ann calls a", &["used_without_words a"]);
}

#[test]
fn arguments_teach_beside_the_words() {
    check(
        "0 ann says hungry\n1 ann calls a with x 1",
        &["used a hungry", "used_without_words a x 1"],
    );
    check("0 ann fails a with x 1", &[]);
}

#[test]
fn better_places_and_shown_tools_are_passed_over_when_the_client_had_to_search() {
    check(
        "0 ann sees x y\n0 ann calls y\n1 ann searches hungry: b c a d\n2 ann calls a",
        &[
            "used_without_words y",
            "found_then_used a hungry",
            "bypassed b hungry",
            "bypassed c hungry",
            "bypassed x hungry",
        ],
    );
    check(
        "0 ann sees a x\n1 ann searches hungry: a\n2 ann calls a",
        &["found_then_used a hungry"],
    );
}

#[test]
fn a_failure_counts_against_the_tool_and_a_wrong_call_does_not() {
    check("0 ann says hungry\n1 ann fails a", &["failed a hungry"]);
    check("0 ann says hungry\n1 ann errs a", &[]);
}

#[test]
fn a_tool_is_abandoned_if_the_words_come_again_and_another_tool_is_called() {
    check(
        "0 ann searches hungry: a\n0 ann calls a\n1 ann searches hungry: b\n1 ann calls b",
        &[
            "found_then_used a hungry",
            "found_then_used b hungry",
            "abandoned a hungry",
        ],
    );
    check(
        "0 ann searches hungry: a\n0 ann calls a\n1 ann searches hungry: a\n1 ann calls a",
        &["found_then_used a hungry", "found_then_used a hungry"],
    );
    check(
        "0 ann searches hungry: a\n0 ann calls a\n1 ann searches thirsty: b\n1 ann calls b",
        &["found_then_used a hungry", "found_then_used b thirsty"],
    );
}
