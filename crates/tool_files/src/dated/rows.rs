//! The kinds of rows about language models.

use kitbag_domain::NanoUsd;
use serde_json::Value;

use crate::file::view::TableView;

/// A kind of row.
pub(crate) trait DatedEntry: Sized {
    /// The name of the table: `[[model]]`.
    const TABLE: &'static str;

    fn read(view: &TableView<'_>) -> Option<Self>;

    /// Names the subject of the row. No two rows about it may be valid on one day.
    fn subject(&self) -> String;
}

/// A model of a provider, with its limits and prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    pub provider: String,
    pub id: String,
    pub context_tokens: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub per_million_input_tokens: Option<NanoUsd>,
    pub per_million_output_tokens: Option<NanoUsd>,
}

/// An old name of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAlias {
    pub provider: String,
    pub alias: String,
    pub model: String,
}

/// The model behind a tier of `llm_invoke`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierRow {
    pub tier: String,
    pub provider: String,
    pub model: String,
}

/// A row of the routing table of `ai_invoke`. A route without conditions accepts every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRow {
    pub name: String,
    /// Lower orders are tried first.
    pub order: i64,
    pub provider: String,
    pub model: String,
    /// The action of the provider's file to call.
    pub action: String,
    /// True for a model that answers if the others of the same order cannot.
    pub stand_in: bool,
    /// The conditions, one of which suffices.
    pub needs_web: bool,
    pub intents: Vec<String>,
    pub qualities: Vec<String>,
    pub more_context_than: Option<u64>,
}

/// The properties of a request that routes depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RouteRequest {
    pub needs_web: bool,
    pub intent: Option<String>,
    pub quality: Option<String>,
    pub context_tokens: Option<u64>,
}

/// The pointers to text and usage in a provider's answer. Its request is in its file in
/// `catalog/providers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRow {
    pub name: String,
    /// A JSON pointer in which `*` matches every item of a list.
    pub text: String,
    pub input_tokens: String,
    pub output_tokens: String,
    /// Output that is billed and counted separately.
    pub thinking_tokens: Option<String>,
    pub finish_reason: Option<String>,
}

impl RouteRow {
    pub fn fits(&self, request: &RouteRequest) -> bool {
        let has_none = !self.needs_web
            && self.intents.is_empty()
            && self.qualities.is_empty()
            && self.more_context_than.is_none();
        has_none
            || (self.needs_web && request.needs_web)
            || contains(&self.intents, request.intent.as_deref())
            || contains(&self.qualities, request.quality.as_deref())
            || is_more(request.context_tokens, self.more_context_than)
    }
}

fn is_more(tokens: Option<u64>, than: Option<u64>) -> bool {
    matches!((tokens, than), (Some(tokens), Some(than)) if tokens > than)
}

fn contains(words: &[String], word: Option<&str>) -> bool {
    word.is_some_and(|word| words.iter().any(|it| it == word))
}

impl ProviderRow {
    /// Returns the text of an answer; the texts of several parts are joined.
    pub fn text_of(&self, answer: &Value) -> Option<String> {
        let steps: Vec<&str> = self.text.split('/').skip(1).collect();
        let texts = texts_at(answer, &steps);
        (!texts.is_empty()).then(|| texts.concat())
    }

    /// Returns the input and output tokens.
    pub fn usage_of(&self, answer: &Value) -> (Option<u64>, Option<u64>) {
        let thinking = self.thinking_tokens.as_deref();
        let thinking = thinking.and_then(|pointer| count_at(answer, pointer));
        let output = count_at(answer, &self.output_tokens);
        let output = match (output, thinking) {
            (None, None) => None,
            (output, thinking) => Some(output.unwrap_or_default() + thinking.unwrap_or_default()),
        };
        (count_at(answer, &self.input_tokens), output)
    }

    /// Returns the provider's reason for the end of the answer.
    pub fn finish_reason_of(&self, answer: &Value) -> Option<String> {
        let found = answer.pointer(self.finish_reason.as_deref()?)?;
        found.as_str().map(str::to_owned)
    }
}

fn count_at(answer: &Value, pointer: &str) -> Option<u64> {
    answer.pointer(pointer).and_then(Value::as_u64)
}

fn texts_at<'v>(value: &'v Value, steps: &[&str]) -> Vec<&'v str> {
    match steps.split_first() {
        None => value.as_str().into_iter().collect(),
        Some((&"*", rest)) => {
            let items = value.as_array().into_iter().flatten();
            items.flat_map(|item| texts_at(item, rest)).collect()
        }
        Some((step, rest)) => {
            let inner = match step.parse::<usize>() {
                Ok(index) if value.is_array() => value.get(index),
                _ => value.get(*step),
            };
            inner.map_or_else(Vec::new, |inner| texts_at(inner, rest))
        }
    }
}

impl DatedEntry for ModelRow {
    const TABLE: &'static str = "model";

    fn read(view: &TableView<'_>) -> Option<Self> {
        const INPUT: &str = "usd_per_million_input_tokens";
        const OUTPUT: &str = "usd_per_million_output_tokens";
        view.expect_dated_keys(&[
            "provider",
            "id",
            "context_tokens",
            "max_output_tokens",
            INPUT,
            OUTPUT,
        ]);
        let (provider, id) = (view.needed_text("provider"), view.needed_text("id"));
        Some(Self {
            context_tokens: count(view, "context_tokens"),
            max_output_tokens: count(view, "max_output_tokens"),
            per_million_input_tokens: view.amount(INPUT).map(NanoUsd::from_usd),
            per_million_output_tokens: view.amount(OUTPUT).map(NanoUsd::from_usd),
            provider: provider?.value,
            id: id?.value,
        })
    }

    fn subject(&self) -> String {
        format!("{} of {}", self.id, self.provider)
    }
}

impl DatedEntry for ModelAlias {
    const TABLE: &'static str = "alias";

    fn read(view: &TableView<'_>) -> Option<Self> {
        view.expect_dated_keys(&["provider", "alias", "model"]);
        let [provider, alias, model] =
            ["provider", "alias", "model"].map(|key| view.needed_text(key));
        Some(Self {
            provider: provider?.value,
            alias: alias?.value,
            model: model?.value,
        })
    }

    fn subject(&self) -> String {
        format!("{} of {}", self.alias, self.provider)
    }
}

impl DatedEntry for TierRow {
    const TABLE: &'static str = "tier";

    fn read(view: &TableView<'_>) -> Option<Self> {
        view.expect_dated_keys(&["tier", "provider", "model"]);
        let [tier, provider, model] =
            ["tier", "provider", "model"].map(|key| view.needed_text(key));
        Some(Self {
            tier: tier?.value,
            provider: provider?.value,
            model: model?.value,
        })
    }

    fn subject(&self) -> String {
        self.tier.clone()
    }
}

impl DatedEntry for RouteRow {
    const TABLE: &'static str = "route";

    fn read(view: &TableView<'_>) -> Option<Self> {
        view.expect_dated_keys(&[
            "name",
            "order",
            "provider",
            "model",
            "action",
            "stand_in",
            "needs_web",
            "intents",
            "qualities",
            "more_context_than",
        ]);
        let [name, provider, model] =
            ["name", "provider", "model"].map(|key| view.needed_text(key));
        Some(Self {
            name: name?.value,
            order: view.number("order", 0).unwrap_or_default(),
            provider: provider?.value,
            model: model?.value,
            action: view
                .text("action")
                .map_or_else(|| Self::ACTION.to_owned(), |it| it.value),
            stand_in: view.flag("stand_in").unwrap_or_default(),
            needs_web: view.flag("needs_web").unwrap_or_default(),
            intents: view.plain_texts("intents"),
            qualities: view.plain_texts("qualities"),
            more_context_than: count(view, "more_context_than"),
        })
    }

    fn subject(&self) -> String {
        self.name.clone()
    }
}

impl RouteRow {
    /// The action that every provider has.
    pub const ACTION: &str = "chat";
}

impl DatedEntry for ProviderRow {
    const TABLE: &'static str = "provider";

    fn read(view: &TableView<'_>) -> Option<Self> {
        const NEEDED: [&str; 4] = ["name", "text", "input_tokens", "output_tokens"];
        const OTHERS: [&str; 2] = ["thinking_tokens", "finish_reason"];
        view.expect_dated_keys(&[&NEEDED[..], &OTHERS].concat());
        let [name, text, input_tokens, output_tokens] = NEEDED.map(|key| view.needed_text(key));
        let [thinking_tokens, finish_reason] = OTHERS.map(|key| view.text(key));
        Some(Self {
            name: name?.value,
            text: text?.value,
            input_tokens: input_tokens?.value,
            output_tokens: output_tokens?.value,
            thinking_tokens: thinking_tokens.map(|it| it.value),
            finish_reason: finish_reason.map(|it| it.value),
        })
    }

    fn subject(&self) -> String {
        self.name.clone()
    }
}

fn count(view: &TableView<'_>, key: &str) -> Option<u64> {
    let number = view.number(key, 1)?;
    u64::try_from(number).ok()
}
