//! Describes in words which value a schema expects.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::excerpt::type_with_article;

/// Returns the expectation that a mistake violates, in words: `at least 3`.
pub(super) fn describe_expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind } => types(kind),
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("one of {}", list_options(options)),
            None => "one of the values listed".to_owned(),
        },
        Kind::Constant { expected_value } => expected_value.to_string(),
        Kind::Pattern { pattern } => format!("text that matches {pattern}"),
        kind => number_expected(kind).unwrap_or_else(|| rule_expected(kind).to_owned()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => type_with_article(&one.to_string()),
        TypeKind::Multiple(several) => {
            let sorts = several
                .iter()
                .map(|one| type_with_article(&one.to_string()));
            sorts.collect::<Vec<_>>().join(" or ")
        }
    }
}

/// Returns the limit of a number, or of the number of characters, items or members.
fn number_expected(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} members"),
        Kind::MaxProperties { limit } => format!("at most {limit} members"),
        _ => return None,
    })
}

fn rule_expected(kind: &Kind) -> &'static str {
    match kind {
        Kind::UniqueItems => "items that differ from each other",
        Kind::Contains => "an item that fits `contains`",
        Kind::PropertyNames { .. } => "names that fit `propertyNames`",
        Kind::OneOfMultipleValid { .. } => "exactly one of the forms, not several",
        Kind::Not { .. } => "anything that does not fit `not`",
        Kind::FalseSchema | Kind::UnevaluatedItems { .. } => "nothing here",
        _ => "a value that fits the schema",
    }
}

/// Returns the types that a schema names, in words.
pub(super) fn type_names(types: &Value) -> Option<String> {
    match types {
        Value::String(one) => Some(type_with_article(one)),
        Value::Array(several) => {
            let names = several.iter().filter_map(Value::as_str);
            Some(
                names
                    .map(type_with_article)
                    .collect::<Vec<_>>()
                    .join(" or "),
            )
        }
        _ => None,
    }
}

fn list_options(options: &[Value]) -> String {
    /// A model would not read a longer list.
    const MOST: usize = 20;
    let shown: Vec<_> = options.iter().take(MOST).map(Value::to_string).collect();
    let more = options.len().saturating_sub(MOST);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
}
