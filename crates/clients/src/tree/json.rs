//! Parses JSON as clients write it, with comments and trailing commas, into the tree.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Key, Node, NodeData, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
    let parsed = parsed.map_err(|error| SyntaxError {
        at: error.range().start,
        message: error.kind().to_string().to_lowercase(),
    })?;
    Ok(match &parsed.value {
        Some(value) => node(value),
        None => Node::empty(text),
    })
}

/// The JSON extensions that at least one client understands.
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
        Value::NullKeyword(_) => NodeData::Null,
        Value::BooleanLit(literal) => NodeData::Bool(literal.value),
        Value::NumberLit(literal) => NodeData::Number(literal.value.to_owned()),
        Value::StringLit(literal) => NodeData::Text(literal.value.clone().into_owned()),
        Value::Array(array) => NodeData::List(array.elements.iter().map(node).collect()),
        Value::Object(object) => {
            let entries = object
                .properties
                .iter()
                .map(|property| (key(&property.name), node(&property.value)));
            NodeData::Map(entries.collect())
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
