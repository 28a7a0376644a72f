//! Base64 images within a JSON answer.

use kitbag_tool_spec::AnswerRule;
use serde_json::Value;

use super::AnswerPart;

/// Extracts the images from the answer: in JSON a model would only read base64.
pub(super) fn take_images(rule: &AnswerRule, answer: &mut Value) -> Vec<AnswerPart> {
    let Some(found) = rule.image.as_ref().and_then(|at| at.find(answer)) else {
        return Vec::new();
    };
    let texts: Vec<&str> = match found {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        single => single.as_str().into_iter().collect(),
    };
    let images = texts.iter().map(|text| image_part(text, &rule.image_type));
    let images: Vec<AnswerPart> = images.collect();
    remove_images(rule, answer);
    images
}

fn remove_images(rule: &AnswerRule, answer: &mut Value) {
    let Some(pointer) = &rule.image else {
        return;
    };
    let way = pointer.as_str().rsplit_once('/').map_or("", |(way, _)| way);
    let (Some(name), Some(Value::Object(around))) = (pointer.last(), answer.pointer_mut(way))
    else {
        return;
    };
    around.shift_remove(&name);
}

/// An image may be a data URL, which names its type.
fn image_part(text: &str, media_type: &str) -> AnswerPart {
    let named = text
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let (media_type, base64) = named.unwrap_or((media_type, text));
    AnswerPart::Image {
        base64: base64.to_owned(),
        media_type: media_type.to_owned(),
    }
}
