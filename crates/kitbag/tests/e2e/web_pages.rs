//! Real web pages over HTTPS, read by `web_fetch` and pictured by `browser` in the real Chromium.

use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, Uri};
use axum::response::{Html, Redirect};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_testkit::pixels::Pixels;
use kitbag_testkit::site;
use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Home, until};

const ARTICLE: &str = "<!doctype html><title>Bread</title><nav><a href=/>Home</a></nav><article><h2>Rising</h2>\
    <p>Bread rises because yeast eats sugar, and because the gas that it makes stays in the dough, which is \
    why kneading matters. Warm dough rises faster, cold dough slower, and dough without salt too fast, so \
    bakers measure all three, <a href=../salt>sa\u{200b}lt</a> included, every day, as their masters did before.</p>";

/// Allows the address of [`site`], and nothing else on this machine.
const WEB: &str = "[catalog]\ntools = ['web-fetch', 'browser']\n\
    [web]\nallow_addresses = ['127.0.0.2']\ncertificate_authorities = 'own.pem'\n";

struct Pages {
    gateway: Gateway,
    client: Client,
}

impl Pages {
    async fn open() -> Self {
        let home = Home::new(WEB);
        home.export("READER_TOKEN", "t0ken-of-the-reader");
        fs::write(home.path("own.pem"), site::authority()).unwrap();
        let gateway = home.serve().await;
        let client = gateway.client_at("/mcp/all", Era::Modern).connect().await;
        Self { gateway, client }
    }

    async fn fetch(&self, arguments: Value) -> String {
        self.client.call("web_fetch", &arguments).await.tool_text()
    }

    /// Rewrites the configuration with these settings after [`WEB`].
    fn reconfigure(&self, more: &str) {
        self.gateway.home.configure(&format!("{WEB}{more}"));
    }
}

#[tokio::test]
async fn a_page_is_read_as_text_of_its_site_and_never_from_a_private_address() {
    let (private, visits) = site::private_port().await;
    let seen = Arc::new(Mutex::new(HeaderMap::new()));
    let kept = seen.clone();
    let router = Router::new()
        .route("/old", get(|| async { Redirect::to("/pages/bread") }))
        .route(
            "/pages/bread",
            get(move |headers: HeaderMap| async move {
                *kept.lock().unwrap() = headers;
                Html(ARTICLE)
            }),
        )
        .route(
            "/away",
            get(move || async move { Redirect::to(&format!("https://{private}/")) }),
        );
    let site = format!("https://{}", site::serve(router).await);
    let pages = Pages::open().await;

    let markdown = pages.fetch(json!({ "url": format!("{site}/old") })).await;
    let head = format!(
        "URL: {site}/pages/bread\nStatus: 200\nType: text/html\nTitle: Bread\n\nEverything below was written by that site."
    );
    assert!(markdown.starts_with(&head), "{markdown}");
    assert!(markdown.contains("## Rising\n"), "{markdown}");
    assert!(
        markdown.contains(&format!("[salt]({site}/salt)")),
        "{markdown}"
    );
    assert!(!markdown.contains("Home"), "{markdown}");
    let headers = seen.lock().unwrap().clone();
    assert!(!headers.contains_key("authorization") && !headers.contains_key("cookie"));

    let url = format!("{site}/pages/bread");
    let raw = pages
        .fetch(json!({ "url": url, "format": "raw", "max_chars": 29 }))
        .await;
    let left_out = ARTICLE.chars().count() - 29;
    assert!(
        raw.contains(&format!("\nLeft out: {left_out} characters")),
        "{raw}"
    );
    assert!(raw.ends_with("\n\n<!doctype html><title>Bread</"), "{raw}");

    let output = pages.fetch(json!({ "url": format!("{site}/away") })).await;
    assert!(output.starts_with("ADDRESS_REFUSED: "), "{output}");
    assert!(
        output.contains("127.0.0.1 is a loopback address"),
        "{output}"
    );
    assert_eq!(visits.load(Ordering::Relaxed), 0);
}

/// A page that turns green only after a while, with a picture from a private address.
fn lively(private: &str) -> String {
    format!(
        "<!doctype html><title>Lively</title><body><img src=https://{private}/x.png><script>\
         setTimeout(() => document.body.style.background = 'rgb(0, 128, 0)', 1500)</script>"
    )
}

#[tokio::test]
async fn a_page_is_captured_and_other_settings_apply_without_a_restart() {
    let (private, visits) = site::private_port().await;
    let page = lively(&private.to_string());
    let router = Router::new().route("/", get(move || async move { Html(page) }));
    let url = format!("https://{}/", site::serve(router).await);
    let pages = Pages::open().await;

    let arguments = json!({ "url": url, "width": 320, "height": 200, "wait_ms": 2000 });
    let taken = pages.client.call("browser", &arguments).await.result();
    let image = &taken["content"][0];
    assert_eq!(image["mimeType"], "image/png", "{}", taken["content"][1]);
    let pixels = Pixels::from_png(&STANDARD.decode(image["data"].as_str().unwrap()).unwrap());
    assert_eq!((pixels.width, pixels.height), (320, 200));
    assert_eq!(pixels.at(300, 180), [0, 128, 0]);
    let about: Value = serde_json::from_str(taken["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&about["url"], &about["status"]),
        (&json!(url), &json!(200))
    );
    assert_eq!(about["title"], "Lively");
    let refused = about["refused"][0].as_str().unwrap();
    assert!(
        refused.contains("127.0.0.1 is a loopback address"),
        "{refused}"
    );
    assert_eq!(visits.load(Ordering::Relaxed), 0);

    let answer = |uri: Uri, headers: HeaderMap| async move {
        let token = headers["authorization"].to_str().unwrap() == "Bearer t0ken-of-the-reader";
        format!("Title: Read elsewhere\n\n{uri} {token}")
    };
    let service = site::serve_plain(Router::new().fallback(answer)).await;
    pages.reconfigure(&format!(
        "reader = 'http://{service}'\nreader_token = '${{READER_TOKEN}}'\n[browser]\nprogram = '/nowhere/chromium'\n"
    ));
    let output = until("there is no browser any more", async || {
        let private = json!({ "url": format!("https://{private}/") });
        let output = pages.client.call("browser", &private).await.tool_error();
        (!output.starts_with("ADDRESS_REFUSED")).then_some(output)
    })
    .await;
    assert!(output.starts_with("CONFIG_MISSING: "), "{output}");
    assert!(output.contains("apt-get install chromium"), "{output}");
    assert!(output.contains("`program` under [browser]"), "{output}");
    let output = pages.fetch(json!({ "url": url })).await;
    assert!(output.contains("Title: Read elsewhere\n"), "{output}");
    assert!(output.ends_with(&format!("/{url} true")), "{output}");
}
