//! The values of literals.

use oxc_ast::ast::{Expression, UnaryOperator};
use serde_json::{Number, Value};

/// Returns the value of an expression that is just a string, a number or a boolean.
pub(super) fn scalar(expression: &Expression<'_>) -> Option<Value> {
    match expression {
        Expression::BooleanLiteral(it) => Some(Value::Bool(it.value)),
        Expression::NumericLiteral(it) => number(it.value),
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => {
            text(expression).map(Value::String)
        }
        Expression::UnaryExpression(it) if it.operator == UnaryOperator::UnaryNegation => {
            match &it.argument {
                Expression::NumericLiteral(it) => number(-it.value),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the text of a string or of a template without expressions. Rust and JSON strings cannot
/// hold half of a surrogate pair.
pub(super) fn text(expression: &Expression<'_>) -> Option<String> {
    match expression {
        Expression::StringLiteral(it) if !it.lone_surrogates => Some(it.value.to_string()),
        Expression::TemplateLiteral(it) => {
            match (it.quasis.as_slice(), it.expressions.as_slice()) {
                ([text], []) if !text.lone_surrogates => Some(text.value.cooked?.to_string()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whole numbers are written without a fraction, as authors do.
fn number(value: f64) -> Option<Value> {
    /// Beyond this, not every whole number is a double.
    const LARGEST_WHOLE: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= LARGEST_WHOLE {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number within 53 bits"
        )]
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}
