//! One authorization request: the URL for the browser, and the answer.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::authority::Authority;
use super::client::OauthClient;
use super::error::LoginError;
use super::redirect::own_path;
use super::scopes::Scopes;
use super::secret_text::SecretText;

#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) url: Url,
    pub(crate) verifier: SecretText,
    state: String,
    issuer: String,
    /// True if the authorization server promised to name its issuer in an answer.
    names_issuer: bool,
    /// The path of the redirect URI, if no other authorization server has it.
    own_path: Option<String>,
}

impl AuthorizationRequest {
    pub(crate) fn new(
        authority: &Authority,
        client: &OauthClient,
        redirect: &Url,
        scopes: &Scopes,
    ) -> Result<Self, LoginError> {
        let metadata = &authority.metadata;
        let issuer = metadata.issuer.clone();
        let Some(endpoint) = &metadata.authorization_endpoint else {
            return Err(LoginError::NoBrowser { issuer });
        };
        if !metadata.supports_s256() {
            return Err(LoginError::NoPkce { issuer });
        }
        let (verifier, state) = (random_token(), random_token());
        let mut url = endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect.as_str())
            .append_pair("state", &state)
            .append_pair("code_challenge", &pkce_challenge(&verifier))
            .append_pair("code_challenge_method", "S256");
        if !authority.resource.is_empty() {
            url.query_pairs_mut()
                .append_pair("resource", &authority.resource);
        }
        append_scopes(&mut url, scopes);
        let names_issuer = metadata.authorization_response_iss_parameter_supported;
        Ok(Self {
            url,
            verifier: SecretText::new(verifier),
            state,
            issuer,
            names_issuer,
            own_path: own_path(redirect).map(str::to_owned),
        })
    }

    /// Returns the code in the answer: the URL that the browser was sent to, or pasted text, which
    /// may be the bare code.
    pub(crate) fn parse_code(&self, answer: &str) -> Result<SecretText, LoginError> {
        let answer = answer.trim();
        let query = answer.split_once('?').map_or(answer, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        if !answer.is_empty() && !answer.contains(['=', '?', '/']) {
            // The user who pastes a code knows where it comes from, unless the authorization server
            // is recognised by its name or its redirect URI.
            self.check_issuer(None)?;
            self.check_path("")?;
            return Ok(SecretText::new(answer));
        }
        let fields: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        if find_field(&fields, "state") != Some(&self.state) {
            return Err(LoginError::OtherState);
        }
        self.check_issuer(find_field(&fields, "iss"))?;
        self.check_path(answer)?;
        if let Some(reason) = denial_reason(&fields) {
            return Err(LoginError::Denied { reason });
        }
        find_field(&fields, "code")
            .filter(|code| !code.is_empty())
            .map(SecretText::new)
            .ok_or(LoginError::NoCode)
    }

    /// Compares exactly: two spellings of one URL are two issuers. An authority without metadata
    /// cannot be compared.
    fn check_issuer(&self, found: Option<&str>) -> Result<(), LoginError> {
        match found {
            _ if self.issuer.is_empty() => Ok(()),
            Some(found) if found == self.issuer => Ok(()),
            None if !self.names_issuer => Ok(()),
            _ => {
                let (expected, found) = (self.issuer.clone(), found.map(str::to_owned));
                Err(LoginError::AnswerFrom { expected, found })
            }
        }
    }

    /// Rejects an answer at another authorization server's redirect URI, or without one.
    fn check_path(&self, answer: &str) -> Result<(), LoginError> {
        let (Some(own), expected) = (&self.own_path, self.issuer.clone()) else {
            return Ok(());
        };
        match path_of(answer) {
            path if path == own => Ok(()),
            path if path.starts_with('/') => Err(LoginError::OtherRedirect { expected }),
            _ => Err(LoginError::PartialAnswer { expected }),
        }
    }
}

/// Returns the path of a URL, with or without a host; text without a path if there is none.
fn path_of(answer: &str) -> &str {
    let address = answer.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => address,
    }
}

fn append_scopes(url: &mut Url, scopes: &Scopes) {
    let mut query = url.query_pairs_mut();
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.to_string());
    }
    if scopes.contains(super::OFFLINE_ACCESS) {
        // OpenID issues a refresh token only if the user was asked for consent.
        query.append_pair("prompt", "consent");
    }
}

fn find_field<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut fields = fields.iter();
    let (_, value) = fields.find(|(key, _)| key == name)?;
    Some(value)
}

/// Returns the reason why the authorization server refused, if it did.
fn denial_reason(fields: &[(String, String)]) -> Option<String> {
    let error = find_field(fields, "error")?;
    Some(match find_field(fields, "error_description") {
        Some(description) => format!("{error} ({description})"),
        None => error.to_owned(),
    })
}

fn pkce_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// Returns 256 random bits as text.
fn random_token() -> String {
    let mut bytes = [0u8; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system provides randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_one_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            pkce_challenge(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    fn request(names_issuer: bool) -> AuthorizationRequest {
        AuthorizationRequest {
            url: "https://a.example/authorize".parse().unwrap(),
            verifier: SecretText::new("v"),
            state: "s1".to_owned(),
            issuer: "https://a.example".to_owned(),
            names_issuer,
            own_path: None,
        }
    }

    #[track_caller]
    fn check(names_issuer: bool, answer: &str, expected: Result<&str, &str>) {
        let found = request(names_issuer)
            .parse_code(answer)
            .map_err(|error| error.to_string());
        assert_eq!(
            found
                .as_ref()
                .map(SecretText::reveal)
                .map_err(String::as_str),
            expected,
            "{answer}"
        );
    }

    #[test]
    fn only_an_answer_to_this_request_from_its_issuer_gives_a_code() {
        const FOREIGN: Result<&str, &str> = Err("the answer does not belong to this login");
        check(
            false,
            "http://127.0.0.1:1/callback?code=c1&state=s1",
            Ok("c1"),
        );
        check(false, "code=c%2F1&state=s1#_", Ok("c/1"));
        check(
            true,
            "/callback?code=c1&state=s1&iss=https%3A%2F%2Fa.example",
            Ok("c1"),
        );
        check(false, "/callback?code=c1&state=s2", FOREIGN);
        check(false, "/callback?code=c1", FOREIGN);
        check(false, "/callback?state=s1", Err("the answer has no code"));
        check(false, "", FOREIGN);
    }

    #[test]
    fn the_issuer_is_compared_exactly_and_before_anything_is_shown() {
        let other =
            "the answer should come from `https://a.example` but is from `https://a.example/`";
        let none = "the answer should come from `https://a.example` but does not name its sender";
        check(true, "/callback?code=c1&state=s1", Err(none));
        check(
            true,
            "/callback?code=c1&state=s1&iss=https://a.example/",
            Err(other),
        );
        check(
            false,
            "/callback?code=c1&state=s1&iss=https://a.example/",
            Err(other),
        );
        check(
            false,
            "/callback?error=evil&state=s1&iss=https://a.example/",
            Err(other),
        );
        let denied = "the authorization server refused: access_denied (the person said no)";
        check(
            false,
            "/callback?error=access_denied&error_description=the+person+said+no&state=s1",
            Err(denied),
        );
    }

    #[test]
    fn an_answer_at_another_redirect_uri_than_the_own_one_gives_no_code() {
        let request = AuthorizationRequest {
            own_path: Some("/callback/own".to_owned()),
            ..request(false)
        };
        for (answer, expected) in [
            ("http://127.0.0.1:1/callback/own?code=c1&state=s1", "c1"),
            ("/callback/own?code=c1&state=s1", "c1"),
            (
                "http://127.0.0.1:1/callback/x?code=c1&state=s1",
                "redirect URI of another",
            ),
            ("/callback?code=c1&state=s1", "redirect URI of another"),
            ("/callback/own/?code=c1&state=s1", "redirect URI of another"),
            (
                "/x?code=c1&state=s1#/callback/own",
                "redirect URI of another",
            ),
            ("code=c1&state=s1", "the answer is incomplete"),
            ("c1", "the answer is incomplete"),
        ] {
            let found = match request.parse_code(answer) {
                Ok(code) => code.reveal().to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(found.contains(expected), "{answer}: {found}");
        }
    }

    #[test]
    fn a_bare_code_is_taken_unless_the_authorization_server_promised_to_name_itself() {
        check(false, " c1-x_2 \n", Ok("c1-x_2"));
        let none = "the answer should come from `https://a.example` but does not name its sender";
        check(true, "c1", Err(none));
    }
}
