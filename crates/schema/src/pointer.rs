//! JSON pointers: the target of a reference, and names as segments of a pointer.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Returns the pointer to a reference's target if it is inside this schema. Names from `$anchor` or
/// `$id` are so rare in tools that they count as external.
pub(super) fn target(schema: &Value, reference: &str) -> Option<String> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?);
    let pointer = pointer.decode_utf8().ok()?;
    let found = schema.pointer(&pointer)?;
    (found.is_object() || found.is_boolean()).then(|| pointer.into_owned())
}

/// Returns a name as a segment of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the name of a segment of a JSON pointer.
pub(super) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
