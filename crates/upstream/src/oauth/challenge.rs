//! `WWW-Authenticate`: the header in which a server that rejected a request describes the login.

use http::header::{HeaderMap, WWW_AUTHENTICATE};

use super::scopes::Scopes;

/// The `Bearer` challenge; other schemes are not supported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The URL of the server's metadata, as sent.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request would have needed.
    pub(crate) scopes: Scopes,
    pub(crate) error: Option<String>,
}

impl Challenge {
    pub(crate) const INSUFFICIENT_SCOPE: &str = "insufficient_scope";

    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let lines = headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|line| line.to_str().ok());
        lines
            .flat_map(parse_challenges)
            .find(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"))
            .map(Self::from_raw)
    }

    pub(crate) fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some(Self::INSUFFICIENT_SCOPE)
    }

    fn from_raw(raw: RawChallenge) -> Self {
        let mut challenge = Self::default();
        for (name, value) in raw.parameters {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = value.into(),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
        challenge
    }
}

struct RawChallenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

/// Parses the challenges of one header line. Schemes and their parameters are both separated by
/// commas, so only the `=` after a word distinguishes them.
fn parse_challenges(line: &str) -> Vec<RawChallenge> {
    let mut found: Vec<RawChallenge> = Vec::new();
    let mut rest = line.trim_start_matches(SEPARATORS);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_token(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let value = after.trim_start().strip_prefix('=').map(str::trim_start);
        rest = match (value, found.last_mut()) {
            (Some(value), Some(challenge)) if !word.is_empty() => {
                let (value, after) = parse_value(value);
                challenge.parameters.push((word.to_owned(), value));
                after
            }
            // A stray token, such as the credentials of another scheme.
            _ if word.is_empty() => after.get(char_length(after)..).unwrap_or_default(),
            _ => {
                found.push(RawChallenge {
                    scheme: word.to_owned(),
                    parameters: Vec::new(),
                });
                after
            }
        }
        .trim_start_matches(SEPARATORS);
    }
    found
}

/// Returns a value, quoted or not, and the text that follows it.
fn parse_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (value, "")
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

fn char_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

const SEPARATORS: [char; 3] = [',', ' ', '\t'];

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Option<(Option<&str>, &str, Option<&str>)>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
        }
        let found = Challenge::from_headers(&headers);
        let found = found.map(|it| (it.resource_metadata, it.scopes.to_string(), it.error));
        let expected = expected.map(|(metadata, scopes, error)| {
            (
                metadata.map(str::to_owned),
                scopes.to_owned(),
                error.map(str::to_owned),
            )
        });
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        check(&[], None);
        check(&["Basic realm=\"x\", charset=\"UTF-8\""], None);
        check(&["Bearer"], Some((None, "", None)));
        check(
            &[
                "Negotiate a87421000492aa874209af8bc028==, bearer Scope = \"b a\",resource_metadata=https://a/x",
            ],
            Some((Some("https://a/x"), "a b", None)),
        );
        check(
            &[
                "Basic realm=\"a, Bearer scope=no\"",
                "Bearer error=\"insufficient_scope\", scope=\"files:write\"",
            ],
            Some((None, "files:write", Some("insufficient_scope"))),
        );
        check(
            &[r#"Bearer error="a\"b", realm="#],
            Some((None, "", Some("a\"b"))),
        );
        check(&["Bearer scope=\"open"], Some((None, "open", None)));
    }
}
