//! Headers, methods and limits of every answer of the pages.

use std::time::{Duration, Instant};

use reqwest::Method;

use super::{Browser, CHANGE, Page, encode, guarded_gateway};
use crate::harness::Gateway;

#[track_caller]
fn check_headers(what: &str, page: &Page) {
    let header = |name: &str| {
        let value = page
            .headers
            .get(name)
            .unwrap_or_else(|| panic!("{what} lacks {name}"));
        value.to_str().unwrap().to_owned()
    };
    let policy = header("content-security-policy");
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(rule), "{what}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{what}: {policy}");
    assert_eq!(header("x-frame-options"), "DENY", "{what}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(header("referrer-policy"), "same-origin", "{what}");
    assert_eq!(
        header("cross-origin-opener-policy"),
        "same-origin",
        "{what}"
    );
    assert_eq!(
        header("cross-origin-resource-policy"),
        "same-origin",
        "{what}"
    );
    let is_asset = what.contains("/ui/assets/");
    assert_eq!(header("cache-control") == "no-store", !is_asset, "{what}");
}

#[tokio::test]
async fn every_answer_forbids_framing_foreign_script_and_caching() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let stranger = Browser::new(&gateway);
    let own = [("origin", gateway.base.as_str())];
    let foreign = [("origin", "http://evil.example")];
    let overview = person.get("/ui").await;
    let mut seen = Vec::new();
    let mut check = |what: &str, page: &Page| {
        check_headers(what, page);
        seen.push(page.status);
    };
    check("a page", &overview);
    for asset in overview.values("\"/ui/assets/") {
        let path = format!("/ui/assets/{asset}");
        check(&path, &person.get(&path).await);
    }
    check("no page", &person.get("/ui/no-such-page").await);
    check("no asset", &person.get("/ui/assets2/x.js").await);
    check("a stranger", &stranger.get("/ui").await);
    check("events", &stranger.get("/ui/events").await);
    check("an open stream", &person.get("/ui/events").await);
    check("the form to sign in", &stranger.get("/ui/sign-in").await);
    check(
        "a wrong key",
        &stranger.submit("/ui/sign-in", &[("key", "x")]).await,
    );
    check(
        "no key",
        &stranger
            .send(Method::POST, "/ui/sign-in", &own, "a=b")
            .await,
    );
    check(
        "no form",
        &stranger.send(Method::POST, "/ui/sign-in", &own, "").await,
    );
    let large = encode(&[("key", &"x".repeat(20 << 10))]);
    check(
        "a large key",
        &stranger
            .send(Method::POST, "/ui/sign-in", &own, &large)
            .await,
    );
    check(
        "a foreign page",
        &person.send(Method::GET, "/ui", &foreign, "").await,
    );
    check(
        "a foreign form",
        &person.send(Method::POST, CHANGE, &foreign, "csrf=x").await,
    );
    check("no token", &person.submit(CHANGE, &[("a", "b")]).await);
    check(
        "a form for a page",
        &person
            .submit("/ui", &[("csrf", &person.csrf().await)])
            .await,
    );
    check("a page of a form", &person.get("/ui/sign-out").await);
    check(
        "another method",
        &stranger.send(Method::PUT, "/ui/sign-in", &own, "").await,
    );
    for status in [200, 303, 401, 403, 404, 405, 413] {
        assert!(seen.contains(&status), "no answer with {status}: {seen:?}");
    }
}

#[tokio::test]
async fn other_methods_change_nothing_and_repeat_nothing() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let csrf = encode(&[("csrf", &person.csrf().await)]);
    let own = [("origin", gateway.base.as_str())];
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND"] {
        let method: Method = method.parse().unwrap();
        for (path, headers) in [("/ui", &own[..]), ("/ui/sign-in", &own), ("/ui", &[])] {
            let page = person.send(method.clone(), path, headers, &csrf).await;
            assert!(
                [403, 405].contains(&page.status),
                "{method} {path}: {}",
                page.status
            );
            assert!(
                !page.text.contains("kitbag_"),
                "{method} repeats the cookie"
            );
            assert!(!page.headers.contains_key("access-control-allow-origin"));
        }
    }
    let page = person.send(Method::HEAD, "/ui", &[], "").await;
    assert_eq!((page.status, page.text.as_str()), (200, ""));
    let stranger = Browser::new(&gateway);
    assert!(
        stranger
            .send(Method::HEAD, "/ui", &[], "")
            .await
            .is_sign_in()
    );
}

#[tokio::test]
async fn forms_have_a_limit() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let csrf = person.csrf().await;
    let filler = |bytes: usize| "x".repeat(bytes);
    let send = async |bytes: usize| {
        let page = person
            .submit(CHANGE, &[("csrf", &csrf), ("a", &filler(bytes))])
            .await;
        page.status
    };
    assert_eq!(send((1 << 20) - 100).await, 404, "it arrives");
    assert_eq!(send(1 << 20).await, 413);
    // A stranger's form is read, too, so it must be small.
    let stranger = Browser::new(&gateway);
    let page = stranger
        .submit("/ui/sign-in", &[("key", &filler(17 << 10))])
        .await;
    assert_eq!(page.status, 413);
}

#[tokio::test]
async fn a_program_without_cookies_cannot_fill_the_memory_with_sessions() {
    let gateway = Gateway::with("").await;
    let person = Browser::new(&gateway);
    assert_eq!(person.get("/ui").await.status, 200);
    let program = Browser::new(&gateway);
    // More than there may be sessions; the person's is in use.
    for number in 0..1200 {
        program.cookies.lock().unwrap().clear();
        assert_eq!(program.get("/ui/no-such-page").await.status, 404);
        if number % 100 == 0 {
            let page = person.get("/ui/no-such-page").await;
            assert!(
                !page.headers.contains_key("set-cookie"),
                "the session is still there"
            );
        }
    }
}

#[tokio::test]
async fn an_open_page_does_not_delay_the_end_of_the_gateway() {
    let gateway = Gateway::with("").await;
    let stream = reqwest::get(format!("{}/ui/events", gateway.base))
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    let asked = Instant::now();
    gateway.stop().await;
    // The gateway would wait five seconds for the stream.
    assert!(
        asked.elapsed() < Duration::from_secs(4),
        "{:?}",
        asked.elapsed()
    );
    drop(stream);
}

#[tokio::test]
async fn the_address_of_the_gateway_leads_people_to_the_pages_and_programs_to_mcp() {
    let gateway = Gateway::with("").await;
    let person = Browser::new(&gateway);
    for path in ["/", "/ui/"] {
        let page = person.get(path).await;
        assert_eq!((page.status, page.location()), (303, "/ui"), "{path}");
    }
    for (method, path) in [(Method::POST, "/"), (Method::GET, "/nothing")] {
        let page = person.send(method, path, &[], "").await;
        assert_eq!(page.status, 404);
        assert!(
            page.text.contains("/ui") && page.text.contains("/mcp"),
            "{}",
            page.text
        );
    }
}
