//! Tokens: fetched once, cached until shortly before they expire, and refreshed.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::Response;
use futures::future::join_all;
use kitbag_tool_spec::{AuthScheme, OAuthGrant};
use serde_json::json;

use super::site::{Seen, Site, json_reply, reply};
use super::*;

/// Issues `token-1`, `token-2`, … for an hour, each with a new refresh token; the API accepts all
/// but those in `refused`.
async fn desk(refused: &'static [&'static str]) -> Site {
    let given = AtomicUsize::new(0);
    Site::open(move |_, seen| match seen.line.as_str() {
        "POST /token" => {
            let number = given.fetch_add(1, Ordering::Relaxed) + 1;
            json_reply(&json!({
                "access_token": format!("access-token-{number}"),
                "refresh_token": format!("refresh-token-{number}"),
                "expires_in": 3600,
            }))
        }
        _ => guarded(seen, refused),
    })
    .await
}

fn guarded(seen: &Seen, refused: &[&str]) -> Response<Body> {
    let token = seen.header("authorization").unwrap_or_default();
    match refused.iter().any(|refused| token.ends_with(refused)) {
        true => reply(401, &[], ""),
        false => json_reply(&json!({ "with": token })),
    }
}

fn bench(site: &Site, grant: OAuthGrant) -> Bench {
    let mut bench = Bench::at(site, |api| {
        api.auth = AuthScheme::OAuth2 {
            grant,
            token_url: "https://login.example/token".parse().unwrap(),
            scopes: vec!["read".to_owned(), "write".to_owned()],
        }
    });
    bench.credential = login("refresh-token-0");
    bench
}

fn login(refresh_token: &str) -> Credential {
    credential(&[
        ("client_id", "client&1"),
        ("client_secret", SECRET),
        ("refresh_token", refresh_token),
    ])
}

fn token_requests(site: &Site) -> Vec<String> {
    let seen = site.seen().into_iter();
    seen.filter(|seen| seen.line == "POST /token")
        .map(|seen| seen.body)
        .collect()
}

#[tokio::test]
async fn a_token_is_fetched_once_for_all_and_again_shortly_before_it_ends() {
    let site = desk(&[]).await;
    let bench = bench(&site, OAuthGrant::ClientCredentials);
    let action = get("/x");
    let calls = (0..8).map(|_| bench.call(&action, json!({})));
    for answer in join_all(calls).await {
        assert_eq!(read(&answer.unwrap()), json!({ "with": "•••" }));
    }
    let form = "grant_type=client_credentials&scope=read+write&client_id=client%261&client_secret=s3cret-value";
    assert_eq!(token_requests(&site), [form]);
    bench.time.pass(Duration::from_secs(3539));
    bench.call(&action, json!({})).await.unwrap();
    assert_eq!(token_requests(&site).len(), 1);
    bench.time.pass(Duration::from_secs(2));
    bench.call(&action, json!({})).await.unwrap();
    assert_eq!(
        token_requests(&site).len(),
        2,
        "a minute is left of the first"
    );
    let last = site.seen().pop().unwrap();
    assert_eq!(last.header("authorization"), Some("Bearer access-token-2"));
}

#[tokio::test]
async fn a_rejected_token_is_replaced_once_and_a_write_is_never_sent_twice() {
    let site = desk(&["access-token-1", "access-token-3", "access-token-4"]).await;
    let bench = bench(&site, OAuthGrant::ClientCredentials);
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!(answer.status, 200, "with the second token");
    bench.time.pass(Duration::from_secs(3600));
    let answer = bench.call(&write("/w"), json!({})).await.unwrap();
    assert_eq!((answer.status, answer.is_error), (401, true));
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!(answer.status, 200, "with the fifth token, after the fourth");
    let lines: Vec<String> = site.lines();
    let expected = [
        "POST /token",
        "GET /v1/x",
        "POST /token",
        "GET /v1/x",
        "POST /token",
        "GET /v1/w",
        "POST /token",
        "GET /v1/x",
        "POST /token",
        "GET /v1/x",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_new_refresh_token_is_returned_and_used_from_then_on() {
    let site = desk(&[]).await;
    let authorize_url = "https://login.example/".parse().unwrap();
    let mut bench = bench(&site, OAuthGrant::AuthorizationCode { authorize_url });
    let action = get("/x");
    bench.call(&action, json!({})).await.unwrap();
    bench.time.pass(Duration::from_secs(3600));
    // The caller's copy of the credential is still the old one.
    bench.call(&action, json!({})).await.unwrap();
    bench.credential = login("refresh-token-2");
    bench.call(&action, json!({})).await.unwrap();
    bench.credential = login("from-a-new-login");
    bench.call(&action, json!({})).await.unwrap();
    let used: Vec<String> = token_requests(&site)
        .iter()
        .map(|form| form.split('&').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        used,
        [
            "refresh_token=refresh-token-0",
            "refresh_token=refresh-token-1",
            "refresh_token=from-a-new-login"
        ]
    );
    let kept: Vec<String> = bench
        .rotated
        .lock()
        .unwrap()
        .iter()
        .map(|kept| kept.refresh_token.clone())
        .collect();
    assert_eq!(
        kept,
        ["refresh-token-1", "refresh-token-2", "refresh-token-3"]
    );
}

#[tokio::test]
async fn a_server_that_wants_the_secret_in_a_header_gets_it_there() {
    let site = Site::open(|_, seen| match seen.header("authorization") {
        None => reply(401, &[], r#"{"error":"invalid_client"}"#),
        Some(_) => json_reply(&json!({ "access_token": "access-token-1" })),
    })
    .await;
    let bench = bench(&site, OAuthGrant::ClientCredentials);
    bench.call(&get("/x"), json!({})).await.unwrap();
    let second = &site.seen()[1];
    let expected = crate::auth::basic_login("client%261", SECRET);
    assert_eq!(second.header("authorization"), Some(expected.as_str()));
    assert_eq!(
        second.body,
        "grant_type=client_credentials&scope=read+write"
    );
}

#[tokio::test]
async fn a_refusal_is_reported_with_its_message_without_the_secrets() {
    for (status, body, expected, code) in [
        (
            400,
            r#"{"error":"invalid_grant","error_description":"s3cret-value was revoked"}"#,
            "issued no token: ••• was revoked (invalid_grant)",
            "CREDENTIAL_REFUSED",
        ),
        (
            503,
            "",
            "answered the token request with HTTP 503",
            "TOKEN_UNAVAILABLE",
        ),
        (200, "<html>", "contains no token", "TOKEN_UNAVAILABLE"),
    ] {
        let site = Site::open(move |_, _| reply(status, &[], body)).await;
        let bench = bench(&site, OAuthGrant::RefreshToken);
        let error = bench.call(&get("/x"), json!({})).await.unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!(error.code(), code);
        assert_eq!(
            site.lines(),
            ["POST /token"],
            "the API is not called without a token"
        );
    }
}
