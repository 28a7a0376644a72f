//! Takes screenshots of pages: a headless Chromium loads a page, runs its scripts and renders it.
//!
//! Each screenshot has its own Chromium with an empty profile, which ends with it. A warm one would
//! halve the time of about a second; a fresh one carries nothing from one page to the next.
//!
//! Chromium reaches the network only through Kitbag's proxy, which resolves names through the guard
//! and connects itself. So the guard applies to every request of a page, however it is made.
//!
//! # Layout
//! - this file: the browser and its settings, and one screenshot from start to end
//! - `view`: the part of the page to show
//! - `program`: the program and its flags
//! - `process`: its lifetime and its folder
//! - `trust`: the operator's certificate authorities, in the form that Chromium reads
//! - `proxy`: its access to the network
//! - `devtools`: the connection to it
//! - `events`: the state of the page, as its events report it
//! - `picture`: the steps from an address to a screenshot
//! - `error`: the failures, and their advice

mod devtools;
mod error;
mod events;
mod picture;
mod process;
mod program;
mod proxy;
mod trust;
mod view;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kitbag_fetch::AddressGuard;
use kitbag_fetch::guard::{self, ResolveError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

use crate::RootCertificates;
use crate::address::{self, origin_of};

pub use error::BrowserError;
pub use view::{ImageFormat, Screenshot, ScreenshotRequest};

use devtools::Devtools;
use picture::ScreenshotSession;
use process::ChromiumProcess;
use proxy::GuardProxy;
use view::PictureView;

/// For a whole screenshot, including the start of Chromium and the wait for a slot.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Each takes about 400 MB and a core while a page loads.
const MAX_CONCURRENT: usize = 2;

pub struct BrowserSettings {
    /// By default, the usual names are looked up on the `PATH`.
    pub program: Option<PathBuf>,
    /// Allows or rejects each address that a page requests something from.
    pub guard: AddressGuard,
    pub roots: RootCertificates,
    /// For everything from the request to the screenshot.
    pub timeout: Duration,
    /// More screenshots wait until their time is up.
    pub max_concurrent: usize,
}

/// Takes screenshots of pages. Nothing runs while none is taken.
pub struct Browser {
    settings: BrowserSettings,
    permits: Arc<Semaphore>,
}

impl BrowserSettings {
    /// Returns settings for pages wherever the guard allows, with a browser from the `PATH`.
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            program: None,
            guard,
            roots: RootCertificates::default(),
            timeout: TIMEOUT,
            max_concurrent: MAX_CONCURRENT,
        }
    }
}

impl Browser {
    pub fn new(settings: BrowserSettings) -> Self {
        let permits = Arc::new(Semaphore::new(settings.max_concurrent));
        Self { settings, permits }
    }

    /// Returns the program that would be started.
    pub fn program(&self) -> Result<PathBuf, BrowserError> {
        program::find_program(self.settings.program.as_deref())
    }

    /// Takes a screenshot. If the future is dropped, Chromium ends.
    pub async fn screenshot(&self, request: ScreenshotRequest) -> Result<Screenshot, BrowserError> {
        let after = self.settings.timeout;
        let done = tokio::time::timeout(after, Box::pin(self.take_picture(request))).await;
        done.unwrap_or(Err(BrowserError::TimedOut { after }))
    }

    async fn take_picture(&self, request: ScreenshotRequest) -> Result<Screenshot, BrowserError> {
        // A third of the time is reserved for the screenshot of a page that never stops loading.
        let load_until = Instant::now() + self.settings.timeout * 2 / 3;
        let url = address::parse_address(&request.url)?;
        let view = PictureView::from_request(&request)?;
        let program = self.program()?;
        self.check_host(&url).await?;
        let proxy = GuardProxy::start(self.settings.guard.clone()).await?;
        let permit = self.acquire_permit().await;
        let (process, devtools) = self.launch(&program, permit).await?;
        let mut session = ScreenshotSession::new(process, devtools, proxy);
        let taken = session.take_picture(&url, &view, load_until).await;
        session.end().await;
        taken
    }

    /// Rejects a host at once that the proxy would reject later.
    async fn check_host(&self, url: &Url) -> Result<(), BrowserError> {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_matches(['[', ']']);
        match guard::resolve(host, 443, &self.settings.guard).await {
            Ok(_) => Ok(()),
            Err(ResolveError::Refused(refused)) => Err(refused.into()),
            Err(error @ ResolveError::Unknown(_)) => Err(BrowserError::Unreachable {
                origin: origin_of(url),
                reason: error.to_string(),
            }),
        }
    }

    async fn acquire_permit(&self) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    async fn launch(
        &self,
        program: &std::path::Path,
        permit: OwnedSemaphorePermit,
    ) -> Result<(ChromiumProcess, Devtools), BrowserError> {
        let folder = process::create_folder()?;
        trust::write_authorities(&self.settings.roots, folder.path()).await?;
        process::launch(program, folder, permit)
    }
}

impl fmt::Debug for BrowserSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserSettings")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Browser").field(&self.settings).finish()
    }
}
