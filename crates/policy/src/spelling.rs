//! The different spellings of a URI or path: a rule must apply to every spelling of a name.
//!
//! Servers interpret names differently: decoded once or twice, in lower case, with a backslash for
//! a slash, without the part after a `;`. The gateway does not know which of these a server does,
//! so a name is denied if any reading of it is.

use std::collections::BTreeSet;

use kitbag_domain::text::strip_invisible;
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

/// A name with more layers of encoding counts as an attempt to hide it. Legitimate names are
/// encoded once, or twice by mistake.
const MAX_ENCODINGS: usize = 8;

/// In bytes; longer than any legitimate URI. The time to compute all readings grows with the
/// length.
const MAX_LENGTH: usize = 8 * 1024;

/// The readings of a name, as servers may interpret it.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// In lower case, and in the form that [`fold_wildcards`] returns.
    pub(crate) forms: BTreeSet<String>,
    /// The reason why no rule can be compared with the name.
    pub(crate) evasion: Option<Evasion>,
    /// True if the name is written in the one spelling that needs no decoding.
    pub(crate) is_plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evasion {
    DotSegments,
    RepeatedEncoding,
    TooLong,
}

impl Readings {
    pub(crate) fn from_name(name: &str) -> Self {
        if name.len() > MAX_LENGTH {
            return Self {
                evasion: Some(Evasion::TooLong),
                ..Self::default()
            };
        }
        let (decoded, is_fully_decoded) = decode_repeatedly(name, |_| true);
        // Bytes that are not text may become text when a server decodes them.
        let is_text = !decoded.contains(char::REPLACEMENT_CHARACTER);
        let evasion = if has_dot_segment(name) || has_dot_segment(&decoded) {
            Some(Evasion::DotSegments)
        } else if is_fully_decoded && is_text {
            None
        } else {
            Some(Evasion::RepeatedEncoding)
        };
        Self {
            is_plain: decoded == name.to_lowercase() && !name.contains(['\\', ';', '%']),
            forms: forms(&decoded),
            evasion,
        }
    }
}

/// Returns a decoded name with and without each of the parts that some servers drop.
fn forms(decoded: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([decoded.replace('\\', "/")]);
    for shorten in [without_parameters, without_query, without_authority_details] {
        let shortened: Vec<String> = forms.iter().map(|form| shorten(form)).collect();
        forms.extend(shortened);
    }
    forms.iter().map(|form| collapse_slashes(form)).collect()
}

/// Folds a pattern like the readings. `*`, `?`, `[…]` and `{…}` keep their meaning.
pub(crate) fn fold_wildcards(text: &str) -> String {
    collapse_slashes(&decode_repeatedly(text, |byte| !b"*?[]{}\\!,%".contains(&byte)).0)
}

/// Decodes a text repeatedly, in lower case, with one spelling for each letter. Returns true with
/// it if nothing is left to decode.
fn decode_repeatedly(text: &str, decodes: impl Fn(u8) -> bool) -> (String, bool) {
    let mut reading = text.to_owned();
    for _ in 0..MAX_ENCODINGS {
        let next = fold_characters(&decode_once(&reading, &decodes));
        if next == reading {
            return (reading, true);
        }
        reading = next;
    }
    (reading, false)
}

fn decode_once(text: &str, decodes: impl Fn(u8) -> bool) -> String {
    // An escape that stays is doubled temporarily, so that decoding restores it.
    let mut doubled = String::with_capacity(text.len());
    for (number, piece) in text.split('%').enumerate() {
        let escaped = u8::from_str_radix(piece.get(..2).unwrap_or_default(), 16);
        match number {
            0 => {}
            _ if escaped.is_ok_and(|byte| !decodes(byte)) => doubled.push_str("%25"),
            _ => doubled.push('%'),
        }
        doubled.push_str(piece);
    }
    percent_decode_str(&doubled)
        .decode_utf8_lossy()
        .into_owned()
}

/// URL parsers drop tabs and line breaks anywhere, and spaces at both ends.
fn fold_characters(text: &str) -> String {
    let kept: String = strip_invisible(text)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    kept.trim()
        .nfkc()
        .collect::<String>()
        .to_lowercase()
        .nfkc()
        .collect()
}

/// True if a segment of the path is `.` or `..` for some server.
fn has_dot_segment(text: &str) -> bool {
    text.split(['/', '\\']).any(is_dot_segment)
}

fn is_dot_segment(segment: &str) -> bool {
    let name = segment.split([';', '?', '#']).next().unwrap_or_default();
    matches!(name.trim(), "." | "..")
}

/// Normalizes `scheme://user@host:port/…` to `scheme://host/…`, with any number of slashes. The
/// host of a file is this machine, named or not.
fn without_authority_details(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return uri.to_owned();
    };
    let rest = rest.trim_start_matches('/');
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = match host(authority) {
        "localhost" if scheme == "file" => "",
        host => host.trim_end_matches('.'),
    };
    format!("{scheme}://{host}{tail}")
}

fn is_scheme(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Returns an authority without its user and its port.
fn host(authority: &str) -> &str {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
        _ => host,
    }
}

fn without_query(uri: &str) -> String {
    uri.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Some servers drop the part after a `;` in each segment of the path.
fn without_parameters(uri: &str) -> String {
    let steps = uri
        .split('/')
        .map(|step| step.split(';').next().unwrap_or_default());
    steps.collect::<Vec<_>>().join("/")
}

/// Replaces repeated slashes by one, after the scheme as well, and drops those at the end.
fn collapse_slashes(text: &str) -> String {
    let mut single = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '/' || !single.ends_with('/') {
            single.push(c);
        }
    }
    single.truncate(single.trim_end_matches('/').len());
    single
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spelling: &str, form: &str) {
        let readings = Readings::from_name(spelling);
        assert!(readings.forms.contains(form), "{spelling}: {readings:?}");
        assert_eq!(readings.evasion, None, "{spelling}");
    }

    #[test]
    fn every_spelling_has_the_plain_reading() {
        for spelling in [
            "mem://secret/payroll",
            "MEM://Secret/payroll",
            "mem://secret/%70ayroll",
            "mem://secret/%2570ayroll",
            "mem:%2f%2fsecret%2fpayroll",
            "mem:\\\\secret\\payroll",
            "mem:////secret//payroll/",
            "mem://secret/pay\troll\n",
            "mem://secret/pay\u{200b}roll",
            "mem://secret/ｐayroll",
            "mem://ann@secret:80/payroll?x=1#y",
            "mem://secret;a=b/payroll;c",
            " mem://secret/payroll ",
        ] {
            check(spelling, "mem:/secret/payroll");
        }
        check("file://localhost/etc/passwd", "file:/etc/passwd");
        check("GET /ADMIN/Users", "get /admin/users");
        check("mem://cafe\u{301}", "mem:/café");
        check("100%", "100%");
    }

    #[test]
    fn dot_segments_are_found_in_every_spelling() {
        for spelling in [
            "mem://public/../secret",
            "mem://public/..%2fsecret",
            "mem://public/%2e%2E/secret",
            "mem://public/%252e%252e%252fsecret",
            "mem://public\\..\\secret",
            "mem://public/.;x/secret",
            "mem://public/..",
            "mem://public/．．/secret",
            "mem://public/.\t./secret",
            "..",
            "mem://public/..?x",
        ] {
            assert_eq!(
                Readings::from_name(spelling).evasion,
                Some(Evasion::DotSegments),
                "{spelling}"
            );
        }
        for spelling in [
            "mem://a..b/...",
            "file:///.env",
            "mem://x/..secret",
            "x?range=1..2",
        ] {
            assert_eq!(Readings::from_name(spelling).evasion, None, "{spelling}");
        }
        let wrapped = (0..20).fold("%41".to_owned(), |text, _| text.replace('%', "%25"));
        assert_eq!(
            Readings::from_name(&wrapped).evasion,
            Some(Evasion::RepeatedEncoding)
        );
        assert_eq!(
            Readings::from_name(&"x".repeat(MAX_LENGTH + 1)).evasion,
            Some(Evasion::TooLong)
        );
    }

    #[test]
    fn special_characters_of_a_pattern_keep_their_meaning() {
        for (text, expected) in [
            ("MEM://Secret/*", "mem:/secret/*"),
            (
                "mem://my%20files/{a,b}/[A-C]?",
                "mem:/my files/{a,b}/[a-c]?",
            ),
            ("mem://%2A/x%5B", "mem:/%2a/x%5b"),
            ("* /Admin*", "* /admin*"),
            ("100%*", "100%*"),
        ] {
            assert_eq!(fold_wildcards(text), expected);
        }
    }
}
