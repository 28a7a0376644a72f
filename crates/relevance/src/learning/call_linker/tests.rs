//! Tests client activity and the lessons it teaches.

use kitbag_domain::Caller;

use super::*;

const MINUTE: i64 = 60_000;

/// `story` has lines such as `2 ann searches hungry: a b c`, beginning with the minute. Lessons are
/// expected as `signal tool request`. Requests are similar if their first letters are equal,
/// `ann/1` is Ann's first program run, and requests of `person` arrive outside MCP.
#[track_caller]
fn check(story: &str, expected: &[&str]) {
    let mut linker = CallLinker::default();
    let lines = story.lines().map(str::trim).filter(|it| !it.is_empty());
    let taught: Vec<String> = lines
        .flat_map(|line| {
            let event = event(line);
            let vector = event.what.words().map(|words| vector(words));
            let text = line.split_once(" with ").map(|(_, it)| it.to_owned());
            let values = text.clone().unwrap_or_default();
            linker.record_event(&event, vector, CallArguments { values, text })
        })
        .map(|draft| describe_draft(&draft))
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
        "calls" => call_event(first, Outcome::Ok),
        "fails" => call_event(first, Outcome::ToolError),
        "errs" => call_event(first, Outcome::Invalid),
        _ => panic!("{verb}"),
    };
    let caller = Caller::local();
    let (client, run) = match client.split_once('/') {
        Some((client, run)) => (client, Some(run.into())),
        None => (client, None),
    };
    let id = (client != "person").then(|| client.into());
    UseEvent {
        client: ClientKey { caller, id },
        run,
        at: Timestamp(minute.parse::<i64>().unwrap() * MINUTE),
        what,
    }
}

fn call_event(tool: &str, outcome: Outcome) -> UseKind {
    UseKind::Called {
        tool: tool.to_owned(),
        arguments: None,
        outcome,
    }
}

/// Texts with the same first letter have the same vector.
fn vector(words: &str) -> Arc<[f32]> {
    let angle = 2.0 * f32::from(words.as_bytes()[0]);
    [angle.cos(), angle.sin()].into()
}

fn describe_draft(draft: &LessonDraft) -> String {
    let context = match &draft.context {
        DraftContext::Words { words, .. } => words.to_string(),
        DraftContext::Arguments(text) => text.clone().unwrap_or_default(),
    };
    format!("{} {} {context}", draft.signal.as_str(), draft.tool)
        .trim_end()
        .to_owned()
}

#[test]
fn a_call_belongs_to_the_search_that_found_its_tool() {
    check(
        "0 ann searches hungry: a b\n1 ann calls a",
        &["found_then_used a hungry"],
    );
    check(
        "0 ann searches hungry: a\n1 ann searches thirsty: b\n2 ann calls a",
        &["found_then_used a hungry"],
    );
    check(
        "0 ann searches hungry: a\n1 ann searches thirsty: a\n2 ann calls a",
        &["found_then_used a thirsty"],
    );
    check(
        "0 person searches hungry: a\n1 ann calls a",
        &["found_then_used a hungry"],
    );
}

#[test]
fn elapsed_time_alone_links_nothing() {
    for story in [
        "0 ann searches hungry: b\n0 ann calls a",
        "0 ann searches hungry: a\n11 ann calls a",
        "0 ann searches hungry: a\n1 ben calls a",
        "0 person searches hungry: b\n0 ann calls a",
    ] {
        check(story, &["used_without_words a"]);
    }
}

#[test]
fn a_prompt_belongs_to_the_calls_that_it_arrived_with() {
    check(
        "0 ann says hungry\n1 ann calls a",
        &["said_then_used a hungry"],
    );
    check(
        "0 ann/1 says hungry\n0 ann/1 calls a",
        &["said_then_used a hungry"],
    );
    check(
        "0 ann says hungry\n11 ann calls a",
        &["used_without_words a"],
    );
    check(
        "0 ann says hungry\n1 ben calls a",
        &["used_without_words a"],
    );
    check(
        "0 person says hungry\n1 ann calls a",
        &["used_without_words a"],
    );
}

#[test]
fn arguments_that_agree_with_the_request_show_a_link() {
    let words = "0 ann searches mail the lease to Halden: b";
    check(
        &format!("{words}\n1 ann calls a with Halden, our lease"),
        &[
            "said_then_used a mail the lease to Halden",
            "used_without_words a Halden, our lease",
        ],
    );
    // One shared term is chance; short words and small numbers are ignored.
    for values in ["Halden, apples", "the, to, my", "12"] {
        check(
            &format!("{words}\n1 ann calls a with {values}"),
            &[&format!("used_without_words a {values}")],
        );
    }
}

#[test]
fn a_program_run_shares_no_requests_with_other_calls() {
    check(
        "0 ann/1 searches hungry: a\n0 ann/1 calls a\n1 ann calls b",
        &["found_then_used a hungry", "used_without_words b"],
    );
    for story in [
        "0 ann searches hungry: a\n1 ann/1 calls a",
        "0 ann/1 searches hungry: a\n1 ann/2 calls a",
        "0 ann/1 searches hungry: a\n1 ann calls a",
        "0 ann/1 says hungry\n1 ann calls a",
        "0 person searches hungry: a\n1 ann/1 calls a",
    ] {
        check(story, &["used_without_words a"]);
    }
}

/// From a trial: a program searched, and unrelated calls followed.
#[test]
fn unrelated_calls_after_the_search_of_a_program_teach_nothing_about_its_words() {
    check(
        "0 ann/1 searches read a file: read_file read_text\n\
         0 ann/1 calls read_text with notes.txt\n\
         1 ann calls current_time with Europe/Zurich\n\
         2 ann calls read_graph\n\
         3 ann calls search_nodes with file",
        &[
            "found_then_used read_text read a file",
            "bypassed read_file read a file",
            "used_without_words read_text notes.txt",
            "used_without_words current_time Europe/Zurich",
            "used_without_words read_graph",
            "used_without_words search_nodes file",
        ],
    );
}

#[test]
fn the_same_call_for_the_same_request_teaches_once() {
    check(
        "0 ann says hungry\n1 ann calls a\n1 ann calls a\n2 ann says hungry\n2 ann calls a",
        &["said_then_used a hungry", "said_then_used a hungry"],
    );
    check("0 ann calls a\n1 ann calls a", &["used_without_words a"]);
}

#[test]
fn arguments_teach_in_addition_to_the_request() {
    check(
        "0 ann says hungry\n1 ann calls a with x 1",
        &["said_then_used a hungry", "used_without_words a x 1"],
    );
    check("0 ann fails a with x 1", &[]);
}

#[test]
fn better_ranks_and_shown_tools_are_bypassed_when_the_client_had_to_search() {
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
    check(
        "0 ann searches hungry: a\n1 ann fails a",
        &["failed a hungry"],
    );
    check("0 ann says hungry\n1 ann fails a", &["failed a hungry"]);
    check("0 ann says hungry\n1 ann errs a", &[]);
    check("0 ann searches hungry: b\n1 ann fails a", &[]);
}

#[test]
fn a_tool_is_abandoned_if_the_request_is_repeated_and_another_tool_is_called() {
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
    check(
        "0 ann searches hungry: b\n0 ann calls a\n1 ann searches hungry: b\n1 ann calls b",
        &["used_without_words a", "found_then_used b hungry"],
    );
    check(
        "0 ann searches hungry: a\n0 ann calls a\n1 ann searches hungry: a\n1 ann calls b",
        &["found_then_used a hungry", "used_without_words b"],
    );
}
