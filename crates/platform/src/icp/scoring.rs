//! A company against a profile: points for each trait, and the reason.

use serde::{Deserialize, Serialize};

use super::profile::{IcpProfile, NumberCriterion, TextCriterion};

/// The facts that are known of a company.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoringCompany {
    name: String,
    industry: Option<String>,
    employees: Option<f64>,
    revenue_usd: Option<f64>,
    country: Option<String>,
    #[serde(default)]
    technologies: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredCompany {
    pub name: String,
    /// From 0 to 100. What is not known gives no points.
    pub score: u32,
    /// The score if everything that is not known fitted best.
    pub could_be: u32,
    pub reasons: Vec<ScoreReason>,
}

/// The points for one trait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreReason {
    pub criterion: &'static str,
    /// Of 100 for all traits together.
    pub points: f64,
    pub of: f64,
    pub reason: String,
}

/// The fit of a company in one trait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TraitFit {
    Best,
    Good,
    Poor,
    Unknown,
    Excluded,
}

/// The fit of one trait, what it counts, and why.
struct JudgedTrait {
    criterion: &'static str,
    weight: f64,
    fit: TraitFit,
    reason: String,
}

impl IcpProfile {
    pub fn score(&self, company: &ScoringCompany) -> ScoredCompany {
        let judged = self.judged(company);
        let all = self.weights();
        let is_excluded = judged.iter().any(|it| it.fit == TraitFit::Excluded);
        let (score, could_be) = match is_excluded {
            true => (0.0, 0.0),
            false => (
                judged.iter().map(JudgedTrait::weighed).sum(),
                judged.iter().map(JudgedTrait::at_best).sum(),
            ),
        };
        ScoredCompany {
            name: company.name.clone(),
            score: percent(score, all),
            could_be: percent(could_be, all),
            reasons: judged.into_iter().map(|it| it.told(all)).collect(),
        }
    }

    fn judged(&self, company: &ScoringCompany) -> Vec<JudgedTrait> {
        let texts = [
            ("industry", &self.industry, listed(&company.industry)),
            ("country", &self.country, listed(&company.country)),
            (
                "technologies",
                &self.technologies,
                &company.technologies[..],
            ),
        ];
        let numbers = [
            ("employees", &self.employees, company.employees),
            ("revenue_usd", &self.revenue_usd, company.revenue_usd),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, criterion, known)| Some(criterion.as_ref()?.judge(name, known)));
        let numbers = numbers
            .into_iter()
            .filter_map(|(name, criterion, known)| Some(criterion.as_ref()?.judge(name, known)));
        texts.chain(numbers).collect()
    }
}

fn listed(text: &Option<String>) -> &[String] {
    text.as_ref().map(std::slice::from_ref).unwrap_or_default()
}

impl TextCriterion {
    fn judge(&self, criterion: &'static str, known: &[String]) -> JudgedTrait {
        let lists = [
            (TraitFit::Excluded, &self.excluded),
            (TraitFit::Best, &self.best),
            (TraitFit::Good, &self.good),
        ];
        let found = lists.into_iter().find_map(|(fit, wanted)| {
            let (known, wanted) = first_match(known, wanted)?;
            Some((fit, format!("`{known}` is `{wanted}`, {}", fit.meaning())))
        });
        let (fit, reason) = match found {
            Some(found) => found,
            None if known.is_empty() => (TraitFit::Unknown, "it is not known".to_owned()),
            None => {
                let known = known.join(", ");
                (TraitFit::Poor, format!("`{known}` is not in the profile"))
            }
        };
        JudgedTrait {
            criterion,
            weight: self.weight.0,
            fit,
            reason,
        }
    }
}

impl NumberCriterion {
    fn judge(&self, criterion: &'static str, known: Option<f64>) -> JudgedTrait {
        let fit = match known {
            None => TraitFit::Unknown,
            Some(number) if self.best.contains(number) => TraitFit::Best,
            Some(number) if self.good.is_some_and(|it| it.contains(number)) => TraitFit::Good,
            Some(_) => TraitFit::Poor,
        };
        let reason = match (known, fit) {
            (None, _) => "it is not known".to_owned(),
            (Some(number), TraitFit::Poor) => format!("{number} is outside of the profile"),
            (Some(number), _) => format!("{number} is within the range that is {}", fit.meaning()),
        };
        JudgedTrait {
            criterion,
            weight: self.weight.0,
            fit,
            reason,
        }
    }
}

/// Returns the first pair of a known text and a wanted one that fits it.
fn first_match<'a>(known: &'a [String], wanted: &'a [String]) -> Option<(&'a str, &'a str)> {
    known.iter().find_map(|known| {
        let found = wanted.iter().find(|wanted| fits(known, wanted))?;
        Some((known.as_str(), found.as_str()))
    })
}

/// Returns true if the known text has all words of the wanted one: `freight software` is `freight`.
fn fits(known: &str, wanted: &str) -> bool {
    let known = words(known);
    words(wanted).iter().all(|word| known.contains(word))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

impl TraitFit {
    /// The share of the weight that it earns.
    fn share(self) -> f64 {
        match self {
            Self::Best => 1.0,
            Self::Good => 0.5,
            Self::Poor | Self::Unknown | Self::Excluded => 0.0,
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Best => "the best fit",
            Self::Good => "a good fit",
            Self::Excluded => "which the profile excludes",
            Self::Poor | Self::Unknown => "no fit",
        }
    }
}

impl JudgedTrait {
    fn weighed(&self) -> f64 {
        self.weight * self.fit.share()
    }

    fn at_best(&self) -> f64 {
        match self.fit {
            TraitFit::Unknown => self.weight,
            _ => self.weighed(),
        }
    }

    fn told(self, all: f64) -> ScoreReason {
        ScoreReason {
            criterion: self.criterion,
            points: tenths(self.weighed() / all),
            of: tenths(self.weight / all),
            reason: self.reason,
        }
    }
}

fn percent(part: f64, whole: f64) -> u32 {
    (100.0 * part / whole).round() as u32
}

/// The share in points of 100, with one digit.
fn tenths(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use crate::icp::profile::IcpProfiles;

    const PROFILES: &str = r#"
[profiles.mid-market]
valid_from = "2026-01-01"
valid_until = "2026-12-31"
industry = { weight = 40, best = ["freight", "logistics"], good = ["retail"], excluded = ["gambling"] }
employees = { weight = 30, best = [50, 500], good = [20, 2000] }
country = { weight = 20, best = ["NL", "DE"] }
technologies = { weight = 10, best = ["PostgreSQL"], good = ["MySQL"] }

[profiles.enterprise]
valid_from = "2027-01-01"
employees = { weight = 1, best = [5000, 1e9] }
"#;

    #[track_caller]
    fn check(company: &str, score: u32, could_be: u32, reasons: &str) {
        let profiles = IcpProfiles::read(PROFILES).unwrap();
        let (_, profile) = profiles.in_force(None, date(2026, 11, 16)).unwrap();
        let scored = profile.score(&serde_json::from_str(company).unwrap());
        assert_eq!(
            (scored.score, scored.could_be),
            (score, could_be),
            "{scored:?}"
        );
        let told = scored
            .reasons
            .iter()
            .map(|it| format!("{} {}/{}: {}", it.criterion, it.points, it.of, it.reason));
        assert_eq!(told.collect::<Vec<_>>().join("; "), reasons);
    }

    #[test]
    fn each_trait_earns_its_points_with_a_reason() {
        check(
            r#"{ "name": "a", "industry": "Freight software", "employees": 240, "country": "nl", "technologies": ["Rust", "postgresql"] }"#,
            100,
            100,
            "industry 40/40: `Freight software` is `freight`, the best fit; country 20/20: `nl` is `NL`, the best fit; \
             technologies 10/10: `postgresql` is `PostgreSQL`, the best fit; employees 30/30: 240 is within the range \
             that is the best fit",
        );
        check(
            r#"{ "name": "b", "industry": "retail", "employees": 1500 }"#,
            35,
            65,
            "industry 20/40: `retail` is `retail`, a good fit; country 0/20: it is not known; technologies 0/10: it is \
             not known; employees 15/30: 1500 is within the range that is a good fit",
        );
        check(
            r#"{ "name": "c", "industry": "online gambling", "employees": 5, "country": "FR", "technologies": ["Go"] }"#,
            0,
            0,
            "industry 0/40: `online gambling` is `gambling`, which the profile excludes; country 0/20: `FR` is not in \
             the profile; technologies 0/10: `Go` is not in the profile; employees 0/30: 5 is outside of the profile",
        );
    }

    #[test]
    fn the_profile_of_the_day_is_taken_and_of_several_the_named_one() {
        let profiles = IcpProfiles::read(PROFILES).unwrap();
        for (name, day, found) in [
            (None, date(2026, 12, 31), Ok("mid-market")),
            (Some("mid-market"), date(2026, 1, 1), Ok("mid-market")),
            (None, date(2027, 1, 1), Ok("enterprise")),
            (None, date(2025, 12, 31), Err("CONFIG_MISSING")),
            (Some("enterprise"), date(2026, 6, 1), Err("NOT_FOUND")),
        ] {
            let chosen = profiles.in_force(name, day).map(|(name, _)| name);
            assert_eq!(
                chosen.map_err(|error| error.code()),
                found,
                "{name:?} {day}"
            );
        }
        let two = PROFILES.replace("2027-01-01", "2026-01-01");
        let two = IcpProfiles::read(&two).unwrap();
        let unnamed = two.in_force(None, date(2026, 6, 1));
        assert_eq!(unnamed.unwrap_err().code(), "INVALID_ARGUMENTS");
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        for (text, told) in [
            ("", "missing field `profiles`"),
            ("[profiles]", "it has no profile"),
            ("[profiles.a]", "nothing counts in the profile `a`"),
            (
                "[profiles.a]\nindusty = 1",
                "line 2: unknown field `industy`",
            ),
            (
                "[profiles.a]\nvalid_from = \"soon\"",
                "line 2: `soon` is no day",
            ),
            (
                "[profiles.a]\nemployees = { weight = -1, best = [1, 2] }",
                "line 2: a weight is a number from 0",
            ),
            (
                "[profiles.a]\nemployees = { weight = 1, best = [2, 1] }",
                "line 2: a range has the smaller number first",
            ),
        ] {
            let error = IcpProfiles::read(text).unwrap_err();
            assert!(error.contains(told), "{text:?}: {error}");
        }
    }
}
