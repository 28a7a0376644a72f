//! Teaches lessons and checks their effect on rankings.
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use kitbag_domain::Timestamp;
use kitbag_relevance::learning::tools_to_show;
use kitbag_relevance::{
    Candidate, Document, Experience, Index, IndexedTool, Lesson, Options, Query, Signal, Votes,
    retrieve,
};

use support::{ENCODER, document};

/// Enough tools for competition, and few enough to embed quickly.
static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let tools = TOOLS.lines().take(60);
    Index::build(tools.map(tool).collect())
});

const TOOLS: &str = include_str!("../../../evals/p0/tools.jsonl");
const REQUESTS: &str = include_str!("../../../evals/p0/queries.jsonl");
const DAY: i64 = 86_400_000;
const NOW: Timestamp = Timestamp(1_000 * DAY);

fn tool(line: &str) -> Document {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let description = line["description"].as_str().unwrap_or_default();
    document("", line["id"].as_str().unwrap(), description)
}

fn vector(text: &str) -> Arc<[f32]> {
    ENCODER.embed(text).into()
}

fn lesson(words: &str, tool: &str, signal: Signal) -> Lesson {
    Lesson {
        tool: tool.to_owned(),
        context: vector(words),
        signal,
        at: NOW,
        session: 0,
        id: 0,
    }
}

fn search(text: &str, votes: Option<&Votes>) -> Vec<Candidate> {
    found_in(&INDEX, text, votes)
}

fn found_in(index: &Index, text: &str, votes: Option<&Votes>) -> Vec<Candidate> {
    let query = Query {
        text,
        vector: Some(&vector(text)),
        steps: &[],
        votes,
    };
    retrieve(index, query, &Options::default(), |_| true).candidates
}

/// The results for a request after these lessons.
fn after(lessons: &[Lesson], request: &str) -> Vec<Candidate> {
    let experience = Experience::from_lessons(lessons.to_vec(), NOW);
    let votes = experience.votes(&vector(request), NOW);
    search(request, Some(&votes))
}

fn rank(found: &[Candidate], tool: &str) -> Option<usize> {
    found.iter().position(|it| it.entry.tool_name == tool)
}

/// The tool at this rank without lessons, from 0.
fn static_tool(request: &str, rank: usize) -> String {
    search(request, None)[rank].entry.tool_name.clone()
}

#[test]
fn without_lessons_the_ranking_is_the_static_one_to_the_last_bit() {
    let empty = Experience::from_lessons(Vec::new(), NOW);
    for line in REQUESTS.lines().take(40) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let request = line["query"].as_str().unwrap();
        let votes = empty.votes(&vector(request), NOW);
        assert_eq!(search(request, Some(&votes)), search(request, None));
    }
}

#[test]
fn a_thousand_uses_in_one_context_change_nothing_in_an_unrelated_one() {
    let request = "convert 20 dollars to euros";
    let popular = static_tool(request, 0);
    let uses = vec![lesson(request, &popular, Signal::FoundThenUsed); 1_000];
    for unrelated in [
        "write a regex",
        "write a regex for a date",
        "who changed this line",
    ] {
        assert!(
            after(&uses, unrelated) == search(unrelated, None),
            "{unrelated}"
        );
    }
    assert_eq!(rank(&after(&uses, request), &popular), Some(0));
}

/// No description explains this pairing, so the tool ranks low without the lesson.
#[test]
fn an_unlikely_pairing_is_learned_from_one_use_and_leads_after_two() {
    let request = "water the tomatoes on the balcony";
    let unlikely = static_tool("open an issue about the login bug", 0);
    assert!(rank(&search(request, None), &unlikely).is_none_or(|it| it >= 10));
    let once = [lesson(request, &unlikely, Signal::FoundThenUsed)];
    assert!(rank(&after(&once, request), &unlikely).unwrap() < 5);
    let paraphrase = "please water the balcony tomatoes";
    assert!(rank(&after(&once, paraphrase), &unlikely).unwrap() < 5);
    let twice = [once[0].clone(), once[0].clone()];
    assert_eq!(rank(&after(&twice, request), &unlikely), Some(0));
}

#[test]
fn a_mark_by_a_person_counts_more_than_a_use() {
    let request = "water the tomatoes on the balcony";
    let tool = static_tool(request, 3);
    let position = |lessons: &[Lesson]| rank(&after(lessons, request), &tool);
    let used = lesson(request, &tool, Signal::FoundThenUsed);
    let right = lesson(request, &tool, Signal::MarkedRight);
    let wrong = lesson(request, &tool, Signal::MarkedWrong);
    assert!(position(&[right]) <= position(std::slice::from_ref(&used)));
    assert!(position(&[used, wrong.clone()]) >= Some(3));
    let score = |lessons: &[Lesson]| {
        let found = after(lessons, request);
        let found = found.iter().find(|it| it.entry.tool_name == tool);
        found.map_or(0.0, |it| it.parts.learned)
    };
    assert!(score(&[wrong]) < 0.0);
}

/// Uses of a tool for the same request, each in its own session.
fn in_sessions(count: u64, words: &str, tool: &str) -> Vec<Lesson> {
    let sessions = 0..count;
    sessions
        .map(|session| Lesson {
            session,
            ..lesson(words, tool, Signal::FoundThenUsed)
        })
        .collect()
}

#[test]
fn a_distant_tool_passes_no_near_one_after_one_use_or_many_in_one_session() {
    let far = static_tool("convert 20 dollars to euros", 0);
    for request in [
        "open an issue about the broken login",
        "commit the staged changes to the repository",
        "open an issue about the broken login, then send a mail about it",
    ] {
        let names = |found: Vec<Candidate>| -> Vec<String> {
            let first = found.into_iter().take(5);
            first.map(|it| it.entry.tool_name.clone()).collect()
        };
        let without = names(search(request, None));
        let once = in_sessions(1, request, &far);
        assert_eq!(names(after(&once, request)), without, "{request}");
        let in_one_session = vec![once[0].clone(); 40];
        assert_eq!(names(after(&in_one_session, request)), without, "{request}");
        let in_many = in_sessions(6, request, &far);
        assert_eq!(rank(&after(&in_many, request), &far), Some(0), "{request}");
    }
}

#[test]
fn lessons_linked_only_by_time_do_not_count() {
    let request = "water the tomatoes on the balcony";
    let tool = static_tool("open an issue", 0);
    let old = Experience::from_lessons(vec![lesson(request, &tool, Signal::Used)], NOW);
    assert!(old.is_empty());
    assert_eq!(old.dropped_ids(), [0]);
}

#[test]
fn a_single_moderately_similar_neighbour_does_not_overturn_a_clear_winner() {
    let mistakes = [
        (
            "open an issue about the broken login",
            "open a pull request for the login fix",
        ),
        (
            "list the events of my calendar for tomorrow",
            "cancel an event and tell its guests",
        ),
    ];
    for (request, neighbour) in mistakes {
        let winner = static_tool(request, 0);
        let wrong = static_tool(neighbour, 12);
        let lessons = [lesson(neighbour, &wrong, Signal::FoundThenUsed)];
        assert_eq!(
            rank(&after(&lessons, request), &winner),
            Some(0),
            "{request}"
        );
    }
}

#[test]
fn a_tool_counts_as_bypassed_after_three_sessions() {
    let request = "open an issue about the broken login";
    let bypassed = static_tool(request, 0);
    let in_session = |session| Lesson {
        session,
        ..lesson(request, &bypassed, Signal::Bypassed)
    };
    let sessions = |numbers: &[u64]| numbers.iter().map(|it| in_session(*it)).collect::<Vec<_>>();
    let learned = |lessons: &[Lesson]| after(lessons, request)[0].parts.learned;
    assert_eq!(learned(&sessions(&[1, 2, 1, 2, 1])), 0.0);
    let three = after(&sessions(&[1, 2, 3]), request);
    let at = rank(&three, &bypassed).unwrap();
    assert!(three[at].parts.learned < -0.01, "{three:?}");
}

/// Nothing favours any other tool, so only the weak negative votes change the rank.
#[test]
fn a_tool_bypassed_by_three_sessions_loses_its_rank_to_an_equally_near_one() {
    let mut requests = REQUESTS.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["query"].as_str().unwrap().to_owned()
    });
    let close = requests.find(|request| {
        let found = search(request, None);
        found[0].score - found[1].score < 0.005 && found[0].copies.is_empty()
    });
    let request = close.unwrap();
    let bypassed = static_tool(&request, 0);
    let in_session = |session| Lesson {
        session,
        ..lesson(&request, &bypassed, Signal::Bypassed)
    };
    let sessions = |count: u64| (0..count).map(in_session).collect::<Vec<_>>();
    assert_eq!(rank(&after(&sessions(2), &request), &bypassed), Some(0));
    assert!(rank(&after(&sessions(3), &request), &bypassed) > Some(0));
}

#[test]
fn failures_sink_a_tool_and_later_successes_lift_it_again() {
    let request = "open an issue about the broken login";
    let tool = static_tool(request, 0);
    let mut lessons = vec![lesson(request, &tool, Signal::Failed); 3];
    let failed = after(&lessons, request);
    assert!(failed[rank(&failed, &tool).unwrap()].parts.learned < -0.02);
    lessons.extend(vec![lesson(request, &tool, Signal::FoundThenUsed); 4]);
    let works = after(&lessons, request);
    assert!(works[rank(&works, &tool).unwrap()].parts.learned > 0.0);
}

#[test]
fn a_lesson_fades_and_is_dropped_after_three_months_without_use() {
    let request = "water the tomatoes on the balcony";
    let tool = static_tool("open an issue", 0);
    let taught = Experience::from_lessons(vec![lesson(request, &tool, Signal::SaidThenUsed)], NOW);
    let later = |days: i64| Timestamp(NOW.0 + days * DAY);
    let bonuses = [0, 30, 60, 85].map(|days| {
        let votes = taught.votes(&vector(request), later(days));
        votes.get(&tool).unwrap().bonus
    });
    assert!(
        bonuses.windows(2).all(|pair| pair[0] > pair[1]),
        "{bonuses:?}"
    );
    assert_eq!(taught.with_lessons(Vec::new(), later(89)).len(), 1);
    let forgotten = taught.with_lessons(Vec::new(), later(91));
    assert!(forgotten.is_empty());
    assert_eq!(forgotten.dropped_ids(), [0]);
}

#[test]
fn fifty_thousand_lessons_stay_within_bounds_and_every_row_is_kept_or_dropped() {
    let lessons: Vec<Lesson> = (0..50_000).map(noise_lesson).collect();
    let experience = Experience::from_lessons(lessons.clone(), NOW);
    assert!(experience.len() <= 5_000);
    let dropped: BTreeSet<i64> = experience.dropped_ids().iter().copied().collect();
    assert_eq!(dropped.len(), experience.dropped_ids().len());
    let kept = lessons.iter().filter(|it| !dropped.contains(&it.id));
    let again = Experience::from_lessons(kept.cloned().collect(), NOW);
    assert_eq!(again.len(), experience.len());
    assert!(again.dropped_ids().is_empty());
}

/// Lessons of two hundred tools in contexts that resemble no other.
fn noise_lesson(number: u64) -> Lesson {
    let mut state = number;
    let values: Vec<f32> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    })
    .take(32)
    .collect();
    let length = values.iter().map(|x| x * x).sum::<f32>().sqrt();
    Lesson {
        tool: format!("tool_{}", number % 200),
        context: values.into_iter().map(|x| x / length).collect(),
        signal: Signal::ALL[number as usize % Signal::ALL.len()],
        at: Timestamp(NOW.0 - number as i64),
        session: number,
        id: number as i64,
    }
}

#[test]
fn lessons_that_come_one_by_one_teach_the_same_as_all_at_once() {
    let request = "open an issue about the broken login";
    let lessons: Vec<Lesson> = (0..20)
        .map(|id| Lesson {
            at: Timestamp(NOW.0 - 20 + id),
            id,
            ..lesson(
                request,
                &static_tool(request, id as usize % 3),
                Signal::SaidThenUsed,
            )
        })
        .collect();
    let mut growing = Experience::default();
    for lesson in &lessons {
        growing = growing.with_lessons(vec![lesson.clone()], NOW);
    }
    let [all, one_by_one] = [Experience::from_lessons(lessons, NOW), growing]
        .map(|it| search(request, Some(&it.votes(&vector(request), NOW))));
    assert_eq!(all, one_by_one);
}

#[test]
fn a_tool_without_lessons_keeps_a_slot_among_the_first_five() {
    let request = "open an issue about the broken login";
    let known: Vec<String> = (5..15).map(|at| static_tool(request, at)).collect();
    let uses = |tool: &String| vec![lesson(request, tool, Signal::FoundThenUsed); 3];
    let mut lessons: Vec<Lesson> = known.iter().flat_map(uses).collect();
    // The first four fail, so that the learned ones pass them.
    lessons.extend((0..4).map(|at| lesson(request, &static_tool(request, at), Signal::Failed)));
    let new = static_tool(request, 4);
    assert!(rank(&after(&lessons, request), &new).unwrap() < 5);
}

#[test]
fn the_shared_prior_is_weaker_and_fades_as_own_use_grows() {
    let request = "water the tomatoes on the balcony";
    let (own_tool, shared_tool) = (
        static_tool("open an issue", 0),
        static_tool("send a mail", 0),
    );
    let votes = |tool: &str, uses: usize| {
        let lessons = vec![lesson(request, tool, Signal::FoundThenUsed); uses];
        Experience::from_lessons(lessons, NOW).votes(&vector(request), NOW)
    };
    let bonus = |own_uses| {
        let mixed = Votes::combine(votes(&own_tool, own_uses), votes(&shared_tool, 3));
        mixed.get(&shared_tool).unwrap().bonus
    };
    let [none, one, many] = [0, 1, 20].map(bonus);
    assert!(votes(&shared_tool, 3).get(&shared_tool).unwrap().bonus > none);
    assert!(
        none > one && one > many && many > 0.0,
        "{none} {one} {many}"
    );
    assert!(
        Votes::combine(votes(&own_tool, 1), votes(&shared_tool, 3))
            .get(&shared_tool)
            .unwrap()
            .neighbours
            .is_empty()
    );
}

#[test]
fn the_surfaced_set_shrinks_from_twenty_to_five() {
    assert_eq!([0.0, 0.5, 1.0, 7.0].map(tools_to_show), [20, 12, 5, 5]);
}

/// The same tool many times, distinguished only by its record.
#[test]
fn a_record_of_failures_demotes_a_tool_among_similar_ones() {
    let request = "open an issue about the broken login";
    let best = static_tool(request, 0);
    let best = TOOLS.lines().map(tool).find(|it| it.name == best).unwrap();
    let mut documents: Vec<Document> = TOOLS.lines().take(20).map(tool).collect();
    for (name, success_rate) in [
        ("fails", Some(0.1)),
        ("unknown", None),
        ("works", Some(1.0)),
    ] {
        let entry = IndexedTool {
            tool_name: name.to_owned(),
            success_rate,
            ..IndexedTool::clone(&best.entry)
        };
        documents.push(Document {
            entry: Arc::new(entry),
            ..best.clone()
        });
    }
    let ranked = found_in(&Index::build(documents), request, None);
    let [fails, unknown, works] =
        ["fails", "unknown", "works"].map(|it| rank(&ranked, it).unwrap());
    assert!(
        works < unknown && unknown < fails,
        "{works} {unknown} {fails}"
    );
    assert_eq!(ranked[unknown].parts.priors, 0.0);
}
