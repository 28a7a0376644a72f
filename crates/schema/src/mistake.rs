//! Visits the mistakes that the validator finds in a value. If a value may have several forms,
//! visits the mistakes in the form that was meant.

use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::compile::Compiled;
use super::meant::meant_names;
use super::pointer::escape;

/// Larger values are only searched for the first mistake: the validator collects all of them before
/// it reports the first.
const MAX_THOROUGH: usize = 256 * 1024;

/// A mistake, with its position in the value and the part of the schema that it violates.
pub(super) struct LocatedMistake<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
    pub(super) part: Option<&'a Value>,
    /// The properties of the whole schema, if the mistake is in the outermost value. A form often
    /// lists required names, and leaves their definition to the schema around it.
    around: Option<&'a Value>,
    /// True if no other part of the schema names further members of this value.
    pub(super) knows_all_names: bool,
}

/// The function that receives each mistake, and its kind.
pub(super) type Visitor<'a> = dyn FnMut(&LocatedMistake<'_>, &Kind) + 'a;

/// The mistakes in one of several forms.
type FormErrors = Vec<ValidationError<'static>>;

/// Passes every mistake in a value to `visit`.
pub(super) fn each(compiled: &Compiled, value: &Value, bytes: usize, visit: &mut Visitor<'_>) {
    let validator = &compiled.validator;
    if compiled.accepts(value) {
        return;
    }
    if bytes > MAX_THOROUGH {
        let first = validator.validate(value).err();
        first
            .iter()
            .for_each(|error| visit_error(compiled, error, visit));
    } else {
        let errors = validator.iter_errors(value);
        errors.for_each(|error| visit_error(compiled, &error, visit));
    }
}

/// Passes on one error, or the errors inside the form that was meant.
pub(super) fn visit_error(
    compiled: &Compiled,
    error: &ValidationError<'_>,
    visit: &mut Visitor<'_>,
) {
    let mistake = LocatedMistake::new(compiled, error);
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match nearest_form(&mistake.path, context) {
                Some(form) => form
                    .iter()
                    .for_each(|error| visit_error(compiled, error, visit)),
                None => visit(&mistake, error.kind()),
            }
        }
        kind if is_incomplete(kind) => {}
        Kind::Type { .. } | Kind::Enum { .. } if mistake.is_permitted_null() => {}
        kind => visit(&mistake, kind),
    }
}

/// True if a check could not be completed, which is not the caller's mistake.
fn is_incomplete(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::BacktrackLimitExceeded { .. }
            | Kind::RegexEngineFailure { .. }
            | Kind::ContentEncoding { .. }
            | Kind::ContentMediaType { .. }
            | Kind::FromUtf8 { .. }
            | Kind::Format { .. }
            | Kind::Custom { .. }
            | Kind::Referencing(_)
    )
}

/// Returns the form that the value was probably meant to have: the only one with the fewest
/// mistakes, if it has the value's type.
fn nearest_form<'a>(here: &str, forms: &'a [FormErrors]) -> Option<&'a FormErrors> {
    let best = cheapest_form(here, forms)?;
    let least = cost(here, best);
    let as_good = forms.iter().filter(|form| cost(here, form) == least);
    (as_good.count() == 1).then_some(best)
}

/// Returns the first of the forms with the fewest mistakes, if one has the value's type.
pub(super) fn cheapest_form<'a>(here: &str, forms: &'a [FormErrors]) -> Option<&'a FormErrors> {
    let best = forms.iter().min_by_key(|form| cost(here, form))?;
    (cost(here, best) < ANOTHER_SORT).then_some(best)
}

/// The weight of a value of another type: more than all other mistakes of a form together.
const ANOTHER_SORT: usize = 1000;
/// The weight of a member that distinguishes forms: more than all of a form's other invalid members
/// together.
const ANOTHER_FORM: usize = 100;

/// Returns the distance of a value at this path from a form with these mistakes.
fn cost(here: &str, form: &FormErrors) -> usize {
    form.iter().map(|error| weight(here, error)).sum()
}

fn weight(here: &str, error: &ValidationError<'static>) -> usize {
    match error.kind() {
        Kind::Type { .. } if error.instance_path().as_str() == here => ANOTHER_SORT,
        Kind::Constant { .. } | Kind::Enum { .. } => ANOTHER_FORM,
        _ => 1,
    }
}

impl<'a> LocatedMistake<'a> {
    fn new(compiled: &'a Compiled, error: &'a ValidationError<'_>) -> Self {
        let keyword = error.schema_path().as_str();
        let part = keyword.rsplit_once('/').map_or("", |(part, _)| part);
        let part = compiled.schema.pointer(part);
        let path = error.instance_path().as_str().to_owned();
        let is_outermost = path.is_empty();
        Self {
            path,
            value: error.instance().as_ref(),
            part,
            around: compiled.schema.get("properties").filter(|_| is_outermost),
            knows_all_names: !is_combined(error.evaluation_path().as_str())
                && part.is_some_and(names_all),
        }
    }

    /// True if the value is null and permitted by OpenAPI's `nullable`, which JSON Schema does not
    /// have.
    fn is_permitted_null(&self) -> bool {
        let nullable = self.part.and_then(|part| part.get("nullable"));
        self.value.is_null() && nullable == Some(&Value::Bool(true))
    }

    /// Returns the part of the schema for the member with this name.
    pub(super) fn property(&self, name: &str) -> Option<&'a Value> {
        let own = self.part.and_then(|part| part.get("properties")?.get(name));
        own.or_else(|| self.around?.get(name))
    }

    /// Returns the name under which the caller probably sent the missing member.
    pub(super) fn sent_for(&self, root: &Value, name: &str) -> Option<&'a str> {
        let pairs = meant_names(self, root).into_iter();
        pairs
            .filter(|pair| pair.meant == name)
            .map(|pair| pair.sent)
            .next()
    }

    /// Returns the names of the members that the schema describes or requires.
    pub(super) fn known_names(&self) -> Vec<&'a str> {
        let own = names(self.part.and_then(|part| part.get("properties")));
        let mut known: Vec<&str> = own.chain(names(self.around)).collect();
        known.extend(self.required_names());
        let mut seen = HashSet::new();
        known.retain(|name| seen.insert(*name));
        known
    }

    /// Returns the names of the members that the schema requires.
    pub(super) fn required_names(&self) -> impl Iterator<Item = &'a str> {
        let required = self.part.and_then(|part| part.get("required")?.as_array());
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the path of a member.
    pub(super) fn member_path(&self, name: &str) -> String {
        format!("{}/{}", self.path, escape(name))
    }
}

/// True if the part of the schema at this path applies together with others, or instead of others.
fn is_combined(evaluation_path: &str) -> bool {
    let mut steps = evaluation_path.split('/');
    steps.any(|step| COMBINING.contains(&step))
}

/// True if a part of a schema lists its members, and no other part adds to them.
fn names_all(part: &Value) -> bool {
    let combines = COMBINING.iter().any(|key| part.get(*key).is_some());
    part.get("properties").is_some() && !combines
}

const COMBINING: [&str; 7] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
];

fn names(object: Option<&Value>) -> impl Iterator<Item = &str> {
    let members = object.and_then(Value::as_object).into_iter().flatten();
    members.map(|(name, _)| name.as_str())
}
