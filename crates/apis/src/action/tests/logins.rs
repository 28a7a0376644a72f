//! The proof of a request, in each scheme.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_tool_spec::AuthScheme;
use serde_json::json;

use super::site::Site;
use super::*;

#[tokio::test]
async fn each_scheme_puts_its_proof_where_it_belongs_and_never_in_the_answer() {
    let basic = format!("Basic {}", STANDARD.encode(format!("ann:{SECRET}")));
    for (auth, name, expected) in [
        (AuthScheme::Nothing, "authorization", None),
        (
            AuthScheme::Bearer,
            "authorization",
            Some(format!("Bearer {SECRET}")),
        ),
        (AuthScheme::Basic, "authorization", Some(basic)),
        (
            AuthScheme::ApiKeyHeader {
                header: "x-api-key".parse().unwrap(),
            },
            "x-api-key",
            Some(SECRET.to_owned()),
        ),
    ] {
        let site = Site::echo().await;
        let mut bench = Bench::at(&site, |api| api.auth = auth);
        bench.credential = credential(&[
            ("token", SECRET),
            ("key", SECRET),
            ("user", "ann"),
            ("password", SECRET),
        ]);
        let answer = bench.call(&get("/x"), json!({})).await.unwrap();
        assert_eq!(site.seen()[0].header(name), expected.as_deref());
        let shown = answer.tool_result().to_string();
        assert!(
            !shown.contains(SECRET) && !shown.contains("Basic YW"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn a_key_in_the_query_comes_after_the_parameters() {
    let site = Site::echo().await;
    let auth = AuthScheme::ApiKeyQuery {
        parameter: "key".to_owned(),
    };
    let mut bench = Bench::at(&site, |api| api.auth = auth);
    bench.credential = credential(&[("key", "a b/s3cret")]);
    let mut action = get("/x");
    action.query = vec![("q".to_owned(), "{q}".parse().unwrap())];
    let answer = bench.call(&action, json!({ "q": 1 })).await.unwrap();
    assert_eq!(site.lines(), ["GET /v1/x?q=1&key=a%20b%2Fs3cret"]);
    assert!(!answer.tool_result().to_string().contains("s3cret"));
}

#[tokio::test]
async fn a_request_to_amazon_is_signed_with_its_time_region_and_session() {
    let site = Site::echo().await;
    let auth = AuthScheme::AwsSigV4 {
        service: "ses".to_owned(),
        region: "{credential.region}".parse().unwrap(),
    };
    let mut bench = Bench::at(&site, |api| api.auth = auth);
    bench.credential = credential(&[
        ("access_key_id", "AKIDEXAMPLE"),
        ("secret_access_key", SECRET),
        ("session_token", "session-1"),
        ("region", "eu-west-1"),
    ]);
    let action = post("/mail", &json!({ "to": "{to}" }));
    bench.call(&action, json!({ "to": "ann" })).await.unwrap();
    let seen = &site.seen()[0];
    assert_eq!(seen.header("x-amz-date"), Some("20270115T080000Z"));
    assert_eq!(seen.header("x-amz-security-token"), Some("session-1"));
    let signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20270115/eu-west-1/ses/aws4_request, \
        SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token, Signature=";
    let found = seen.header("authorization").unwrap();
    assert!(found.starts_with(signed), "{found}");
}
