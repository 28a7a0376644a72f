//! Weighs a claim: the most trusted source decides its object; other sources back or contradict it.

use kitbag_domain::Timestamp;
use kitbag_store::NewFact;
use serde_json::{Value, json};

use super::fact::fact_to_json;
use super::ranking::trust_order;
use super::tier::AuthorityTier;
use super::{comparison_key, has_ended};
use crate::moment;

/// All facts about one subject and predicate, weighed.
#[derive(Debug)]
pub(super) struct WeighedClaim<'a> {
    /// The most trusted valid fact.
    deciding: Option<&'a NewFact>,
    /// Valid facts with the same object, the deciding fact first.
    backing: Vec<&'a NewFact>,
    contradicting: Vec<&'a NewFact>,
    ended: Vec<&'a NewFact>,
}

impl<'a> WeighedClaim<'a> {
    pub(super) fn weigh(facts: &'a [NewFact], now: Timestamp) -> Self {
        let (ended, mut valid): (Vec<_>, Vec<_>) =
            facts.iter().partition(|fact| has_ended(fact, now));
        valid.sort_by_key(|fact| trust_order(fact));
        let deciding = valid.first().copied();
        let object = deciding.map(|fact| comparison_key(&fact.object));
        let (backing, contradicting) = valid
            .into_iter()
            .partition(|fact| Some(comparison_key(&fact.object)) == object);
        Self {
            deciding,
            backing,
            contradicting,
            ended,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "stands": self.deciding.map(|fact| fact.object.clone()),
            "because": self.explain_verdict(),
            "contested": !self.contradicting.is_empty(),
            "backing": facts_to_json(&self.backing),
            "contradicting": facts_to_json(&self.contradicting),
            "ended": facts_to_json(&self.ended),
        })
    }

    fn explain_verdict(&self) -> String {
        let Some(fact) = self.deciding else {
            return "no source is valid any more".to_owned();
        };
        let mut reason = format!(
            "{} says so, {}",
            describe_source(fact),
            self.compare_with_best_contradiction()
        );
        match self.backing.len() - 1 {
            0 => {}
            1 => reason.push_str("; one more source says the same"),
            others => reason.push_str(&format!("; {others} more sources say the same")),
        }
        reason.push_str(&self.describe_contradiction());
        reason
    }

    /// Compares the deciding fact with the best one that contradicts it.
    fn compare_with_best_contradiction(&self) -> &'static str {
        match (self.deciding, self.contradicting.first()) {
            (Some(first), Some(next)) if first.authority < next.authority => {
                "and is more trusted than every source that says otherwise"
            }
            (Some(first), Some(next)) if first.observed_at > next.observed_at => {
                "and is newer than equally trusted sources that say otherwise"
            }
            (Some(_), Some(_)) => {
                "but an equally trusted source of the same time says otherwise, so this is undecided"
            }
            _ => "and no valid source says otherwise",
        }
    }

    fn describe_contradiction(&self) -> String {
        match self.contradicting.first() {
            Some(fact) => format!(
                "; the strongest contradiction is `{}`, from {}",
                fact.object,
                describe_source(fact)
            ),
            None => String::new(),
        }
    }
}

fn facts_to_json(facts: &[&NewFact]) -> Vec<Value> {
    facts.iter().map(|fact| fact_to_json(fact)).collect()
}

fn describe_source(fact: &NewFact) -> String {
    let tier = AuthorityTier::from_number(fact.authority);
    let day = moment::utc_day(fact.observed_at);
    format!("`{}` ({tier}, observed {day})", fact.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000_000);

    /// `object source tier day-of-1970 [ended]`
    fn fact(text: &str) -> NewFact {
        let words: Vec<&str> = text.split(' ').collect();
        let day: i64 = words[3].parse().unwrap();
        NewFact {
            tenant: None,
            subject: "Contoso".to_owned(),
            subject_key: "contoso".to_owned(),
            predicate: "employees".to_owned(),
            predicate_key: "employees".to_owned(),
            object: words[0].to_owned(),
            source: words[1].to_owned(),
            url: None,
            quote: "…".to_owned(),
            authority: words[2].parse().unwrap(),
            observed_at: Timestamp(day * 86_400_000),
            valid_until: words.get(4).map(|_| Timestamp(1)),
            meaning: None,
        }
    }

    #[track_caller]
    fn check(facts: &[&str], stands: Option<&str>, contested: bool, because: &str) {
        let facts: Vec<NewFact> = facts.iter().map(|text| fact(text)).collect();
        let answer = WeighedClaim::weigh(&facts, NOW).to_json();
        assert_eq!(answer["stands"], json!(stands), "{answer}");
        assert_eq!(answer["contested"], contested, "{answer}");
        let told = answer["because"].as_str().unwrap();
        assert_eq!(told, because);
        let listed =
            ["backing", "contradicting", "ended"].map(|it| answer[it].as_array().unwrap().len());
        assert_eq!(listed.iter().sum::<usize>(), facts.len());
    }

    #[test]
    fn the_most_trusted_source_decides_and_then_the_newest() {
        check(
            &["900 CRM 2 10"],
            Some("900"),
            false,
            "`CRM` (tier 2, reliable, observed 1970-01-11) says so, and no valid source says otherwise",
        );
        check(
            &["850 press 3 20", "900 CRM 2 10", "900 wiki 4 1"],
            Some("900"),
            true,
            "`CRM` (tier 2, reliable, observed 1970-01-11) says so, and is more trusted than every source that says \
             otherwise; one more source says the same; the strongest contradiction is `850`, from `press` (tier 3, reported, \
             observed 1970-01-21)",
        );
        check(
            &["850 old 1 10", "900 new 1 20"],
            Some("900"),
            true,
            "`new` (tier 1, authoritative, observed 1970-01-21) says so, and is newer than equally trusted sources \
             that say otherwise; the strongest contradiction is `850`, from `old` (tier 1, authoritative, observed \
             1970-01-11)",
        );
        check(
            &["850 a 1 10", "900 b 1 10"],
            Some("850"),
            true,
            "`a` (tier 1, authoritative, observed 1970-01-11) says so, but an equally trusted source of the same time \
             says otherwise, so this is undecided; the strongest contradiction is `900`, from `b` (tier 1, authoritative, \
             observed 1970-01-11)",
        );
    }

    #[test]
    fn a_source_that_has_ended_decides_nothing() {
        check(
            &["900 contract 1 10 ended", "850 press 4 1"],
            Some("850"),
            false,
            "`press` (tier 4, hearsay, observed 1970-01-02) says so, and no valid source says otherwise",
        );
        check(
            &["900 contract 1 10 ended"],
            None,
            false,
            "no source is valid any more",
        );
    }

    #[test]
    fn case_and_white_space_do_not_contradict() {
        check(
            &["Berlin CRM 1 10", "berlin wiki 4 9"],
            Some("Berlin"),
            false,
            "`CRM` (tier 1, authoritative, observed 1970-01-11) says so, and no valid source says otherwise; one more \
             source says the same",
        );
    }
}
