//! The many ways to write one URI or path, brought together: a rule must hold however a name is spelt.
//!
//! Servers read names in their own ways: decoded once or twice, in lower case, with a backslash for a
//! slash, without what stands behind a `;`. Which of these a server does is not known here, so a
//! name is denied if any reading of it is.

use std::collections::BTreeSet;

use kitbag_domain::text::visible;
use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

/// How often a name may be encoded over and over before it counts as an attempt to hide it.
const MAX_ENCODINGS: usize = 8;

/// Longer than any URI that people write; reading one in every way takes its time.
const MAX_LENGTH: usize = 8 * 1024;

/// What a server may make of a name.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// In lower case, and in the same form as [`pattern`] gives.
    pub(crate) forms: BTreeSet<String>,
    /// Why no rule can be held against it.
    pub(crate) evasion: Option<Evasion>,
    /// It is written in the one way that needs no decoding.
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
        let dots = climbs(name) || climbs(&decoded);
        // Bytes that are no text may become some together with what others make of the rest.
        let is_text = !decoded.contains(char::REPLACEMENT_CHARACTER);
        let evasion = match (dots, is_settled && is_text) {
            (true, _) => Some(Evasion::DotSegments),
            (false, false) => Some(Evasion::EncodedOverAndOver),
            (false, true) => None,
        };
        let mut forms = BTreeSet::from([decoded.replace('\\', "/")]);
        for other in [without_parameters, without_query, without_authority_details] {
            let others: Vec<String> = forms.iter().map(|form| other(form)).collect();
            forms.extend(others);
        }
        let is_plain = decoded == name.to_lowercase() && !name.contains(['\\', ';', '%']);
        Self {
            forms: forms.iter().map(|form| single_slashes(form)).collect(),
            evasion,
            is_plain,
        }
    }
}

/// A pattern in the form that readings have. What it says with `*`, `?`, `[…]` and `{…}` it still says.
pub(crate) fn pattern(text: &str) -> String {
    single_slashes(&decoded(text, |byte| !b"*?[]{}\\!,%".contains(&byte)).0)
}

/// Decoded until nothing is left to decode, in lower case, with one spelling for each letter; and
/// whether that came to an end.
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
    let stays = |escape: &str| u8::from_str_radix(escape, 16).is_ok_and(|byte| !decodes(byte));
    // An escape that stays is doubled for a moment, so that decoding gives it back.
    let mut doubled = String::with_capacity(text.len());
    for (number, piece) in text.split('%').enumerate() {
        let escape = piece.get(..2).unwrap_or_default();
        match number {
            0 => {}
            _ if stays(escape) => doubled.push_str("%25"),
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
    let kept: String = visible(text).chars().filter(|c| !c.is_control()).collect();
    kept.trim()
        .nfkc()
        .collect::<String>()
        .to_lowercase()
        .nfkc()
        .collect()
}

/// Whether a step of it is `.` or `..`, in the eyes of some server.
fn climbs(text: &str) -> bool {
    let step = |step: &str| {
        matches!(
            step.split([';', '?', '#'])
                .next()
                .unwrap_or_default()
                .trim(),
            "." | ".."
        )
    };
    text.split(['/', '\\']).any(step)
}

/// `scheme://user@host:port/…` as `scheme://host/…`, however many slashes there are; a file's host is
/// this machine, named or not.
fn without_authority_details(uri: &str) -> String {
    let is_scheme = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let Some((scheme, rest)) = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return uri.to_owned();
    };
    let rest = rest.trim_start_matches('/');
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let port = |port: &str| port.chars().all(|c| c.is_ascii_digit());
    let host = host
        .rsplit_once(':')
        .filter(|(_, it)| port(it))
        .map_or(host, |(host, _)| host);
    let host = if scheme == "file" && host == "localhost" {
        ""
    } else {
        host.trim_end_matches('.')
    };
    format!("{scheme}://{host}{tail}")
}

fn without_query(uri: &str) -> String {
    uri.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Some servers take off what follows a `;` in a step of the path.
fn without_parameters(uri: &str) -> String {
    let steps = uri
        .split('/')
        .map(|step| step.split(';').next().unwrap_or_default());
    steps.collect::<Vec<_>>().join("/")
}

/// However many slashes stand together, behind the scheme as well, and none at the end.
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
    fn a_pattern_keeps_what_its_signs_mean() {
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
