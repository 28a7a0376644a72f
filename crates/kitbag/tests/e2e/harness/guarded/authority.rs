//! The authorization server: approves every client that follows the protocol.

use std::collections::HashMap;

use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use url::Url;

use super::{House, fields};

#[derive(Debug, Default)]
pub(super) struct Authority {
    /// Access tokens, with their scopes and audience.
    pub(super) tokens: HashMap<String, (String, String)>,
    /// Single-use refresh tokens, with their scopes.
    pub(super) refresh: HashMap<String, String>,
    codes: HashMap<String, Code>,
    /// Device codes, with their scopes and whether a user has entered them.
    devices: HashMap<String, (String, bool)>,
    given_out: usize,
}

#[derive(Debug, Clone)]
struct Code {
    challenge: String,
    redirect: String,
    scopes: String,
    resource: String,
}

impl Authority {
    pub(super) fn scopes_for(&self, token: &str, base: &str) -> Option<String> {
        self.tokens
            .get(token)
            .filter(|(_, audience)| audience == base)
            .map(|(scopes, _)| scopes.clone())
    }

    fn name(&mut self, kind: &str) -> String {
        self.given_out += 1;
        format!("s3cret-{kind}-{}", self.given_out)
    }
}

pub(super) fn answer(
    house: &House,
    path: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<Response> {
    let query = fields(query.unwrap_or_default());
    let form = || fields(&String::from_utf8_lossy(body));
    Some(match path {
        "/.well-known/oauth-protected-resource" => documents(&json!({
            "resource": house.resource(),
            "authorization_servers": [house.base],
            "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => documents(&metadata(house)),
        "/register" => register(house, &serde_json::from_slice(body).unwrap()),
        "/authorize" => authorize(house, &query),
        "/token" => token(house, headers, &form()),
        "/device" => device(house, &form()),
        "/verify" => {
            let mut authority = house.authority();
            let (_, confirmed) = authority.devices.values_mut().next().unwrap();
            *confirmed = true;
            "thank you".into_response()
        }
        "/revoke" => {
            let revoked = &form()["token"];
            let mut authority = house.authority();
            house.saw(format!(
                "revoke {}",
                authority.refresh.remove(revoked).is_some()
            ));
            StatusCode::OK.into_response()
        }
        _ if path.starts_with("/.well-known/") => StatusCode::NOT_FOUND.into_response(),
        _ => return None,
    })
}

fn metadata(house: &House) -> Value {
    let (base, ways) = (&house.base, &house.ways);
    let mut metadata = json!({
        "issuer": ways.issuer.unwrap_or(base),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "revocation_endpoint": format!("{base}/revoke"),
        "authorization_response_iss_parameter_supported": ways.names_itself,
        "client_id_metadata_document_supported": ways.reads_documents,
    });
    if ways.pkce {
        metadata["code_challenge_methods_supported"] = json!(["S256"]);
    }
    if ways.registers {
        metadata["registration_endpoint"] = json!(format!("{base}/register"));
    }
    if ways.has_devices {
        metadata["device_authorization_endpoint"] = json!(format!("{base}/device"));
    }
    metadata
}

fn register(house: &House, asked: &Value) -> Response {
    house.saw(format!(
        "register {} {}",
        asked["client_name"], asked["application_type"]
    ));
    let client = json!({ "client_id": "registered", "redirect_uris": asked["redirect_uris"] });
    (StatusCode::CREATED, documents(&client)).into_response()
}

fn authorize(house: &House, asked: &HashMap<String, String>) -> Response {
    let field = |name: &str| asked.get(name).cloned().unwrap_or_default();
    house.saw(format!(
        "authorize {} for {}",
        field("client_id"),
        field("scope")
    ));
    assert_eq!(field("code_challenge_method"), "S256");
    let mut authority = house.authority();
    let name = authority.name("code");
    let code = Code {
        challenge: field("code_challenge"),
        redirect: field("redirect_uri"),
        scopes: field("scope"),
        resource: field("resource"),
    };
    let mut back = Url::parse(&code.redirect).unwrap();
    authority.codes.insert(name.clone(), code);
    back.query_pairs_mut()
        .append_pair("code", &name)
        .append_pair("state", &field("state"));
    match house.ways.answers_as.unwrap_or(&house.base) {
        "" => {}
        issuer => drop(back.query_pairs_mut().append_pair("iss", issuer)),
    }
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

fn token(house: &House, headers: &HeaderMap, asked: &HashMap<String, String>) -> Response {
    let field = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let grant = field("grant_type").rsplit(':').next().unwrap();
    house.saw(format!("token {grant}"));
    let refuse = |error: &str| {
        (
            StatusCode::BAD_REQUEST,
            documents(&json!({ "error": error })),
        )
            .into_response()
    };
    if house
        .ways
        .knows
        .is_some_and(|(id, secret)| !proves(headers, id, secret))
    {
        return refuse("invalid_client");
    }
    let mut authority = house.authority();
    let (scopes, resource) = match grant {
        "authorization_code" => match authority.codes.remove(field("code")) {
            Some(code)
                if code.redirect == field("redirect_uri")
                    && code.challenge == s256(field("code_verifier")) =>
            {
                (code.scopes, code.resource)
            }
            _ => return refuse("invalid_grant"),
        },
        "refresh_token" => match authority.refresh.remove(field("refresh_token")) {
            Some(scopes) => (scopes, field("resource").to_owned()),
            None => return refuse("invalid_grant"),
        },
        "device_code" => match authority.devices.get(field("device_code")) {
            Some((scopes, true)) => (scopes.clone(), field("resource").to_owned()),
            Some(_) => return refuse("authorization_pending"),
            None => return refuse("expired_token"),
        },
        "client_credentials" => (field("scope").to_owned(), field("resource").to_owned()),
        _ => return refuse("unsupported_grant_type"),
    };
    assert_eq!(
        resource,
        field("resource"),
        "both requests name the same resource"
    );
    let (access, refresh) = (authority.name("access"), authority.name("refresh"));
    let audience = house.ways.audience.map_or(resource, str::to_owned);
    authority
        .tokens
        .insert(access.clone(), (scopes.clone(), audience));
    authority.refresh.insert(refresh.clone(), scopes);
    documents(&json!({
        "access_token": access,
        "refresh_token": refresh,
        "token_type": "bearer",
        "expires_in": house.ways.lifetime,
    }))
}

fn device(house: &House, asked: &HashMap<String, String>) -> Response {
    let scopes = asked.get("scope").cloned().unwrap_or_default();
    house
        .authority()
        .devices
        .insert("s3cret-device".to_owned(), (scopes, false));
    documents(&json!({
        "device_code": "s3cret-device",
        "user_code": "KIT-BAG",
        "verification_uri": format!("{}/verify", house.base),
        "expires_in": 60,
        "interval": 0,
    }))
}

fn proves(headers: &HeaderMap, id: &str, secret: &str) -> bool {
    let expected = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    headers
        .get(header::AUTHORIZATION)
        .is_some_and(|it| it.as_bytes() == expected.as_bytes())
}

fn s256(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(aws_lc_rs::digest::digest(
        &aws_lc_rs::digest::SHA256,
        verifier.as_bytes(),
    ))
}

fn documents(value: &Value) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        value.to_string(),
    )
        .into_response()
}
