//! Other web pages, other hosts and proxies cannot use a person's browser to read or change pages.

use reqwest::Method;

use super::{Browser, CHANGE, encode, guarded_gateway};
use crate::harness::{Gateway, Home};

const SERVE: &str =
    "[serve]\nbind = \"127.0.0.1:0\"\nallowed_origins = [\"https://app.example\"]\n";

#[tokio::test]
async fn another_web_page_cannot_read_a_page() {
    let gateway = Gateway::with(SERVE).await;
    let own_page = Browser::new(&gateway);
    assert_eq!(own_page.get("/ui").await.status, 200);
    let port = gateway.base.rsplit(':').next().unwrap();
    let cross_site = ("sec-fetch-site", "cross-site");
    let same_site = ("sec-fetch-site", "same-site");
    let (rebound, sub) = (
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
    );
    for headers in [
        &[("host", rebound.as_str())] as &[_],
        &[("host", sub.as_str())],
        &[
            ("host", rebound.as_str()),
            ("sec-fetch-site", "same-origin"),
        ],
        &[("origin", "http://evil.example")],
        &[("origin", "https://app.example")],
        &[("origin", "http://localhost:3000")],
        &[("origin", "null")],
        &[
            cross_site,
            ("sec-fetch-mode", "no-cors"),
            ("sec-fetch-dest", "script"),
        ],
        &[
            cross_site,
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "iframe"),
        ],
        &[
            cross_site,
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "object"),
        ],
        &[
            same_site,
            ("sec-fetch-mode", "no-cors"),
            ("sec-fetch-dest", "empty"),
        ],
        &[
            same_site,
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "iframe"),
        ],
    ] {
        for path in ["/ui", "/ui/events", "/ui/sign-in", "/ui/no-such-page"] {
            let page = own_page.send(Method::GET, path, headers, "").await;
            assert_eq!(page.status, 403, "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn another_web_page_cannot_send_a_form() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let form = encode(&[("csrf", &person.csrf().await)]);
    assert_eq!(
        person
            .submit(CHANGE, &[("csrf", &person.csrf().await)])
            .await
            .status,
        404
    );
    let own = gateway.base.as_str();
    let port = own.rsplit(':').next().unwrap();
    let other_name = format!("http://localhost:{port}");
    let with_suffix = format!("{own}.evil.example");
    for headers in [
        &[] as &[_],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", "null")],
        &[("origin", "http://evil.example")],
        &[
            ("origin", "http://127.0.0.1:3000"),
            ("sec-fetch-site", "same-site"),
        ],
        // The browser says that it is not the same origin, whatever the page claims.
        &[("origin", own), ("sec-fetch-site", "same-site")],
        &[("origin", own), ("sec-fetch-site", "cross-site")],
        &[("origin", other_name.as_str())],
        &[("origin", with_suffix.as_str())],
        &[("origin", own), ("origin", "http://evil.example")],
        &[("host", "evil.example"), ("origin", "http://evil.example")],
    ] {
        for path in [CHANGE, "/ui/sign-out", "/ui/sign-in"] {
            let page = person.send(Method::POST, path, headers, &form).await;
            assert_eq!(page.status, 403, "{path} {headers:?}");
        }
    }
    assert_eq!(
        person.get("/ui").await.status,
        200,
        "nothing has ended the session"
    );
}

#[tokio::test]
async fn a_link_of_another_site_opens_the_page_in_the_session_that_is_there() {
    let gateway = Gateway::with("").await;
    let person = Browser::new(&gateway);
    let mut link = vec![
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    link.push(("sec-fetch-site", "cross-site"));
    // The browser sends no cookie with it, and would replace the session by a new one.
    let page = person.send(Method::GET, "/ui/calls", &link, "").await;
    assert_eq!(
        (page.status, page.headers["refresh"].to_str().unwrap()),
        (200, "0")
    );
    assert!(!page.headers.contains_key("set-cookie"));
    assert!(page.values("name=\"csrf\"").is_empty(), "{}", page.text);
}

#[tokio::test]
async fn a_proxy_on_this_machine_does_not_make_strangers_local() {
    let gateway = Gateway::with("").await;
    for header in [
        ("x-forwarded-for", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7"),
        ("x-real-ip", "203.0.113.7"),
        ("via", "1.1 proxy"),
        ("cf-connecting-ip", "203.0.113.7"),
    ] {
        let stranger = Browser::new(&gateway);
        let page = stranger.send(Method::GET, "/ui", &[header], "").await;
        assert!(page.is_sign_in(), "{header:?}: {page:?}");
        // Nor does a session that began without the proxy.
        let local = Browser::new(&gateway);
        assert_eq!(local.get("/ui").await.status, 200);
        assert!(
            local
                .send(Method::GET, "/ui", &[header], "")
                .await
                .is_sign_in()
        );
    }
}

#[tokio::test]
async fn a_gateway_that_others_reach_under_a_name_requires_a_key_for_pages() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nallowed_hosts = [\"kitbag.lan\"]\n";
    let home = Home::new(serve);
    let (_, admin) = super::create_key(&home, &["--role", "admin"]).await;
    let gateway = home.serve().await;
    let person = Browser::new(&gateway);
    assert!(person.get("/ui").await.is_sign_in());
    // Behind a proxy that ends TLS; `allowed_origins` need not name the gateway itself.
    let proxied = [
        ("host", "kitbag.lan"),
        ("origin", "https://kitbag.lan"),
        ("x-forwarded-proto", "https"),
    ];
    let form = encode(&[("key", &admin)]);
    let page = person
        .send(Method::POST, "/ui/sign-in", &proxied, &form)
        .await;
    assert_eq!(
        (page.status, page.location()),
        (303, "/ui"),
        "{}",
        page.text
    );
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("kitbag=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    let page = person
        .send(Method::GET, "/ui", &[("host", "kitbag.lan")], "")
        .await;
    assert_eq!(page.status, 200);
}
