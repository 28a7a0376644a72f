//! The kinds of content, and decoding text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MediaKind {
    Html,
    Text,
    Pdf,
    Other,
}

impl MediaKind {
    pub(super) fn detect(media_type: &str, body: &[u8]) -> Self {
        match media_type {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "application/pdf" => Self::Pdf,
            "" => Self::sniff(body),
            other if is_text(other) => Self::Text,
            _ => Self::Other,
        }
    }

    /// Detects the type of content if the site does not name it.
    fn sniff(body: &[u8]) -> Self {
        let start = String::from_utf8_lossy(&body[..body.len().min(512)]).to_ascii_lowercase();
        let start = start.trim_start();
        if start.starts_with("%pdf-") {
            Self::Pdf
        } else if start.starts_with("<!doctype html") || start.starts_with("<html") {
            Self::Html
        } else if std::str::from_utf8(body).is_ok_and(|text| !text.contains('\0')) {
            Self::Text
        } else {
            Self::Other
        }
    }
}

fn is_text(media_type: &str) -> bool {
    const TEXTS: [&str; 8] = [
        "application/json",
        "application/ld+json",
        "application/xml",
        "application/javascript",
        "application/ecmascript",
        "application/yaml",
        "application/toml",
        "application/x-ndjson",
    ];
    media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
        || TEXTS.contains(&media_type)
}

/// Returns the type in lower case and without parameters.
pub(super) fn parse_media_type(content_type: &str) -> String {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

/// Returns the value of `charset`, which HTML may also have in a `<meta>`.
pub(super) fn parse_charset(text: &str) -> Option<String> {
    // Lowercasing may change the length of text, but not its ASCII letters.
    let start = text.to_ascii_lowercase().find("charset")? + "charset".len();
    let value = text.get(start..)?.trim_start().strip_prefix('=')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| c.is_whitespace() || "\"';,>/".contains(c));
    let label = &value[..end.unwrap_or(value.len())];
    (!label.is_empty()).then(|| label.to_owned())
}

/// Decodes text in the encoding named by its first bytes, the site or the page, in this order.
pub(super) fn decode_text(body: &[u8], charset: Option<&str>) -> String {
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named
        .or_else(|| meta_encoding(body))
        .unwrap_or_else(|| fallback_encoding(body));
    // A byte order mark takes precedence.
    encoding.decode(body).0.into_owned()
}

/// The limit of browsers.
const META_WITHIN: usize = 1024;

fn meta_encoding(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(META_WITHIN)]);
    let label = start.split("<meta").skip(1).find_map(parse_tag_charset)?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page whose `<meta>` could be read byte by byte is not in UTF-16.
    Some(if encoding.is_ascii_compatible() {
        encoding
    } else {
        UTF_8
    })
}

fn parse_tag_charset(after_name: &str) -> Option<String> {
    parse_charset(after_name.split('>').next()?)
}

/// Pages that name no encoding are in UTF-8, or old.
fn fallback_encoding(body: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, body: &[u8], expected: &str) {
        let found = decode_text(body, parse_charset(header).as_deref());
        assert!(found.ends_with(expected), "{header} {body:?}: {found}");
    }

    #[test]
    fn text_is_read_in_the_encoding_of_its_mark_its_header_or_its_meta() {
        check("text/html; charset=ISO-8859-1", b"caf\xe9", "café");
        check("text/html; Charset=\"utf-8\"", "café".as_bytes(), "café");
        check("text/html", "café".as_bytes(), "café");
        check("text/html", b"caf\xe9", "café");
        check("text/html; charset=nonsense", b"caf\xe9", "café");
        check(
            "text/html; charset=latin1",
            b"\xef\xbb\xbfcaf\xc3\xa9",
            "café",
        );
        check("text/plain", b"\xff\xfeh\x00i\x00", "hi");
        check("", b"<meta charset=shift_jis>\x83e\x83X\x83g", "テスト");
        check(
            "",
            b"<meta name=a><meta http-equiv=x content='text/html; charset=koi8-r'>\xd0\xd2",
            "пр",
        );
        check("", b"<meta charset=utf-16>caf\xc3\xa9", "café");
    }

    #[test]
    fn the_kind_of_content_is_taken_from_its_type_or_seen_in_it() {
        for (media_type, body, expected) in [
            ("text/html", "", MediaKind::Html),
            ("application/json", "", MediaKind::Text),
            ("application/problem+json", "", MediaKind::Text),
            ("image/svg+xml", "", MediaKind::Text),
            ("application/pdf", "", MediaKind::Pdf),
            ("image/png", "", MediaKind::Other),
            ("application/octet-stream", "", MediaKind::Other),
            ("", " <!DOCTYPE html><p>", MediaKind::Html),
            ("", "%PDF-1.7", MediaKind::Pdf),
            ("", "words", MediaKind::Text),
            ("", "\0\u{1}", MediaKind::Other),
        ] {
            let found = MediaKind::detect(media_type, body.as_bytes());
            assert_eq!(found, expected, "{media_type} {body}");
        }
    }
}
