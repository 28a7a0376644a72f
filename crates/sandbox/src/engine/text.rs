//! Converts a program's text to Rust text.

use rquickjs::{Ctx, Error, Result, String as JsString};

/// Returns the text; lone halves of surrogate pairs, which JavaScript allows, become `\u{fffd}`.
pub(crate) fn text<'js>(ctx: &Ctx<'js>, string: &JsString<'js>) -> Result<String> {
    match string.to_string() {
        Err(Error::Utf8(_)) => replace_lone_halves(ctx, string),
        Err(Error::Unknown) => Err(Error::Exception),
        other => other,
    }
}

/// JSON writes a lone half as an escape, the only kind of escape that begins with `\ud`.
fn replace_lone_halves<'js>(ctx: &Ctx<'js>, string: &JsString<'js>) -> Result<String> {
    let json = ctx.json_stringify(string.clone())?.ok_or(Error::Unknown)?;
    let whole = without_halves(&json.to_string()?);
    serde_json::from_str(&whole).map_err(|_| Error::Unknown)
}

fn without_halves(json: &str) -> String {
    let mut rest = json;
    let mut whole = String::with_capacity(json.len());
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let (written, length) = if escape.starts_with("\\ud") {
            ("\u{fffd}", 6)
        } else {
            (&escape[..2], 2)
        };
        whole.push_str(written);
        rest = &escape[length..];
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_of_a_pair_is_replaced_and_other_escapes_stay() {
        let json = r#""a\ud83d b\\ud83d \n \udc00""#;
        assert_eq!(
            without_halves(json),
            "\"a\u{fffd} b\\\\ud83d \\n \u{fffd}\""
        );
    }
}
