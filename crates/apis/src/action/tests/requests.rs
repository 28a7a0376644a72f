//! The request of an action, and the hosts that it may reach.

use kitbag_domain::Remedy as _;
use kitbag_tool_spec::{AuthScheme, BodyPattern, JsonPattern};
use serde_json::json;

use super::site::{Seen, Site, reply};
use super::*;

async fn sent(action: ActionSpec, arguments: Value) -> Seen {
    let site = Site::echo().await;
    let bench = Bench::at(&site, |api| {
        api.headers = vec![header("x-account", "{credential.account}")];
    });
    bench.call(&action, arguments).await.unwrap();
    site.seen().remove(0)
}

fn header(name: &str, pattern: &str) -> (http::HeaderName, kitbag_tool_spec::TextPattern) {
    (name.parse().unwrap(), pattern.parse().unwrap())
}

fn with_body(body: BodyPattern) -> ActionSpec {
    ActionSpec {
        body: Some(body),
        ..post("/x", &json!({}))
    }
}

fn pattern(body: &Value) -> JsonPattern {
    JsonPattern::from_value(body).unwrap()
}

#[tokio::test]
async fn path_query_and_headers_are_filled_encoded_and_left_out() {
    let mut action = get("/items/{id}/of/{place...}");
    action.query = ["q={words}", "tag={tags}", "page={page}", "all={tags,}"]
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .to_vec();
    action.headers = vec![header("x-mark", "m-{id}"), header("x-page", "{page}")];
    let arguments =
        json!({ "id": "a/b c", "place": "x/y z", "words": "a b+c&d", "tags": ["u", "v"] });
    let seen = sent(action, arguments).await;
    assert_eq!(
        seen.line,
        "GET /v1/items/a%2Fb%20c/of/x/y%20z?q=a%20b%2Bc%26d&tag=u&tag=v&all=u%2Cv"
    );
    assert_eq!(seen.header("x-mark"), Some("m-a/b c"));
    assert_eq!(seen.header("x-page"), None);
    assert_eq!(seen.header("x-account"), Some("a-1"));
}

#[tokio::test]
async fn a_body_takes_the_declared_form() {
    let object = json!({ "n": "{n}", "list": "{list}", "gone": "{gone}" });
    let arguments = json!({ "n": 1.5, "list": ["a&b", "c"], "text": "plain é", "bytes": "AAH/" });
    for (body, kind, expected) in [
        (
            BodyPattern::Json(pattern(&object)),
            "application/json",
            r#"{"n":1.5,"list":["a&b","c"]}"#,
        ),
        (
            BodyPattern::Form(pattern(&object)),
            "application/x-www-form-urlencoded",
            "n=1.5&list=a%26b&list=c",
        ),
        (
            BodyPattern::Text("<{text}>".parse().unwrap()),
            "text/plain; charset=utf-8",
            "<plain é>",
        ),
        (
            BodyPattern::Bytes("{bytes}".parse().unwrap()),
            "application/octet-stream",
            "\0\u{1}\u{fffd}",
        ),
    ] {
        let seen = sent(with_body(body), arguments.clone()).await;
        assert_eq!(seen.header("content-type"), Some(kind));
        assert_eq!(seen.body, expected);
    }
    let mut own_type = with_body(BodyPattern::Json(pattern(&object)));
    own_type.headers = vec![header("content-type", "application/x-amz-json-1.1")];
    let seen = sent(own_type, arguments).await;
    assert_eq!(
        seen.header("content-type"),
        Some("application/x-amz-json-1.1")
    );
}

#[tokio::test]
async fn a_multipart_body_has_files_and_fields_and_no_header_of_the_callers_own() {
    let parts = json!({ "purpose": "{why}", "file": "{file}" });
    let file =
        json!({ "base64": "aGVsbG8", "filename": "a\"b\r\nX: y.txt", "type": "text/x\r\nX: y" });
    let action = with_body(BodyPattern::Multipart(pattern(&parts)));
    let seen = sent(action, json!({ "why": "batch", "file": file })).await;
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; \
         filename=\"a%22b%0D%0AX: y.txt\"\r\nContent-Type: text/xX: y\r\n\r\nhello\r\n--{boundary}--\r\n"
    );
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn arguments_that_make_no_request_are_the_callers_fault() {
    let site = Site::echo().await;
    let bench = Bench::at(&site, |_| {});
    let bytes = with_body(BodyPattern::Bytes("{b}".parse().unwrap()));
    let mut marked = get("/x");
    marked.headers = vec![header("x-mark", "{b}")];
    for (action, arguments, expected) in [
        (
            get("/x/{id}"),
            json!({}),
            "`desk` was not called: the path needs `id`",
        ),
        (
            get("/x/{id}"),
            json!({ "id": ".." }),
            "`desk` was not called: `id` is empty, `.` or `..`, which cannot be a part of a path",
        ),
        (
            bytes,
            json!({ "b": "no base64!" }),
            "`desk` was not called: the bytes of its body are not base64",
        ),
        (
            marked,
            json!({ "b": "a\r\nX-Admin: 1" }),
            "`desk` was not called: the value of the header `x-mark` has characters HTTP does not allow",
        ),
    ] {
        let error = bench.call(&action, arguments).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(
            (error.code(), error.culprit()),
            ("ARGUMENTS_INVALID", Culprit::Caller)
        );
    }
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_missing_credential_field_is_reported_with_the_command_that_sets_it() {
    let bench = Bench::declared(|api| {
        api.auth = AuthScheme::Basic;
        api.headers = vec![
            header("x-tenant", "{credential.tenant}"),
            header("x-note", "{credential.note}"),
        ];
        api.optional_fields = vec!["note".to_owned()];
    });
    let error = bench.call(&get("/x"), json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`desk` is not set up: the credential `desk` has no `password` and no `tenant` and no `user`"
    );
    assert_eq!(
        (error.code(), error.culprit()),
        ("CONFIG_MISSING", Culprit::Operator)
    );
    assert_eq!(
        error.remedy().unwrap(),
        "run `kitbag secret set desk password` and `kitbag secret set desk tenant` \
         and `kitbag secret set desk user`"
    );
}

#[tokio::test]
async fn a_field_of_the_credential_cannot_lead_elsewhere() {
    for (url, account, expected) in [
        (
            "https://{credential.account}.desk.example",
            "evil.example/",
            "the field `account` of its credential cannot be a part of an address",
        ),
        (
            "https://{credential.account}.desk.example",
            "a@b",
            "the field `account` of its credential cannot be a part of an address",
        ),
        (
            "https://{credential.account}.desk.example",
            "a.b",
            "`a.b.desk.example` is not one of its hosts",
        ),
        (
            "http://{credential.account}.desk.example",
            "a",
            "its address does not begin with `https:`",
        ),
        (
            "https://desk.example/{credential.account}",
            "..",
            "the field `account` of its credential cannot be a part of an address",
        ),
    ] {
        let mut bench = Bench::declared(|api| {
            api.url = url.parse().unwrap();
            api.hosts = vec![
                "*.desk.example".parse().unwrap(),
                "desk.example".parse().unwrap(),
            ];
        });
        bench.credential = credential(&[("account", account)]);
        let found = bench.fails(&get("/x"), json!({})).await;
        assert_eq!(found, format!("`desk` is not set up: {expected}"));
    }
}

#[tokio::test]
async fn redirects_stay_within_the_hosts_and_every_address_is_guarded() {
    let site = Site::open(|_, seen| match seen.line.split_once("?to=") {
        Some((_, to)) => reply(
            302,
            &[("location", &to.replace("%3A", ":").replace("%2F", "/"))],
            "",
        ),
        None => reply(200, &[], "\"here\""),
    })
    .await;
    let bench = Bench::at(&site, |api| {
        api.hosts = ["desk.example", "localhost"]
            .map(|host| host.parse().unwrap())
            .to_vec();
    });
    let mut action = get("/go");
    action.query = vec![("to".to_owned(), "{to}".parse().unwrap())];
    let port = site.url("").port().unwrap();
    for (to, expected) in [
        (
            "https://169.254.169.254/latest",
            "redirects to https://169.254.169.254, which is not one of its hosts",
        ),
        (
            "http://127.0.0.1:1/x",
            "redirects to http://127.0.0.1:1, which is not one of its hosts",
        ),
        (
            "http://desk.example/x",
            "redirects to http://desk.example, which is not one of its hosts",
        ),
        (
            "https://evil.example/x",
            "redirects to https://evil.example, which is not one of its hosts",
        ),
        // The guard of this test permits only 127.0.0.1, and the server there does not speak TLS.
        (
            &format!("https://localhost:{port}/x"),
            "could not be reached at https://localhost",
        ),
    ] {
        let found = bench.fails(&action, json!({ "to": to })).await;
        assert!(found.starts_with(&format!("`desk` {expected}")), "{found}");
    }
    let answer = bench
        .call(&action, json!({ "to": "/v1/here" }))
        .await
        .unwrap();
    assert_eq!(read(&answer), json!("here"));
    let bench = Bench::with(
        ApiOverrides {
            url: Some("http://[::1]:1/".parse().unwrap()),
            ..ApiOverrides::default()
        },
        |_| {},
    );
    let error = bench.call(&get("/x"), json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`desk` was not called: `::1` is not an allowed destination: ::1 is not permitted"
    );
    assert_eq!(error.code(), "ADDRESS_REFUSED");
}

#[tokio::test]
async fn the_trace_of_a_call_goes_along_and_replaces_no_header_of_the_file() {
    let site = Site::echo().await;
    let mut bench = Bench::at(&site, |api| {
        api.headers = vec![header("baggage", "of=file")];
    });
    for (name, value) in [("traceparent", "00-aa-bb-01"), ("baggage", "user=alice")] {
        bench.trace.insert(name, value.parse().unwrap());
    }
    bench.call(&get("/x"), json!({})).await.unwrap();
    let seen = site.seen().remove(0);
    assert_eq!(seen.header("traceparent"), Some("00-aa-bb-01"));
    assert_eq!(seen.header("baggage"), Some("of=file"));
}
