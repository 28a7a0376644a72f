//! JSON pointers: the place that a reference means, and names as steps of a pointer.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Returns the pointer to the schema that a reference means, if that schema is inside this one.
/// Names given with `$anchor` or `$id` are so rare in tools that they count as elsewhere.
pub(super) fn target(schema: &Value, reference: &str) -> Option<String> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?);
    let pointer = pointer.decode_utf8().ok()?;
    let found = schema.pointer(&pointer)?;
    (found.is_object() || found.is_boolean()).then(|| pointer.into_owned())
}

/// Returns a name as a step of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the name that a step of a JSON pointer means.
pub(super) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
