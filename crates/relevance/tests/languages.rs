//! Requests in other languages are detected, and English ones are not reported.

use kitbag_relevance::language::detect_foreign_language;
use serde_json::Value;

const REQUESTS: &str = include_str!("../../../evals/languages/requests.tsv");
const ENGLISH: [&str; 3] = [
    include_str!("../../../evals/p0/queries.jsonl"),
    include_str!("../../../evals/small/queries.jsonl"),
    include_str!("../../../evals/absent/queries.jsonl"),
];

#[test]
fn nine_of_ten_requests_in_other_languages_are_recognized() {
    let written = REQUESTS.lines().filter_map(|line| line.split_once('\t'));
    let other: Vec<_> = written.filter(|(name, _)| *name != "English").collect();
    let (mut recognized, mut rightly) = (0, 0);
    for (name, request) in &other {
        let detected = detect_foreign_language(request);
        recognized += usize::from(detected.is_some());
        rightly += usize::from(detected == Some(name));
        if detected != Some(name) {
            println!("{name} is taken for {detected:?}: {request}");
        }
    }
    println!(
        "{recognized} of {} recognized, {rightly} by name",
        other.len()
    );
    assert!(recognized * 10 >= other.len() * 9 && rightly * 10 >= other.len() * 9);
}

/// Three requests of `evals/small` are deliberately in other languages.
#[test]
fn english_requests_are_not_reported_as_foreign() {
    let names = REQUESTS
        .lines()
        .filter_map(|line| line.strip_prefix("English\t"));
    let sets = ENGLISH.iter().flat_map(requests);
    let all = names.map(str::to_owned).chain(sets);
    let mut alarms: Vec<_> = all.filter_map(|it| detect_foreign_language(&it)).collect();
    alarms.sort_unstable();
    assert_eq!(alarms, ["French", "German", "Spanish"]);
}

fn requests(set: &&str) -> Vec<String> {
    let lines = set
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let texts = lines.filter_map(|line: Value| line["query"].as_str().map(str::to_owned));
    texts.collect()
}
