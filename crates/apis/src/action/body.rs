//! The body of a request, in the form that the action declares.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use kitbag_tool_spec::{BodyPattern, FillValues, to_fields};
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::{ActionFault, multipart};
use crate::request::PendingBody;

/// Returns the body; `None` if the pattern has no value for it.
pub(super) fn fill_body(
    pattern: &BodyPattern,
    values: &FillValues<'_>,
) -> Result<Option<PendingBody>, ActionFault> {
    let body = match pattern {
        BodyPattern::Json(json) => json
            .fill(values)
            .map(|json| PendingBody::json(json.to_string())),
        BodyPattern::Form(form) => form
            .fill(values)
            .map(|form| encoded_form(&into_members(form))),
        BodyPattern::Multipart(parts) => match parts.fill(values) {
            Some(parts) => Some(multipart::encode_multipart(&into_members(parts))?),
            None => None,
        },
        BodyPattern::Bytes(text) => match text.fill(values) {
            Some(text) => Some(PendingBody::new(
                "application/octet-stream",
                decode_base64(&text)?,
            )),
            None => None,
        },
        BodyPattern::Text(text) => text
            .fill(values)
            .map(|text| PendingBody::new("text/plain; charset=utf-8", text)),
    };
    Ok(body)
}

fn into_members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn encoded_form(members: &Map<String, Value>) -> PendingBody {
    let mut form = Serializer::new(String::new());
    for (name, value) in members {
        form.extend_pairs(to_fields(name, value));
    }
    PendingBody::form(form.finish())
}

/// Decodes base64 as callers write it: with or without padding, and as a data URL.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, ActionFault> {
    let text = text.split_once(";base64,").map_or(text, |(_, data)| data);
    let text: String = text.split_whitespace().collect();
    let bytes = PLAIN.decode(&text).or_else(|_| URL_SAFE.decode(&text));
    bytes.map_err(|_| ActionFault::Arguments {
        reason: "the bytes of its body are not base64".to_owned(),
    })
}

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
