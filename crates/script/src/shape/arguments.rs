//! The literals and names in the arguments of a call.

use oxc_ast::ast::{Argument, Expression, ObjectProperty, ObjectPropertyKind, PropertyKind};
use oxc_span::{GetSpan as _, Span};
use serde_json::Value;

use super::literal;

/// The name of a value that is not in an object.
const UNNAMED: &str = "value";

/// The values that a program passes to its tools.
#[derive(Default)]
pub(super) struct GivenValues {
    pub(super) literals: Vec<FoundLiteral>,
    constants: Vec<GivenConstant>,
}

/// A literal and its position in the program.
pub(super) struct FoundLiteral {
    pub(super) span: Span,
    /// The key of the property that holds it.
    pub(super) key: String,
    pub(super) value: Value,
}

/// A name used where a literal could be.
pub(super) struct GivenConstant {
    pub(super) name: String,
    pub(super) key: String,
}

impl GivenValues {
    pub(super) fn add_all(&mut self, arguments: &[Argument<'_>]) {
        for argument in arguments.iter().filter_map(Argument::as_expression) {
            self.add(UNNAMED, argument);
        }
    }

    pub(super) fn constants_named(&self, name: &str) -> impl Iterator<Item = &GivenConstant> {
        self.constants.iter().filter(move |it| it.name == name)
    }

    fn add(&mut self, key: &str, expression: &Expression<'_>) {
        let expression = expression.get_inner_expression();
        if let Some(value) = literal::scalar(expression) {
            self.literals.push(FoundLiteral {
                span: expression.span(),
                key: key.to_owned(),
                value,
            });
            return;
        }
        match expression {
            Expression::Identifier(it) => self.constants.push(GivenConstant {
                name: it.name.to_string(),
                key: key.to_owned(),
            }),
            Expression::ArrayExpression(it) => {
                let elements = it.elements.iter().filter_map(|it| it.as_expression());
                elements.for_each(|it| self.add(key, it));
            }
            Expression::ObjectExpression(it) => {
                it.properties.iter().for_each(|it| self.add_property(it));
            }
            _ => {}
        }
    }

    fn add_property(&mut self, it: &ObjectPropertyKind<'_>) {
        if let ObjectPropertyKind::ObjectProperty(it) = it
            && let Some(key) = plain_key(it)
        {
            self.add(&key, &it.value);
        }
    }
}

/// Returns the key of a named property. `__proto__` is not a property but a command.
fn plain_key(it: &ObjectProperty<'_>) -> Option<String> {
    let is_plain = it.kind == PropertyKind::Init && !it.computed && !it.method;
    let key = it.key.static_name().filter(|key| key != "__proto__")?;
    is_plain.then(|| key.into_owned())
}
