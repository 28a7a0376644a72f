//! Tests of dated data.

use jiff::civil::date;
use serde_json::json;

use super::*;

#[test]
fn the_built_in_rows_have_no_mistake_and_lead_somewhere_on_every_day() {
    for (name, text) in BUILT_IN {
        let mistakes = DatedData::default().add(Path::new(name), text);
        let messages: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        assert!(messages.is_empty(), "{}", messages.join("\n"));
    }
    let data = DatedData::built_in();
    for day in [
        date(2026, 5, 7),
        date(2026, 9, 13),
        date(2026, 9, 14),
        date(2026, 11, 16),
    ] {
        let messages: Vec<String> = check(&data, day).iter().map(ToString::to_string).collect();
        assert!(messages.is_empty(), "{day}: {}", messages.join("\n"));
    }
    for provider in crate::built_in::model_providers() {
        let row = data.at(date(2026, 11, 16)).provider(provider.name.as_str());
        assert!(row.is_some(), "{}", provider.name);
    }
}

#[test]
fn an_old_name_leads_to_the_model_of_the_day() {
    let data = DatedData::built_in();
    for (day, name, expected) in [
        (
            date(2026, 6, 1),
            "deepseek-reasoner",
            Some("deepseek-v4-pro"),
        ),
        (
            date(2026, 11, 18),
            "deepseek-reasoner",
            Some("deepseek-v4-pro"),
        ),
        (
            date(2026, 11, 18),
            "deepseek-chat",
            Some("deepseek-v4-flash"),
        ),
        (date(2025, 1, 1), "deepseek-chat", None),
    ] {
        let model = data.at(day).model("deepseek", name);
        assert_eq!(
            model.map(|model| model.id.as_str()),
            expected,
            "{day} {name}"
        );
    }
    let tier = data.at(date(2026, 10, 1)).tier("standard").unwrap();
    assert_eq!(tier.model, "deepseek-flash");
}

const ROWS: &str = r#"
[[tier]]
tier = "bulk"
provider = "groq"
model = "openai/gpt-oss-20b"
valid_from = 2026-01-01
source = "us"

[[tier]]
tier = "bulk"
provider = "groq"
model = "gone"
valid_from = 2026-06-01
valid_until = 2026-07-01
source = "us"
"#;

#[test]
fn rows_of_the_operator_replace_the_built_in_ones_and_are_checked() {
    let (data, mistakes) = DatedData::built_in().with_file(Path::new("own.toml"), ROWS);
    assert_eq!(mistakes, []);
    let tell =
        |day: Date| -> Vec<String> { check(&data, day).iter().map(ToString::to_string).collect() };
    let overlap = "own.toml:9: check dated data: `bulk` has two rows that are valid on 2026-06-01; the other is on line 2 of own.toml";
    assert_eq!(tell(date(2026, 5, 20)), [overlap]);
    assert_eq!(
        tell(date(2026, 6, 20)),
        [
            overlap,
            "own.toml:9: check dated data: `bulk` leads to `gone` of groq, which does not exist today"
        ]
    );
    assert_eq!(
        tell(date(2026, 8, 1)),
        [
            overlap,
            "own.toml:9: check dated data: `bulk` has no valid row since 2026-07-01"
        ]
    );
}

#[test]
fn a_row_with_a_mistake_is_reported_with_its_line() {
    let text = ROWS
        .replacen("source = \"us\"\n", "", 1)
        .replacen("2026-07-01", "2026-05-01", 1)
        .replacen("tier = \"bulk\"", "teer = \"bulk\"", 1);
    let (_, mistakes) = DatedData::default().with_file(Path::new("own.toml"), &text);
    let messages: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    let expected = [
        "own.toml, line 3, in `tier`: unknown key `teer`",
        "own.toml, line 2, in `tier`: missing key `tier`",
        "own.toml, line 2, in `tier`: missing key `source`",
        "own.toml, line 13, in `tier.valid_until`: it ends before it begins",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn companies_are_ranked_by_the_facts_that_are_known() {
    let text = r#"
[[profile]]
name = "default"
valid_from = 2026-01-01
source = "sales"
industry = { weight = 50, fits = { logistics = 80, "freight software" = 100 } }
employees = { weight = 30, ranges = [{ from = 50, to = 500, fit = 100 }, { from = 500, fit = 40 }] }
country = { weight = 20, fits = { NL = 100, US = 50 } }
"#;
    let (data, mistakes) = DatedData::default().with_file(Path::new("icp.toml"), text);
    assert_eq!(mistakes, []);
    let profiles = data.at(date(2026, 11, 16)).profiles();
    let companies = [
        json!({ "name": "Far", "industry": "Mining", "country": "Russia" }),
        json!({ "name": "Northwind", "industry": "Freight software, B2B", "employees": 240, "country": "NL" }),
        json!({ "name": "Big", "industry": "Logistics", "employees": 500 }),
        json!({ "name": "Unknown" }),
    ];
    let messages: Vec<String> = profiles[0]
        .rank(&companies)
        .iter()
        .map(|it| {
            format!(
                "{} {} {} {}",
                it.company,
                it.score,
                it.known,
                it.reasons.join("; ")
            )
        })
        .collect();
    let expected = [
        "Northwind 100 100 industry Freight software, B2B: 100 of 100, weight 50; employees 240: 100 of 100, weight 30; \
         country NL: 100 of 100, weight 20",
        "Big 65 80 industry Logistics: 80 of 100, weight 50; employees 500: 40 of 100, weight 30",
        "Far 0 70 industry Mining: 0 of 100, weight 50; country Russia: 0 of 100, weight 20",
        "Unknown 0 0 ",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn text_and_usage_are_found_in_the_answers_of_providers() {
    let data = DatedData::built_in();
    let day = data.at(date(2026, 11, 16));
    let answer = json!({
        "content": [{ "type": "thinking", "thinking": "…" }, { "text": "Rhine, " }, { "text": "Elbe" }],
        "usage": { "input_tokens": 5, "output_tokens": 7 },
    });
    let anthropic = day.provider("anthropic").unwrap();
    assert_eq!(anthropic.text_of(&answer).as_deref(), Some("Rhine, Elbe"));
    assert_eq!(anthropic.usage_of(&answer), (Some(5), Some(7)));
    let answer = json!({ "choices": [{ "message": { "content": "Rhine" } }] });
    assert_eq!(
        day.provider("groq").unwrap().text_of(&answer).as_deref(),
        Some("Rhine")
    );
    assert_eq!(anthropic.text_of(&answer), None);
}
