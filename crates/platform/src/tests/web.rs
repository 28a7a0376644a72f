//! Tests of the tools for web pages. Real pages are read and captured in `crates/web` and in
//! end-to-end tests.

use std::time::Duration;

use kitbag_fetch::AddressGuard;
use kitbag_web::{
    BrowserSettings, PageReader, ReaderSettings, RootCertificates, ScreenshotRequest,
};

use super::*;

/// Returns pages that reach nothing: no address is allowed, every timeout is zero, and there is no
/// browser.
pub(super) fn unreachable_pages() -> WebPages {
    let guard: AddressGuard = Arc::new(|address| Err(address.to_string()));
    WebPages {
        reader: PageReader::new(ReaderSettings {
            timeout: Duration::from_millis(1),
            ..ReaderSettings::new(guard.clone())
        }),
        browser: Browser::new(BrowserSettings {
            program: Some("/nowhere/chromium".into()),
            roots: RootCertificates::default(),
            ..BrowserSettings::new(guard)
        }),
    }
}

#[tokio::test]
async fn unreachable_pages_have_an_error_code_and_a_remedy() {
    let kitbag = TestPlatform::open(None).await;
    for (call, arguments, expected) in [
        (
            "web-fetch fetch",
            json!({ "url": "http://a.example" }),
            "NOT_HTTPS: `http:`",
        ),
        (
            "web-fetch fetch",
            json!({ "url": "https://a@b.example" }),
            "INVALID_ARGUMENTS: the address has a user",
        ),
        (
            "web-fetch fetch",
            json!({ "url": "https://10.1.2.3/" }),
            "ADDRESS_REFUSED: the page was not fetched: `10.1.2.3`",
        ),
        (
            "web-fetch fetch",
            json!({ "url": "https://a.example", "format": "pdf" }),
            "INVALID_ARGUMENTS: invalid arguments",
        ),
        (
            "browser screenshot",
            json!({ "url": "file:///etc/passwd" }),
            "NOT_HTTPS: `file:`",
        ),
        (
            "browser screenshot",
            json!({ "url": "https://a.example", "width": 5000 }),
            "INVALID_ARGUMENTS: a screenshot must be between",
        ),
        // The path is only for the operator.
        (
            "browser screenshot",
            json!({ "url": "https://a.example" }),
            "CONFIG_MISSING: the browser that the configuration names does not exist",
        ),
    ] {
        let told = kitbag.call("acme", call, arguments.clone()).await;
        let told = told.as_str().unwrap();
        assert!(told.starts_with(expected), "{call} {arguments}: {told}");
        assert!(!told.contains("/nowhere"), "{told}");
    }
}

#[test]
fn the_tool_files_have_the_same_bounds_and_defaults_as_the_code() {
    let catalog = ToolCatalog::built_in();
    let usual = ScreenshotRequest::new("");
    let side = ScreenshotRequest::MAX_SIDE;
    let wait = ScreenshotRequest::MAX_WAIT.as_millis();
    for (tool, argument, bound, expected) in [
        ("browser", "width", "maximum", json!(side)),
        ("browser", "height", "maximum", json!(side)),
        ("browser", "width", "default", json!(usual.width)),
        ("browser", "height", "default", json!(usual.height)),
        ("browser", "full_page", "default", json!(usual.full_page)),
        ("browser", "wait_ms", "maximum", json!(wait)),
        (
            "browser",
            "quality",
            "default",
            json!(browser::DEFAULT_QUALITY),
        ),
        (
            "web-fetch",
            "max_chars",
            "default",
            json!(web_fetch::default_max_chars()),
        ),
    ] {
        let file = catalog.tools().iter().find(|it| it.id.as_str() == tool);
        let schema = file.unwrap().actions[0].arguments_schema();
        let found = &schema["properties"][argument][bound];
        assert_eq!(*found, expected, "{tool} {argument} {bound}");
    }
}
