//! Calls of real servers on this machine, good and bad ones.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Uri;
use axum::response::IntoResponse;
use axum::routing::{any, get};
use futures::StreamExt as _;
use kitbag_wire::raw;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use kitbag_domain::Remedy as _;
use kitbag_fetch::MASK;

const SECRET: &str = "s3cret-value";
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const NEIGHBOUR: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Answers with the request it received; the path `/to?URL` redirects to that URL.
async fn api(address: IpAddr) -> SocketAddr {
    let router = Router::new()
        .route("/v1/big", get(|| async { Body::from_stream(chunks()) }))
        .route("/v1/declared", get(|| async { vec![b'x'; 4096] }))
        .route(
            "/v1/slow",
            get(|| async { Body::from_stream(chunks().take(1).chain(silence())) }),
        )
        .route(
            "/v1/silent",
            get(|| async { std::future::pending::<()>().await }),
        )
        .route("/v1/cookie", get(|| async { COOKIE }))
        .route(
            "/v1/busy",
            get(|| async { (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "30")]) }),
        )
        .route(
            "/v1/to",
            any(|uri: Uri| async move { leads(StatusCode::FOUND, &uri) }),
        )
        .route(
            "/v1/keep",
            any(|uri: Uri| async move { leads(StatusCode::TEMPORARY_REDIRECT, &uri) }),
        )
        .route(
            "/v1/loop",
            get(|| async { (StatusCode::FOUND, [(LOCATION, "loop")]) }),
        )
        .fallback(echo);
    let listener = tokio::net::TcpListener::bind((address, 0)).await.unwrap();
    let bound = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    bound
}

const COOKIE: [(&str, &str); 3] = [
    ("set-cookie", "id=1"),
    ("link", "</next>"),
    ("x-ratelimit-remaining", "3"),
];

fn leads(status: StatusCode, uri: &Uri) -> impl IntoResponse + use<> {
    (
        status,
        [(LOCATION, uri.query().unwrap_or_default().to_owned())],
    )
}

async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let text = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let request = json!({
        "asked": format!("{method} {uri}"),
        "key": text("x-key"),
        "login": text("authorization"),
        "type": text("content-type"),
        "body": String::from_utf8_lossy(&body),
    });
    ([(CONTENT_TYPE, "application/json")], request.to_string())
}

type Chunk = Result<Vec<u8>, Infallible>;

fn chunks() -> impl futures::Stream<Item = Chunk> {
    futures::stream::repeat_with(|| Ok(vec![b'x'; 512]))
}

fn silence() -> impl futures::Stream<Item = Chunk> {
    futures::stream::pending()
}

/// Promises nine bytes and hangs up after two.
async fn broken() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((HOME, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _request = stream.read(&mut [0; 4096]).await.unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxx")
            .await
            .unwrap();
    });
    address
}

fn provider(url: &str, permitted: &'static [IpAddr]) -> Provider {
    let spec = ProviderSpec {
        name: "weather".parse().unwrap(),
        description: None,
        url: url.parse().unwrap(),
        headers: BTreeMap::from([
            ("X-Key".to_owned(), Template::from("${KEY}")),
            ("Authorization".to_owned(), Template::from("Bearer ${KEY}")),
        ]),
        methods: vec![Method::GET, Method::HEAD, Method::POST],
        timeout: Duration::from_secs(20),
        max_response_bytes: 2048,
    };
    let lookup: Lookup = Arc::new(|name: &str| (name == "KEY").then(|| SECRET.to_owned()));
    let guard = move |address: IpAddr| match permitted.contains(&address) {
        true => Ok(()),
        false => Err(format!("{address} is not permitted")),
    };
    Provider::new(spec, lookup, Arc::new(guard))
}

const ANYTHING: RequestJudge<'_> = &|_| true;

fn provider_call(method: Method, path: &str) -> ProviderCall {
    ProviderCall {
        method,
        path: path.to_owned(),
        query: Vec::new(),
        body: None,
        trace: HeaderMap::new(),
    }
}

async fn get_from(provider: &Provider, path: &str) -> Result<Value, ProviderError> {
    let answer = provider
        .call(provider_call(Method::GET, path), ANYTHING)
        .await?;
    Ok(serde_json::from_slice(&answer.body).unwrap())
}

/// Returns the request that the server got after all redirects, and true if it got the secret.
#[track_caller]
fn received_request(found: &Value) -> (&str, bool) {
    assert_eq!(found["key"].is_string(), found["login"].is_string());
    (found["asked"].as_str().unwrap(), found["key"] == MASK)
}

/// The error of a failing GET. Whatever it is, it contains no secret.
async fn fails(provider: &Provider, path: &str) -> String {
    let error = provider
        .call(provider_call(Method::GET, path), ANYTHING)
        .await
        .unwrap_err();
    let shown = format!("{error} {error:?} {:?} {provider:?}", error.remedy());
    assert!(!shown.contains(SECRET), "{shown}");
    error.to_string()
}

#[tokio::test]
async fn a_call_goes_below_the_base_with_the_secrets_and_the_body_as_written() {
    let home = api(HOME).await;
    let provider = provider(&format!("http://{home}/v1"), &[HOME]);
    let body = raw(&json!({ "n": 1.50 }));
    let call = ProviderCall {
        query: vec![("q".to_owned(), "a b".to_owned())],
        body: Some(body),
        ..provider_call(Method::POST, "/items")
    };
    let answer = provider.call(call, ANYTHING).await.unwrap();
    assert_eq!(
        (answer.status, answer.content_type.as_deref()),
        (200, Some("application/json"))
    );
    let found: Value = serde_json::from_slice(&answer.body).unwrap();
    let expected = json!({
        "asked": "POST /v1/items?q=a+b",
        "key": MASK,
        "login": MASK,
        "type": "application/json",
        "body": r#"{"n":1.5}"#,
    });
    assert_eq!(
        found, expected,
        "it got the secret, and what it shows of it is not passed on"
    );
}

#[tokio::test]
async fn only_headers_that_help_are_returned() {
    let home = api(HOME).await;
    let provider = provider(&format!("http://{home}/v1"), &[HOME]);
    let answer = provider
        .call(provider_call(Method::GET, "/cookie"), ANYTHING)
        .await
        .unwrap();
    let names: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["link", "x-ratelimit-remaining"]);
}

#[test]
fn an_api_introduces_itself_without_its_secrets() {
    let mut provider = provider("https://api.example/v1", &[]);
    assert_eq!(
        provider.to_string(),
        "weather · GET, HEAD, POST https://api.example/v1"
    );
    provider.spec.description = Some("Forecasts by place.".to_owned());
    provider
        .spec
        .headers
        .insert("X".to_owned(), Template::from(SECRET));
    assert_eq!(
        provider.to_string(),
        "weather · GET, HEAD, POST https://api.example/v1 · Forecasts by place."
    );
    assert!(!format!("{provider:?}").contains(SECRET));
}

#[tokio::test]
async fn a_method_that_the_configuration_does_not_allow_is_not_sent() {
    let provider = provider("http://127.0.0.1:9/v1", &[HOME]);
    let error = provider
        .call(provider_call(Method::DELETE, "/items/1"), ANYTHING)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`weather` may not be called with DELETE, only with GET, HEAD, POST"
    );
    assert!(
        error
            .remedy()
            .unwrap()
            .contains("`methods` of [providers.weather]")
    );
}

#[tokio::test]
async fn an_address_is_rejected_whether_written_or_resolved() {
    let home = api(HOME).await;
    let port = home.port();
    for host in ["127.0.0.1", "0x7f.1", "2130706433", "127.0.0.1."] {
        let found = fails(
            &provider(&format!("http://{host}:{port}/v1"), &[]),
            "/items",
        )
        .await;
        assert_eq!(
            found,
            "`weather` was not called: `127.0.0.1` is not an allowed destination: 127.0.0.1 is not permitted"
        );
    }
    let found = fails(
        &provider(&format!("http://[::ffff:127.0.0.1]:{port}/v1"), &[HOME]),
        "/items",
    )
    .await;
    assert!(
        found.contains("::ffff:127.0.0.1 is not permitted"),
        "{found}"
    );
    let found = fails(
        &provider(&format!("http://localhost:{port}/v1"), &[]),
        "/items",
    )
    .await;
    assert!(
        found.contains("`localhost` is not an allowed destination"),
        "{found}"
    );

    let provider = provider(&format!("http://localhost:{port}/v1"), &[HOME]);
    let found = get_from(&provider, "/items")
        .await
        .expect("the permitted one of its addresses is taken");
    assert_eq!(received_request(&found), ("GET /v1/items", true));
}

#[tokio::test]
async fn a_redirect_leads_no_further_than_a_call() {
    let home = api(HOME).await;
    let provider = provider(&format!("http://{home}/v1"), &[HOME]);
    for (to, expected) in [
        (
            "http://169.254.169.254/latest/meta-data",
            "169.254.169.254 is not permitted",
        ),
        (
            "//169.254.169.254/latest",
            "169.254.169.254 is not permitted",
        ),
        ("http://127.0.0.2/", "127.0.0.2 is not permitted"),
        ("http://[::1]/", "::1 is not permitted"),
        ("http://2852039166/", "169.254.169.254 is not permitted"),
        ("file:///etc/passwd", "redirects to a `file:` address"),
        ("http://user:word@127.0.0.1/", "with a user name in it"),
    ] {
        let found = fails(&provider, &format!("/to?{to}")).await;
        assert!(found.contains(expected), "{to}: {found}");
    }
    let found = fails(&provider, "/loop").await;
    assert_eq!(found, "`weather` redirects more than 5 times");
}

#[tokio::test]
async fn secrets_stay_with_the_origin_they_are_for() {
    let (home, neighbour) = (api(HOME).await, api(NEIGHBOUR).await);
    let provider = provider(&format!("http://{home}/v1"), &[HOME, NEIGHBOUR]);
    let found = get_from(&provider, "/to?elsewhere").await.unwrap();
    assert_eq!(received_request(&found), ("GET /v1/elsewhere", true));
    let found = get_from(&provider, &format!("/to?http://{neighbour}/x"))
        .await
        .unwrap();
    assert_eq!(received_request(&found), ("GET /x", false));
    let back = format!("/to?http://{neighbour}/v1/to?http://{home}/v1/admin");
    let found = get_from(&provider, &back).await.unwrap();
    assert_eq!(received_request(&found), ("GET /v1/admin", false));
}

#[tokio::test]
async fn a_redirect_within_the_api_stays_below_the_base_and_within_the_callers_permissions() {
    let (home, neighbour) = (api(HOME).await, api(NEIGHBOUR).await);
    let provider = provider(&format!("http://{home}/v1"), &[HOME, NEIGHBOUR]);
    let no_admin: RequestJudge<'_> = &|subject| !subject.contains("/admin");
    let by_name = format!("http://localhost:{}", home.port());
    let back = format!("http://{neighbour}/v1/to?http://{home}");
    for (to, expected) in [
        ("/v1/items", "asked"),
        ("items?page=2", "asked"),
        (
            "/v1/admin/delete-all",
            "redirects to a path that the rules do not permit",
        ),
        (
            "%61dmin",
            "redirects to a path that the rules do not permit",
        ),
        (
            "to?admin",
            "redirects to a path that the rules do not permit",
        ),
        ("/hid/x", "redirects to an address outside its base address"),
        ("/v10/x", "redirects to an address outside its base address"),
        (
            "/v1/..%2fhid",
            "redirects to an address outside its base address",
        ),
        (
            &format!("{by_name}/v1/admin"),
            "redirects to a path that the rules do not permit",
        ),
        (
            &format!("{by_name}/hid"),
            "redirects to an address outside its base address",
        ),
        (
            &format!("{back}/v1/admin"),
            "redirects to a path that the rules do not permit",
        ),
        (
            &format!("{back}/hid"),
            "redirects to an address outside its base address",
        ),
    ] {
        let found = provider
            .call(provider_call(Method::GET, &format!("/to?{to}")), no_admin)
            .await;
        let found = found.map_or_else(
            |error| error.to_string(),
            |answer| String::from_utf8(answer.body).unwrap(),
        );
        assert!(found.contains(expected), "{to}: {found}");
    }
}

#[tokio::test]
async fn a_body_follows_only_within_the_origin() {
    let (home, neighbour) = (api(HOME).await, api(NEIGHBOUR).await);
    let provider = provider(&format!("http://{home}/v1"), &[HOME, NEIGHBOUR]);
    let post = async |path: &str| {
        let call = ProviderCall {
            body: Some(raw(&json!([1]))),
            ..provider_call(Method::POST, path)
        };
        let answer = provider
            .call(call, ANYTHING)
            .await
            .map_err(|error| error.to_string())?;
        let found: Value = serde_json::from_slice(&answer.body).unwrap();
        Ok(format!(
            "{} {}",
            found["asked"].as_str().unwrap(),
            found["body"].as_str().unwrap()
        ))
    };
    assert_eq!(post("/keep?/v1/x").await, Ok("POST /v1/x [1]".to_owned()));
    assert_eq!(post("/to?/v1/x").await, Ok("GET /v1/x ".to_owned()));
    let elsewhere = format!("/keep?http://{neighbour}/x");
    let expected = format!(
        "`weather` redirects to http://{neighbour}, which is not part of this API, so the request is not sent there"
    );
    assert_eq!(post(&elsewhere).await, Err(expected));
}

#[tokio::test]
async fn an_answer_is_bounded_in_size_and_time() {
    let home = api(HOME).await;
    let mut provider = provider(&format!("http://{home}/v1"), &[HOME]);
    assert_eq!(
        fails(&provider, "/big").await,
        "`weather` answered with more than 2048 bytes"
    );
    assert_eq!(
        fails(&provider, "/declared").await,
        "`weather` answered with more than 2048 bytes"
    );
    provider.spec.timeout = Duration::from_millis(100);
    assert_eq!(
        fails(&provider, "/slow").await,
        "`weather` did not answer within 100ms"
    );
    assert_eq!(
        fails(&provider, "/silent").await,
        "`weather` did not answer within 100ms"
    );
}

#[tokio::test]
async fn a_truncated_answer_is_an_error() {
    let provider = provider(&format!("http://{}/", broken().await), &[HOME]);
    let found = fails(&provider, "/x").await;
    assert!(
        found.starts_with("`weather` broke off in the middle of its answer"),
        "{found}"
    );
}

#[tokio::test]
async fn a_missing_variable_or_impossible_header_is_named_and_never_shown() {
    let mut provider = provider("http://127.0.0.1:1/v1", &[HOME]);
    let found = fails(&provider, "/x?token=s3cret-value").await;
    assert!(
        found.starts_with("`weather` could not be reached at http://127.0.0.1:1: "),
        "{found}"
    );
    provider.lookup = Arc::new(|_: &str| Some(format!("{SECRET}\n")));
    let expected = "`weather` has invalid headers: the value of the header `Authorization` has \
         characters HTTP does not allow";
    assert_eq!(fails(&provider, "/x").await, expected);
    provider.lookup = Arc::new(|_: &str| None);
    assert_eq!(
        fails(&provider, "/x").await,
        "`weather` needs a variable: the environment variable `KEY` is not set"
    );
}

#[tokio::test]
async fn the_requested_wait_is_observed_and_reported() {
    let home = api(HOME).await;
    let provider = provider(&format!("http://{home}/v1"), &[HOME]);
    let busy = provider
        .call(provider_call(Method::GET, "/busy"), ANYTHING)
        .await;
    assert_eq!(busy.unwrap().status, 429);
    let error = fails(&provider, "/items").await;
    assert_eq!(error, "`weather` accepts no requests for another 30 s");
}
