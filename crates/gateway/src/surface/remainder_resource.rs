//! The remainder of a truncated result as a resource.

use std::sync::LazyLock;

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::json;

use crate::call::failure::Failure;
use crate::turn::Turn;
use crate::turn::view::View;

const SCHEME: &str = "kitbag://result/";

/// Serves `resources/read` of a remainder; `None` for any other resource.
pub(crate) fn read_remainder(turn: &Turn, params: &RawObject) -> Option<Result<Raw, Failure>> {
    let View::Merged(surface) = turn.view else {
        return None;
    };
    let uri: String = params.read("uri")?;
    let id = uri
        .strip_prefix(SCHEME)
        .filter(|_| surface.truncates_answers())?;
    let Some(pages) = turn
        .gateway
        .services
        .remainders
        .find(&turn.client.caller, id)
    else {
        return Some(Err(Failure::UnknownResource { uri }));
    };
    let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": pages.full_text() }]);
    Some(Ok(RawObject::new().with("contents", &contents).to_raw()))
}

/// Returns the template for the list of resources. Each remainder is only for its caller, so only
/// the pattern is listed.
pub(crate) fn remainder_template() -> &'static Raw {
    static TEMPLATE: LazyLock<Raw> = LazyLock::new(|| {
        raw(&json!({
            "uriTemplate": format!("{SCHEME}{{id}}"),
            "name": "result",
            "description": "The whole text of a truncated result, stored for an hour.",
            "mimeType": "text/plain",
        }))
    });
    &TEMPLATE
}
