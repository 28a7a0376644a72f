//! JSON as clients write it, with comments and trailing commas, into the tree.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Data, Key, Misspelt, Node};

pub(super) fn parse(text: &str) -> Result<Node, Misspelt> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
    let parsed = parsed.map_err(|error| Misspelt {
        at: error.range().start,
        message: error.kind().to_string().to_lowercase(),
    })?;
    let empty = || Node {
        data: Data::Map(Vec::new()),
        span: 0..text.len(),
    };
    Ok(parsed.value.as_ref().map_or_else(empty, node))
}

/// What at least one client understands.
pub(crate) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn node(value: &Value<'_>) -> Node {
    let data = match value {
        Value::NullKeyword(_) => Data::Null,
        Value::BooleanLit(literal) => Data::Bool(literal.value),
        Value::NumberLit(literal) => Data::Number(literal.value.to_owned()),
        Value::StringLit(literal) => Data::Text(literal.value.clone().into_owned()),
        Value::Array(array) => Data::List(array.elements.iter().map(node).collect()),
        Value::Object(object) => {
            let entries = object
                .properties
                .iter()
                .map(|it| (key(&it.name), node(&it.value)));
            Data::Map(entries.collect())
        }
    };
    Node {
        data,
        span: value.start()..value.end(),
    }
}

fn key(name: &ObjectPropName<'_>) -> Key {
    Key {
        text: name.as_str().to_owned(),
        span: name.start()..name.end(),
    }
}
