//! Pages are read unchanged, only from where the guard allows.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use kitbag_domain::{Lookup, Template};
use kitbag_web::{
    PageContent, PageError, PageFormat, PageReader, PageRequest, ReaderService, ReaderSettings,
    WebPage,
};
use url::Url;

use crate::site;

const ARTICLE: &str = "<!doctype html><title>Bread</title><nav><a href=/>Home</a></nav><article><h2>Rising</h2>\
    <p>Bread rises because yeast eats sugar, and because the gas that it makes stays in the dough, which is \
    why kneading matters. Warm dough rises faster, cold dough slower, and dough without salt too fast, so \
    bakers measure all three, <a href=../salt>salt</a> included, every day, as their masters did before.</p>";

fn reader() -> PageReader {
    PageReader::new(settings())
}

fn settings() -> ReaderSettings {
    ReaderSettings {
        roots: site::roots(),
        ..ReaderSettings::new(site::guard())
    }
}

async fn read(url: &str, format: PageFormat, max_chars: usize) -> Result<WebPage, PageError> {
    let request = PageRequest {
        url: url.to_owned(),
        format,
        max_chars,
    };
    reader().read(request).await
}

#[track_caller]
fn text(page: &WebPage) -> (&str, usize) {
    match &page.content {
        PageContent::Text { text, left_out } => (text, *left_out),
        PageContent::Bytes(_) => panic!("not text: {page:?}"),
    }
}

fn typed(media_type: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, media_type)], body).into_response()
}

async fn sample() -> String {
    let router = Router::new()
        .route("/a/article", get(|| async { typed("text/html", ARTICLE) }))
        .route(
            "/json",
            get(|| async { typed("application/json", r#"{"a": "ä"}"#) }),
        )
        .route(
            "/pdf",
            get(|| async { typed("application/pdf", "%PDF-1.7") }),
        )
        .route("/png", get(|| async { typed("image/png", vec![1, 2, 3]) }))
        .route(
            "/large",
            get(|| async { typed("text/plain", vec![b'x'; 11_000_000]) }),
        )
        .route("/cookie", get(|| async { [(header::SET_COOKIE, "a=1")] }))
        .route(
            "/headers",
            get(|headers: HeaderMap| async move { format!("{headers:?}") }),
        )
        .route("/once", get(|| async { Redirect::to("/a/article") }))
        .route("/circle", get(|| async { Redirect::to("/circle") }))
        .route(
            "/to/{*url}",
            get(|Path(url): Path<String>| async move { Redirect::to(&url) }),
        )
        .route("/never", get(std::future::pending::<()>));
    format!("https://{}", site::serve(router).await)
}

#[tokio::test]
async fn a_page_is_its_main_part_in_markdown_or_the_text_as_it_came() {
    let site = sample().await;
    let page = read(&format!("{site}/once"), PageFormat::Markdown, 10_000)
        .await
        .unwrap();
    assert_eq!(page.url, format!("{site}/a/article"));
    assert_eq!((page.status, page.media_type.as_str()), (200, "text/html"));
    assert_eq!(page.title.as_deref(), Some("Bread"));
    let (markdown, _) = text(&page);
    assert!(
        markdown.starts_with("## Rising\n\nBread rises"),
        "{markdown}"
    );
    assert!(
        markdown.contains(&format!("[salt]({site}/salt)")),
        "{markdown}"
    );
    assert!(!markdown.contains("Home"), "{markdown}");

    let page = read(&format!("{site}/a/article"), PageFormat::Raw, 10_000)
        .await
        .unwrap();
    assert_eq!(text(&page), (ARTICLE, 0));
    let page = read(&format!("{site}/a/article"), PageFormat::Raw, 15)
        .await
        .unwrap();
    assert_eq!(text(&page), ("<!doctype html>", ARTICLE.len() - 15));
    for format in [PageFormat::Raw, PageFormat::Markdown] {
        let page = read(&format!("{site}/json"), format, 9).await.unwrap();
        assert_eq!(text(&page), (r#"{"a": "ä""#, 1));
        let page = read(&format!("{site}/nothing"), format, 9).await.unwrap();
        assert_eq!(page.status, 404);
    }
    let page = read(&format!("{site}/png"), PageFormat::Raw, 4)
        .await
        .unwrap();
    assert_eq!(page.content, PageContent::Bytes(vec![1, 2, 3]));
}

#[tokio::test]
async fn a_page_that_cannot_be_shown_is_reported_with_its_type() {
    let site = sample().await;
    for (path, format, expected) in [
        ("/pdf", PageFormat::Markdown, "is a PDF"),
        ("/png", PageFormat::Markdown, "is `image/png`"),
        ("/png", PageFormat::Raw, "takes 4 characters as Base64"),
        ("/large", PageFormat::Raw, "more than 10485760 bytes"),
        ("/circle", PageFormat::Raw, "redirects more than 5 times"),
    ] {
        let error = read(&format!("{site}{path}"), format, 3).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{path}: {error}");
    }
}

#[tokio::test]
async fn nothing_private_is_reached_whichever_way_it_is_asked_for() {
    let site = sample().await;
    let (private, visits) = site::private_port().await;
    let port = private.port();
    for (url, expected) in [
        (format!("https://127.0.0.1:{port}/"), "127.0.0.1 is private"),
        (
            format!("https://2130706433:{port}/"),
            "127.0.0.1 is private",
        ),
        (format!("https://0x7f.1:{port}/"), "127.0.0.1 is private"),
        (format!("https://[::1]:{port}/"), "::1 is private"),
        (format!("https://[::ffff:127.0.0.1]:{port}/"), "is private"),
        (
            format!("https://localhost:{port}/"),
            "`localhost` is not an allowed destination",
        ),
        (
            format!("http://127.0.0.2:{port}/"),
            "`http:` addresses are not fetched",
        ),
        (
            format!("{site}/to/https://127.0.0.1:{port}/"),
            "127.0.0.1 is private",
        ),
        (
            format!("{site}/to/https://localhost:{port}/"),
            "`localhost` is not an allowed destination",
        ),
        (
            format!("{site}/to/http://127.0.0.2:{port}/"),
            "`http:` addresses are not",
        ),
        (
            format!("{site}/to/file:///etc/passwd"),
            "`file:` addresses are not",
        ),
        (
            format!("{site}/to/https://ann:pw@127.0.0.2/"),
            "has a user or a password",
        ),
    ] {
        let error = read(&url, PageFormat::Markdown, 100).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{url}: {error}");
    }
    assert_eq!(visits.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_site_gets_no_cookie_and_no_login_and_must_prove_its_identity() {
    let site = sample().await;
    let reader = reader();
    for path in ["/cookie", "/headers"] {
        let url = format!("{site}{path}");
        let (format, max_chars) = (PageFormat::Raw, 1000);
        let page = reader
            .read(PageRequest {
                url,
                format,
                max_chars,
            })
            .await
            .unwrap();
        let (sent, _) = text(&page);
        for header in ["cookie", "authorization", "referer"] {
            assert!(!sent.contains(header), "{sent}");
        }
    }
    let stranger = PageReader::new(ReaderSettings::new(site::guard()));
    let (url, format, max_chars) = (site, PageFormat::Raw, 10);
    let error = stranger
        .read(PageRequest {
            url,
            format,
            max_chars,
        })
        .await
        .unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_site_that_never_answers_is_given_up() {
    let url = format!("{}/never", sample().await);
    let timeout = Duration::from_millis(300);
    let reader = PageReader::new(ReaderSettings {
        timeout,
        ..settings()
    });
    let (format, max_chars) = (PageFormat::Raw, 10);
    let error = reader
        .read(PageRequest {
            url,
            format,
            max_chars,
        })
        .await
        .unwrap_err();
    assert_eq!(error, PageError::TimedOut { after: timeout });
}

#[tokio::test]
async fn a_reader_service_gets_the_address_of_a_public_page_and_its_own_token() {
    let answer = |uri: Uri, headers: HeaderMap| async move {
        let token = headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
        format!("Title: Bread\n\n{uri} {token}")
    };
    let service = site::serve_plain(Router::new().fallback(answer)).await;
    let service = Url::parse(&format!("http://{service}/read")).unwrap();
    let lookup: Lookup = Arc::new(|name| (name == "TOKEN").then(|| "s3cret-token".to_owned()));
    let reader = PageReader::new(ReaderSettings {
        service: Some(ReaderService::new(
            service,
            Some(Template::new("${TOKEN}")),
            lookup,
        )),
        ..settings()
    });
    for (url, expected) in [
        (
            "https://127.0.0.2/a?b=c",
            "/read/https://127.0.0.2/a?b=c Bearer •••",
        ),
        (
            "https://localhost/a",
            "`localhost` is not an allowed destination",
        ),
        ("https://127.0.0.1/a", "127.0.0.1 is private"),
    ] {
        let (url, format, max_chars) = (url.to_owned(), PageFormat::Markdown, 1000);
        let found = match reader
            .read(PageRequest {
                url,
                format,
                max_chars,
            })
            .await
        {
            Ok(page) => text(&page).0.to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }
}
