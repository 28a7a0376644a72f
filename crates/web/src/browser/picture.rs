//! The steps from an address to a picture.

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
use crate::address::origin;

/// Some pages never stop fetching; what they show is there by then.
const IDLE_WITHIN: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_TITLE: usize = 1000;

/// A Chromium that takes one picture.
#[derive(Debug)]
pub(super) struct Photographer {
    process: ChromiumProcess,
    devtools: Devtools,
    proxy: GuardProxy,
}

impl Photographer {
    pub(super) fn new(process: ChromiumProcess, devtools: Devtools, proxy: GuardProxy) -> Self {
        Self {
            process,
            devtools,
            proxy,
        }
    }

    pub(super) async fn take(
        &mut self,
        url: &Url,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<Screenshot, BrowserError> {
        if let Err(error) = self.ask("Browser.getVersion", json!({})).await {
            return Err(self.not_started(&error));
        }
        let taken = self.take_with_running(url, view, load_until).await;
        taken.map_err(|failure| self.explain(failure, url))
    }

    /// Ends Chromium, and returns when nothing of it is left.
    pub(super) async fn end(self) {
        self.process.end().await;
    }

    async fn take_with_running(
        &mut self,
        url: &Url,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<Screenshot, PictureFailure> {
        self.open_page(view).await?;
        self.load(url).await?;
        let has_loaded = self.settle(view, load_until).await?;
        self.stays_on_the_web().await?;
        self.capture(view, has_loaded).await
    }

    async fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, DevtoolsError> {
        self.devtools.ask(method, params).await
    }

    /// Opens an empty page that reaches the network by way of our proxy.
    async fn open_page(&mut self, view: &PictureView) -> Result<(), PictureFailure> {
        let proxy = json!({ "proxyServer": self.proxy.url(), "proxyBypassList": "<-loopback>" });
        let context = self.ask("Target.createBrowserContext", proxy).await?;
        let context = &context["browserContextId"];
        let deny = json!({ "behavior": "deny", "browserContextId": context });
        self.ask("Browser.setDownloadBehavior", deny).await?;
        let page = json!({ "url": "about:blank", "browserContextId": context });
        let page = text(&self.ask("Target.createTarget", page).await?, "targetId");
        let attach = json!({ "targetId": page, "flatten": true });
        let session = self.ask("Target.attachToTarget", attach).await?;
        self.devtools.attach(text(&session, "sessionId"));
        self.devtools.page.target = Some(page);
        self.set_up(view).await
    }

    async fn set_up(&mut self, view: &PictureView) -> Result<(), PictureFailure> {
        self.ask("Page.enable", json!({})).await?;
        let tree = self.ask("Page.getFrameTree", json!({})).await?;
        self.devtools.page.frame = Some(text(&tree["frameTree"]["frame"], "id"));
        let screen = json!({
            "width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": false
        });
        self.ask("Emulation.setDeviceMetricsOverride", screen)
            .await?;
        let events = json!({ "enabled": true });
        self.ask("Page.setLifecycleEventsEnabled", events).await?;
        self.ask("Target.setDiscoverTargets", json!({ "discover": true }))
            .await?;
        Ok(())
    }

    async fn load(&mut self, url: &Url) -> Result<(), PictureFailure> {
        // The empty page has loaded, which says nothing of the one to come.
        self.devtools.page.begin(None);
        let begun = self
            .ask("Page.navigate", json!({ "url": url.as_str() }))
            .await?;
        match begun["errorText"].as_str() {
            _ if begun["isDownload"] == true => Err(PictureFailure::Download),
            Some(error) => Err(PictureFailure::NotLoaded(error.to_owned())),
            None => Ok(()),
        }
    }

    /// Waits until the page shows what it has; returns false if it was still loading then.
    async fn settle(
        &mut self,
        view: &PictureView,
        load_until: Instant,
    ) -> Result<bool, PictureFailure> {
        let has_loaded = self
            .devtools
            .follow(load_until, |page| page.has_loaded)
            .await?;
        let idle_until = load_until.min(Instant::now() + IDLE_WITHIN);
        let wanted = |page: &super::events::PageState| page.has_loaded && page.is_idle;
        self.devtools.follow(idle_until, wanted).await?;
        // A page that took its time to load waits less, so that there is time left for its picture.
        let shown_by = load_until.min(Instant::now() + view.wait);
        self.devtools.follow(shown_by, |_| false).await?;
        Ok(has_loaded)
    }

    /// A page may send itself elsewhere by a script, which ends at the proxy as everything does.
    async fn stays_on_the_web(&mut self) -> Result<(), PictureFailure> {
        let tree = self.ask("Page.getFrameTree", json!({})).await?;
        let frame = &tree["frameTree"]["frame"];
        let url = frame["url"].as_str().unwrap_or_default();
        match frame["unreachableUrl"].as_str() {
            Some(wanted) => Err(PictureFailure::LedAway(wanted.to_owned())),
            None if url.starts_with("https://") || url.starts_with("about:") => Ok(()),
            None => Err(PictureFailure::NotLoaded("it left the web".to_owned())),
        }
    }

    async fn capture(
        &mut self,
        view: &PictureView,
        has_loaded: bool,
    ) -> Result<Screenshot, PictureFailure> {
        let page_height = self.page_height().await?;
        let height = view.height_of(page_height);
        let bytes = self.picture(view, height).await?;
        let page = json!({ "targetId": self.devtools.page.target });
        let page = self.ask("Target.getTargetInfo", page).await?;
        let title: String = text(&page["targetInfo"], "title");
        let title: String = title.chars().take(MAX_TITLE).collect();
        Ok(Screenshot {
            bytes,
            format: view.format,
            width: view.width,
            height,
            page_height,
            url: text(&page["targetInfo"], "url"),
            title: Some(title).filter(|title| !title.is_empty()),
            status: self.status().await?,
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
        let metrics = self.ask("Page.getLayoutMetrics", json!({})).await?;
        let height = metrics["cssContentSize"]["height"].as_f64();
        // A conversion ends at the largest number.
        Ok(height.unwrap_or_default().ceil() as u32)
    }

    async fn picture(
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
        let picture = self.ask("Page.captureScreenshot", wanted).await?;
        let data = picture["data"].as_str().unwrap_or_default();
        let bytes = STANDARD.decode(data).unwrap_or_default();
        match bytes.len() {
            0 => Err(PictureFailure::NoPicture),
            size if size > MAX_BYTES => Err(PictureFailure::TooLarge),
            _ => Ok(bytes),
        }
    }

    /// Asks in a world of our own, where the page's scripts have changed nothing.
    async fn status(&mut self) -> Result<Option<u16>, PictureFailure> {
        const STATUS: &str = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0";
        let world = json!({ "frameId": self.devtools.page.frame });
        let world = self.ask("Page.createIsolatedWorld", world).await?;
        let question = json!({
            "expression": STATUS, "contextId": world["executionContextId"], "returnByValue": true
        });
        let answer = self.ask("Runtime.evaluate", question).await?;
        let status = answer["result"]["value"].as_u64().unwrap_or_default();
        Ok(u16::try_from(status).ok().filter(|status| *status > 0))
    }

    fn not_started(&self, error: &DevtoolsError) -> BrowserError {
        BrowserError::NotStarted {
            reason: format!("{error}: {}", self.process.last_words()),
        }
    }

    fn explain(&self, failure: PictureFailure, url: &Url) -> BrowserError {
        match failure {
            PictureFailure::Download => BrowserError::Download,
            PictureFailure::TooLarge | PictureFailure::Devtools(DevtoolsError::TooLarge) => {
                BrowserError::TooLarge { max: MAX_BYTES }
            }
            PictureFailure::NotLoaded(error) => self.not_loaded(error, url),
            PictureFailure::LedAway(wanted) => self.led_away(&wanted, url),
            failure => BrowserError::Crashed {
                reason: failure.to_string(),
            },
        }
    }

    /// The proxy knows better than Chromium why it did not connect.
    fn not_loaded(&self, error: String, url: &Url) -> BrowserError {
        let refusals = self.proxy.refusals();
        match refusals.last().filter(|_| is_of_proxy(&error)) {
            Some(refusal) => refusal.clone().into(),
            None => BrowserError::Unreachable {
                origin: origin(url),
                reason: error,
            },
        }
    }

    fn led_away(&self, wanted: &str, url: &Url) -> BrowserError {
        let host = Url::parse(wanted).ok();
        let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
        let refusals = self.proxy.refusals();
        match refusals.iter().find(|refusal| refusal.host == host) {
            Some(refusal) => refusal.clone().into(),
            None => BrowserError::Unreachable {
                origin: origin(url),
                reason: format!("it leads on to `{host}`, which could not be loaded"),
            },
        }
    }
}

/// The errors of Chromium when a proxy does not connect, and when it does not pass a request on.
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
    LedAway(String),
    #[error("there is no picture of it")]
    NoPicture,
    #[error("its picture is too large")]
    TooLarge,
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
