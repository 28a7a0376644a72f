//! The steps from an address to a screenshot.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::devtools::{Devtools, DevtoolsError};
use super::error::BrowserError;
use super::process::ChromiumProcess;
use super::proxy::{GuardProxy, Refusal};
use super::view::{ImageFormat, PictureView, Screenshot};
use crate::address::origin_of;

/// Some pages never stop fetching; their content is rendered by then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_TITLE: usize = 1000;

/// A Chromium that takes one screenshot.
#[derive(Debug)]
pub(super) struct ScreenshotSession {
    process: ChromiumProcess,
    devtools: Devtools,
    proxy: GuardProxy,
}

impl ScreenshotSession {
    pub(super) fn new(process: ChromiumProcess, devtools: Devtools, proxy: GuardProxy) -> Self {
        Self {
            process,
            devtools,
            proxy,
        }
    }

    pub(super) async fn take_picture(
        &mut self,
        url: &Url,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<Screenshot, BrowserError> {
        if let Err(error) = self.call("Browser.getVersion", json!({})).await {
            return Err(BrowserError::NotStarted {
                reason: format!("{error}: {}", self.process.last_output()),
            });
        }
        let taken = self.load_and_capture(url, view, load_until).await;
        taken.map_err(|failure| self.to_browser_error(failure, url))
    }

    /// Ends Chromium, and returns when all its processes are gone.
    pub(super) async fn end(self) {
        self.process.terminate().await;
    }

    async fn load_and_capture(
        &mut self,
        url: &Url,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<Screenshot, PictureFailure> {
        self.open_page(view).await?;
        self.navigate(url).await?;
        let has_loaded = self.wait_until_shown(view, load_until).await?;
        self.check_final_url().await?;
        self.take_screenshot(view, has_loaded).await
    }

    async fn call(&mut self, method: &'static str, params: Value) -> Result<Value, DevtoolsError> {
        self.devtools.call(method, params).await
    }

    /// Opens an empty page that reaches the network through Kitbag's proxy.
    async fn open_page(&mut self, view: &PictureView) -> Result<(), PictureFailure> {
        let proxy = json!({ "proxyServer": self.proxy.url(), "proxyBypassList": "<-loopback>" });
        let context = self.call("Target.createBrowserContext", proxy).await?;
        let context = &context["browserContextId"];
        let deny = json!({ "behavior": "deny", "browserContextId": context });
        self.call("Browser.setDownloadBehavior", deny).await?;
        let page = json!({ "url": "about:blank", "browserContextId": context });
        let page = text_field(&self.call("Target.createTarget", page).await?, "targetId");
        let attach = json!({ "targetId": page, "flatten": true });
        let session = self.call("Target.attachToTarget", attach).await?;
        self.devtools.set_session(text_field(&session, "sessionId"));
        self.devtools.page.target = Some(page);
        self.call("Page.enable", json!({})).await?;
        let tree = self.call("Page.getFrameTree", json!({})).await?;
        self.devtools.page.frame = Some(text_field(&tree["frameTree"]["frame"], "id"));
        let screen = json!({
            "width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", screen)
            .await?;
        let events = json!({ "enabled": true });
        self.call("Page.setLifecycleEventsEnabled", events).await?;
        self.call("Target.setDiscoverTargets", json!({ "discover": true }))
            .await?;
        Ok(())
    }

    async fn navigate(&mut self, url: &Url) -> Result<(), PictureFailure> {
        // The empty page has loaded, which says nothing about the next one.
        self.devtools.page.begin_document(None);
        let navigation = self
            .call("Page.navigate", json!({ "url": url.as_str() }))
            .await?;
        match navigation["errorText"].as_str() {
            _ if navigation["isDownload"] == true => Err(PictureFailure::Download),
            Some(error) => Err(PictureFailure::NotLoaded(error.to_owned())),
            None => Ok(()),
        }
    }

    /// Waits until the page has rendered; returns false if it was still loading then.
    async fn wait_until_shown(
        &mut self,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<bool, PictureFailure> {
        let has_loaded = self
            .devtools
            .wait_for(load_until, |page| page.has_loaded)
            .await?;
        let idle_until = load_until.min(Instant::now() + IDLE_TIMEOUT);
        let wanted = |page: &super::events::PageState| page.has_loaded && page.is_idle;
        self.devtools.wait_for(idle_until, wanted).await?;
        // A page that loaded slowly waits less, so that there is time left for its screenshot.
        let shown_by = load_until.min(Instant::now() + view.wait);
        self.devtools.wait_for(shown_by, |_| false).await?;
        Ok(has_loaded)
    }

    /// A page may navigate elsewhere by a script; the proxy checks that as well.
    async fn check_final_url(&mut self) -> Result<(), PictureFailure> {
        let tree = self.call("Page.getFrameTree", json!({})).await?;
        let frame = &tree["frameTree"]["frame"];
        let url = frame["url"].as_str().unwrap_or_default();
        match frame["unreachableUrl"].as_str() {
            Some(wanted) => Err(PictureFailure::LedElsewhere(wanted.to_owned())),
            None if url.starts_with("https://") || url.starts_with("about:") => Ok(()),
            None => Err(PictureFailure::NotLoaded(
                "it went to an address other than https".to_owned(),
            )),
        }
    }

    async fn take_screenshot(
        &mut self,
        view: &PictureView,
        has_loaded: bool,
    ) -> Result<Screenshot, PictureFailure> {
        let page_height = self.page_height().await?;
        let height = view.picture_height(page_height);
        let bytes = self.capture_image(view, height).await?;
        let page = json!({ "targetId": self.devtools.page.target });
        let page = self.call("Target.getTargetInfo", page).await?;
        let title: String = text_field(&page["targetInfo"], "title");
        let title: String = title.chars().take(MAX_TITLE).collect();
        Ok(Screenshot {
            bytes,
            format: view.format,
            width: view.width,
            height,
            page_height,
            url: text_field(&page["targetInfo"], "url"),
            title: Some(title).filter(|title| !title.is_empty()),
            status: self.read_status().await?,
            has_loaded,
            refused: self
                .proxy
                .refusals()
                .iter()
                .map(Refusal::to_string)
                .collect(),
        })
    }

    async fn page_height(&mut self) -> Result<u32, PictureFailure> {
        let metrics = self.call("Page.getLayoutMetrics", json!({})).await?;
        let height = metrics["cssContentSize"]["height"].as_f64();
        // The conversion saturates.
        Ok(height.unwrap_or_default().ceil() as u32)
    }

    async fn capture_image(
        &mut self,
        view: &PictureView,
        height: u32,
    ) -> Result<Vec<u8>, PictureFailure> {
        let clip = json!({ "x": 0, "y": 0, "width": view.width, "height": height, "scale": 1 });
        let mut wanted = json!({ "clip": clip, "captureBeyondViewport": view.full_page });
        match view.format {
            ImageFormat::Png => wanted["format"] = json!("png"),
            ImageFormat::Jpeg { quality } => {
                wanted["format"] = json!("jpeg");
                wanted["quality"] = json!(quality);
            }
        }
        let picture = self.call("Page.captureScreenshot", wanted).await?;
        let data = picture["data"].as_str().unwrap_or_default();
        let bytes = STANDARD.decode(data).unwrap_or_default();
        match bytes.len() {
            0 => Err(PictureFailure::NoPicture),
            size if size > MAX_BYTES => Err(PictureFailure::TooLarge),
            _ => Ok(bytes),
        }
    }

    /// Evaluated in an isolated world, which the page's scripts cannot change.
    async fn read_status(&mut self) -> Result<Option<u16>, PictureFailure> {
        const STATUS: &str = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0";
        let world = json!({ "frameId": self.devtools.page.frame });
        let world = self.call("Page.createIsolatedWorld", world).await?;
        let question = json!({
            "expression": STATUS, "contextId": world["executionContextId"], "returnByValue": true
        });
        let answer = self.call("Runtime.evaluate", question).await?;
        let status = answer["result"]["value"].as_u64().unwrap_or_default();
        Ok(u16::try_from(status).ok().filter(|status| *status > 0))
    }

    fn to_browser_error(&self, failure: PictureFailure, url: &Url) -> BrowserError {
        match failure {
            PictureFailure::Download => BrowserError::Download,
            PictureFailure::TooLarge | PictureFailure::Devtools(DevtoolsError::TooLarge) => {
                BrowserError::TooLarge { max: MAX_BYTES }
            }
            PictureFailure::NotLoaded(error) => self.not_loaded_error(error, url),
            PictureFailure::LedElsewhere(wanted) => self.led_elsewhere_error(&wanted, url),
            failure => BrowserError::Crashed {
                reason: failure.to_string(),
            },
        }
    }

    /// The proxy knows better than Chromium why it did not connect.
    fn not_loaded_error(&self, error: String, url: &Url) -> BrowserError {
        let refusals = self.proxy.refusals();
        match refusals.last().filter(|_| is_of_proxy(&error)) {
            Some(refusal) => refusal.clone().into(),
            None => BrowserError::Unreachable {
                origin: origin_of(url),
                reason: error,
            },
        }
    }

    fn led_elsewhere_error(&self, wanted: &str, url: &Url) -> BrowserError {
        let host = Url::parse(wanted).ok();
        let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
        let refusals = self.proxy.refusals();
        match refusals.iter().find(|refusal| refusal.host == host) {
            Some(refusal) => refusal.clone().into(),
            None => BrowserError::Unreachable {
                origin: origin_of(url),
                reason: format!("it leads on to `{host}`, which could not be loaded"),
            },
        }
    }
}

/// Chromium's errors for a proxy that does not connect or does not pass a request on.
fn is_of_proxy(error: &str) -> bool {
    error.contains("TUNNEL_CONNECTION_FAILED") || error.contains("HTTP_RESPONSE_CODE_FAILURE")
}

impl From<Refusal> for BrowserError {
    fn from(refusal: Refusal) -> Self {
        let Refusal {
            host,
            reason,
            by_guard,
        } = refusal;
        match by_guard {
            true => Self::Refused { host, reason },
            false => Self::Unreachable {
                origin: host,
                reason,
            },
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum PictureFailure {
    #[error("{0}")]
    Devtools(#[from] DevtoolsError),
    #[error("it is a download")]
    Download,
    #[error("{0}")]
    NotLoaded(String),
    #[error("it leads on to {0}")]
    LedElsewhere(String),
    #[error("it returned no picture")]
    NoPicture,
    #[error("its picture is too large")]
    TooLarge,
}

fn text_field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
