//! The many ways to write one URI or path: a rule must hold for every spelling of a name.
//!
//! Servers read names in their own ways: decoded once or twice, in lower case, with a backslash for a
//! slash, without the part behind a `;`. The gateway does not know which of these a server does, so
//! a name is denied if any reading of it is.

use std::collections::BTreeSet;

use kitbag_domain::text::strip_invisible;
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

/// A name that is encoded more often than this counts as an attempt to hide it. Honest names are
/// encoded once, or twice by mistake.
const MAX_ENCODINGS: usize = 8;

/// In bytes; longer than any URI of honest use. The time that reading in every way takes grows with
/// the length.
const MAX_LENGTH: usize = 8 * 1024;

/// The ways in which a server may read a name.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// In lower case, and in the same form as [`pattern`] gives.
    pub(crate) forms: BTreeSet<String>,
    /// The reason why no rule can be compared with the name.
    pub(crate) evasion: Option<Evasion>,
    /// The name is written in the one way that needs no decoding.
    pub(crate) is_plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evasion {
    DotSegments,
    EncodedOverAndOver,
    TooLong,
}

impl Readings {
    pub(crate) fn of(name: &str) -> Self {
        if name.len() > MAX_LENGTH {
            return Self {
                evasion: Some(Evasion::TooLong),
                ..Self::default()
            };
        }
        let (decoded, is_settled) = decoded(name, |_| true);
        // Bytes that are no text may become text in the decoding of a server.
        let is_text = !decoded.contains(char::REPLACEMENT_CHARACTER);
        let evasion = if climbs(name) || climbs(&decoded) {
            Some(Evasion::DotSegments)
        } else if is_settled && is_text {
            None
        } else {
            Some(Evasion::EncodedOverAndOver)
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
    forms.iter().map(|form| single_slashes(form)).collect()
}

/// Returns a pattern in the form that readings have. `*`, `?`, `[…]` and `{…}` keep their meaning.
pub(crate) fn pattern(text: &str) -> String {
    single_slashes(&decoded(text, |byte| !b"*?[]{}\\!,%".contains(&byte)).0)
}

/// Decodes a text until nothing is left to decode, in lower case, with one spelling for each letter.
/// Returns true with it if that came to an end.
fn decoded(text: &str, decodes: impl Fn(u8) -> bool) -> (String, bool) {
    let mut reading = text.to_owned();
    for _ in 0..MAX_ENCODINGS {
        let next = folded(&decoded_once(&reading, &decodes));
        if next == reading {
            return (reading, true);
        }
        reading = next;
    }
    (reading, false)
}

fn decoded_once(text: &str, decodes: impl Fn(u8) -> bool) -> String {
    // An escape that stays is doubled for a moment, so that decoding gives it back.
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

/// Readers of URLs drop tabs and line breaks wherever they stand, and spaces around the whole.
fn folded(text: &str) -> String {
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

/// True if a step of the path is `.` or `..` for some server.
fn climbs(text: &str) -> bool {
    text.split(['/', '\\']).any(is_dot_segment)
}

fn is_dot_segment(step: &str) -> bool {
    let name = step.split([';', '?', '#']).next().unwrap_or_default();
    matches!(name.trim(), "." | "..")
}

/// Writes `scheme://user@host:port/…` as `scheme://host/…`, however many slashes there are. The host
/// of a file is this machine, named or not.
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

/// Some servers drop the part behind a `;` in each step of the path.
fn without_parameters(uri: &str) -> String {
    let steps = uri
        .split('/')
        .map(|step| step.split(';').next().unwrap_or_default());
    steps.collect::<Vec<_>>().join("/")
}

/// Writes one slash for many, behind the scheme as well, and none at the end.
fn single_slashes(text: &str) -> String {
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
        let readings = Readings::of(spelling);
        assert!(readings.forms.contains(form), "{spelling}: {readings:?}");
        assert_eq!(readings.evasion, None, "{spelling}");
    }

    #[test]
    fn every_spelling_has_the_plain_one_among_its_readings() {
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
    fn dot_segments_are_found_however_they_are_written() {
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
                Readings::of(spelling).evasion,
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
            assert_eq!(Readings::of(spelling).evasion, None, "{spelling}");
        }
        let wrapped = (0..20).fold("%41".to_owned(), |text, _| text.replace('%', "%25"));
        assert_eq!(
            Readings::of(&wrapped).evasion,
            Some(Evasion::EncodedOverAndOver)
        );
        assert_eq!(
            Readings::of(&"x".repeat(MAX_LENGTH + 1)).evasion,
            Some(Evasion::TooLong)
        );
    }

    #[test]
    fn the_signs_of_a_pattern_keep_their_meaning() {
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
            assert_eq!(pattern(text), expected);
        }
    }
}
