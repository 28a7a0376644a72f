//! A fact: parsed from a line of a file, and as JSON for models.

use kitbag_domain::text::{strip_invisible, strip_to_one_line};
use kitbag_domain::{Tenant, Timestamp};
use kitbag_store::{NewFact, StoredFact};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use super::comparison_key;
use super::tier::AuthorityTier;
use crate::moment;

/// In characters: names are compared and indexed, quotes are read by models.
const LONGEST_NAME: usize = 200;
const LONGEST_TEXT: usize = 4_000;
const LONGEST_URL: usize = 2_000;

/// A fact as an operator writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactLine {
    subject: Name,
    predicate: Name,
    object: ObjectText,
    source: SourceLine,
    authority: AuthorityTier,
    observed_at: Moment,
    valid_until: Option<Moment>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceLine {
    name: Name,
    url: Option<SourceUrl>,
    quote: LongText,
}

/// A name on one line.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct LongText(String);

/// A text; numbers and booleans are converted.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
struct ObjectText(String);

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct SourceUrl(String);

#[derive(Debug, Clone, Copy)]
struct Moment(Timestamp);

impl FactLine {
    /// Returns the fact for a tenant, or for all of them, without its vector.
    pub fn into_fact(self, tenant: Option<Tenant>) -> NewFact {
        NewFact {
            tenant,
            subject_key: comparison_key(&self.subject.0),
            subject: self.subject.0,
            predicate_key: comparison_key(&self.predicate.0),
            predicate: self.predicate.0,
            object: self.object.0,
            source: self.source.name.0,
            url: self.source.url.map(|url| url.0),
            quote: self.source.quote.0,
            authority: self.authority.number(),
            observed_at: self.observed_at.0,
            valid_until: self.valid_until.map(|end| end.0),
            meaning: None,
        }
    }
}

/// Returns the text to compare with questions.
pub(super) fn text_to_embed(fact: &NewFact) -> String {
    // `renewal_date` is two words for a reader.
    let predicate = fact.predicate.replace(['_', '-'], " ");
    format!(
        "{} {predicate}: {}. {}",
        fact.subject, fact.object, fact.quote
    )
}

/// Returns the fact for operators, with its id and tenant.
pub fn stored_fact_to_json(stored: &StoredFact) -> Value {
    let tenant = stored.fact.tenant.as_ref().map_or("*", Tenant::as_str);
    let mut listed = json!({ "id": stored.id, "tenant": tenant });
    if let (Value::Object(listed), Value::Object(shown)) = (&mut listed, fact_to_json(&stored.fact))
    {
        listed.extend(shown);
    }
    listed
}

/// Returns the fact for models.
pub(super) fn fact_to_json(fact: &NewFact) -> Value {
    let tier = AuthorityTier::from_number(fact.authority);
    let mut shown = json!({
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "quote": fact.quote,
        "source": fact.source,
        "authority": { "tier": tier.number(), "name": tier.as_str() },
        "observed_at": moment::to_rfc3339(fact.observed_at),
    });
    if let Some(url) = &fact.url {
        shown["url"] = json!(url);
    }
    if let Some(end) = fact.valid_until {
        shown["valid_until"] = json!(moment::to_rfc3339(end));
    }
    shown
}

fn check_length(text: String, most: usize) -> Result<String, String> {
    match text.chars().count() {
        0 => Err("the text is empty".to_owned()),
        length if length > most => Err(format!(
            "the text has {length} characters; the limit is {most}"
        )),
        _ => Ok(text),
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        check_length(strip_to_one_line(&text), LONGEST_NAME).map(Self)
    }
}

impl TryFrom<String> for LongText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        check_length(strip_invisible(&text).trim().to_owned(), LONGEST_TEXT).map(Self)
    }
}

impl TryFrom<Value> for ObjectText {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            _ => return Err("the object must be a text, a number or a boolean".to_owned()),
        };
        LongText::try_from(text).map(|LongText(text)| Self(text))
    }
}

impl TryFrom<String> for SourceUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = check_length(strip_to_one_line(&text), LONGEST_URL)?;
        match text.starts_with("https://") || text.starts_with("http://") {
            true => Ok(Self(text)),
            false => Err(format!("`{text}` is not an HTTP URL")),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        moment::parse_moment(&text).map(Self).ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a timestamp: write 2026-11-16 or 2026-11-16T10:00:00Z"
            ))
        })
    }
}
