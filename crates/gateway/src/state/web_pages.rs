//! Builds the page reader and the browser from the `[web]` section of the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use kitbag_config::{ReaderEndpoint, WebSettings};
use kitbag_domain::Lookup;
use kitbag_fetch::AddressGuard;
use kitbag_platform::WebPages;
pub use kitbag_web::BrowserError;
use kitbag_web::{
    Browser, BrowserSettings, PageReader, ReaderService, ReaderSettings, RootCertificates,
};

use crate::state::address_guard::address_guard;

/// The page reader and the browser, and the settings they were built from.
#[derive(Clone)]
pub(crate) struct ConfiguredWeb {
    settings: WebSettings,
    roots: Option<RootCertificates>,
    /// `None` if the certificates cannot be used.
    pub(crate) pages: Option<Arc<WebPages>>,
}

impl ConfiguredWeb {
    pub(crate) fn new(settings: &WebSettings, lookup: &Lookup) -> Self {
        Self::with_roots(settings, load_roots(settings), lookup)
    }

    /// Reuses the reader and the browser if the settings are the same, so that the limit of
    /// concurrent screenshots stays shared.
    pub(crate) fn with_settings(&self, settings: &WebSettings, lookup: &Lookup) -> Self {
        let roots = load_roots(settings);
        match self.settings == *settings && self.roots == roots {
            true => self.clone(),
            false => Self::with_roots(settings, roots, lookup),
        }
    }

    fn with_roots(
        settings: &WebSettings,
        roots: Option<RootCertificates>,
        lookup: &Lookup,
    ) -> Self {
        let pages = roots
            .clone()
            .map(|roots| build_pages(settings, roots, lookup));
        Self {
            pages: pages.map(Arc::new),
            settings: settings.clone(),
            roots,
        }
    }
}

/// Returns the path of the browser that takes screenshots.
pub fn browser_program(settings: &WebSettings) -> Result<PathBuf, BrowserError> {
    let guard = address_guard(settings.addresses.clone());
    build_browser(settings, RootCertificates::default(), guard).program()
}

/// Reads the operator's certificate authorities. Returns `None` if they cannot be used.
fn load_roots(settings: &WebSettings) -> Option<RootCertificates> {
    let Some(path) = &settings.certificate_authorities else {
        return Some(RootCertificates::default());
    };
    match RootCertificates::read_file(path) {
        Ok(roots) => Some(roots),
        Err(error) => {
            let path = path.display();
            tracing::warn!(%path, %error, "`certificate_authorities` under [web] cannot be used; reading web pages is disabled");
            None
        }
    }
}

fn build_pages(settings: &WebSettings, roots: RootCertificates, lookup: &Lookup) -> WebPages {
    let guard = address_guard(settings.addresses.clone());
    let service = settings
        .reader
        .clone()
        .map(|ReaderEndpoint { url, token }| ReaderService::new(url, token, lookup.clone()));
    WebPages {
        reader: PageReader::new(ReaderSettings {
            service,
            roots: roots.clone(),
            ..ReaderSettings::new(guard.clone())
        }),
        browser: build_browser(settings, roots, guard),
    }
}

fn build_browser(settings: &WebSettings, roots: RootCertificates, guard: AddressGuard) -> Browser {
    Browser::new(BrowserSettings {
        program: settings.browser_program.clone(),
        roots,
        ..BrowserSettings::new(guard)
    })
}
