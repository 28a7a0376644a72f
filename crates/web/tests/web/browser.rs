//! Screenshots show pages as a person would see them, and failures have a reason.

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::get;
use kitbag_domain::Remedy;
use kitbag_testkit::pixels::Pixels;
use kitbag_web::{
    Browser, BrowserError, BrowserSettings, ImageFormat, Screenshot, ScreenshotRequest,
};

use crate::site;

const GREEN: [u8; 3] = [0, 128, 0];
const WHITE: [u8; 3] = [255, 255, 255];

pub(crate) fn settings() -> BrowserSettings {
    BrowserSettings {
        roots: site::roots(),
        ..BrowserSettings::new(site::guard())
    }
}

#[track_caller]
pub(crate) fn pixels(picture: &Screenshot) -> Pixels {
    let pixels = Pixels::from_png(&picture.bytes);
    assert_eq!(
        (pixels.width, pixels.height),
        (picture.width, picture.height)
    );
    pixels
}

/// Nothing on this page is green before its scripts have run.
const LIVELY: &str = "<!doctype html><title>Lively</title><body><script>
    alert('hello'); window.open('/popup'); window.print();
    const refused = !confirm('sure?') && prompt('name?') === null;
    fetch('/colour').then(answer => answer.text()).then(colour => {
        document.body.style.background = refused ? colour : 'red';
    });
    window.onbeforeunload = () => 'stay';
    </script>";

#[tokio::test]
async fn a_page_is_captured_as_its_scripts_have_rendered_it() {
    let router = Router::new()
        .route("/", get(|| async { Redirect::to("/page") }))
        .route(
            "/page",
            get(|| async { (StatusCode::NOT_FOUND, Html(LIVELY)) }),
        )
        .route("/colour", get(|| async { "rgb(0, 128, 0)" }));
    let address = site::serve(router).await;
    let request = ScreenshotRequest {
        width: 640,
        height: 480,
        ..ScreenshotRequest::new(format!("https://{address}/"))
    };
    let picture = Browser::new(settings()).screenshot(request).await.unwrap();
    assert_eq!(pixels(&picture).at(600, 400), GREEN);
    assert_eq!((picture.width, picture.height), (640, 480));
    assert_eq!(picture.url, format!("https://{address}/page"));
    assert_eq!(picture.title.as_deref(), Some("Lively"));
    assert_eq!((picture.status, picture.has_loaded), (Some(404), true));
    assert_eq!(picture.refused, [""; 0]);
}

const LONG: &str = "<!doctype html><body style='margin: 0'>
    <div style='height: 49990px'></div><div style='height: 150010px; background: green'></div>";

#[tokio::test]
async fn a_page_is_captured_down_to_its_end_or_the_limit() {
    let address = site::serve(Router::new().route("/", get(|| async { Html(LONG) }))).await;
    let request = ScreenshotRequest {
        width: 100,
        full_page: true,
        ..ScreenshotRequest::new(format!("https://{address}/"))
    };
    let browser = Browser::new(settings());
    let picture = browser.screenshot(request.clone()).await.unwrap();
    assert_eq!((picture.height, picture.page_height), (50_000, 200_000));
    let pixels = pixels(&picture);
    assert_eq!(pixels.at(50, 49_980), WHITE);
    assert_eq!(pixels.at(50, 49_999), GREEN);

    let format = ImageFormat::Jpeg { quality: 50 };
    let jpeg = ScreenshotRequest {
        format,
        full_page: false,
        ..request
    };
    let picture = browser.screenshot(jpeg).await.unwrap();
    assert_eq!(picture.format.media_type(), "image/jpeg");
    assert!(picture.bytes.starts_with(&[0xff, 0xd8, 0xff]));
    assert_eq!((picture.height, picture.page_height), (800, 200_000));
}

const UNFINISHED: &str = "<!doctype html><body style='background: green'><img src=/never>";

#[tokio::test]
async fn a_page_that_never_stops_loading_is_captured_as_far_as_it_came() {
    let router = Router::new()
        .route("/", get(|| async { Html(UNFINISHED) }))
        .route("/never", get(std::future::pending::<()>));
    let address = site::serve(router).await;
    let browser = Browser::new(BrowserSettings {
        timeout: Duration::from_secs(25),
        ..settings()
    });
    let request = ScreenshotRequest::new(format!("https://{address}/"));
    let picture = browser.screenshot(request).await.unwrap();
    assert_eq!(pixels(&picture).at(1000, 700), GREEN);
    assert!(!picture.has_loaded);
}

#[tokio::test]
async fn an_address_without_a_page_is_reported_with_a_reason() {
    let file = [(header::CONTENT_DISPOSITION, "attachment; filename=a.bin")];
    let plain = site::serve_plain(Router::new()).await;
    let router = Router::new()
        .route(
            "/file",
            get(move || async move { (file, "bytes").into_response() }),
        )
        .route(
            "/plain",
            get(move || async move { Redirect::to(&format!("http://{plain}/")) }),
        );
    let site = format!("https://{}", site::serve(router).await);
    let closed = site::closed_port().await;
    let browser = Browser::new(settings());
    for (url, expected) in [
        (format!("{site}/file"), "a file to download"),
        (format!("{site}/plain"), "not encrypted"),
        (format!("https://{closed}/"), "Connection refused"),
        ("https://nothing.invalid/".to_owned(), "no address found"),
        ("file:///etc/passwd".to_owned(), "`file:` addresses are not"),
        ("data:text/html,hi".to_owned(), "`data:` addresses are not"),
    ] {
        let error = browser.screenshot(ScreenshotRequest::new(&url)).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    }
    let stranger = Browser::new(BrowserSettings::new(site::guard()));
    let error = stranger.screenshot(ScreenshotRequest::new(site)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("ERR_CERT_AUTHORITY_INVALID"), "{error}");
}

#[tokio::test]
async fn without_a_browser_the_error_names_the_program_to_install_or_the_setting() {
    let missing = BrowserError::Missing.remedy().unwrap();
    assert!(missing.contains("apt-get install chromium"), "{missing}");
    assert!(missing.contains("`program` under [browser]"), "{missing}");
    for (program, expected) in [
        ("/nowhere/chromium", "/nowhere/chromium does not exist"),
        ("/bin/false", "could not be started: it ended"),
    ] {
        let browser = Browser::new(BrowserSettings {
            program: Some(PathBuf::from(program)),
            ..settings()
        });
        let error = browser
            .screenshot(ScreenshotRequest::new("https://127.0.0.2"))
            .await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
