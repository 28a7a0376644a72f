//! The rooms for pages of the web, as the configuration wants them.

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

/// The rooms, and what they were made from.
#[derive(Clone)]
pub(crate) struct ConfiguredWeb {
    settings: WebSettings,
    roots: Option<RootCertificates>,
    /// Absent if the certificates cannot be used.
    pub(crate) pages: Option<Arc<WebPages>>,
}

impl ConfiguredWeb {
    pub(crate) fn new(settings: &WebSettings, lookup: &Lookup) -> Self {
        Self::of(settings, roots(settings), lookup)
    }

    /// With the same settings the rooms stay, with the number of pictures they take at once.
    pub(crate) fn succeeded_by(&self, settings: &WebSettings, lookup: &Lookup) -> Self {
        let roots = roots(settings);
        match self.settings == *settings && self.roots == roots {
            true => self.clone(),
            false => Self::of(settings, roots, lookup),
        }
    }

    fn of(settings: &WebSettings, roots: Option<RootCertificates>, lookup: &Lookup) -> Self {
        let pages = roots.clone().map(|roots| pages(settings, roots, lookup));
        Self {
            pages: pages.map(Arc::new),
            settings: settings.clone(),
            roots,
        }
    }
}

/// Returns the program that pictures pages.
pub fn browser_program(settings: &WebSettings) -> Result<PathBuf, BrowserError> {
    let guard = address_guard(settings.addresses.clone());
    browser(settings, RootCertificates::default(), guard).program()
}

/// Reads the operator's own certificates; none if they cannot be used.
fn roots(settings: &WebSettings) -> Option<RootCertificates> {
    let Some(path) = &settings.certificate_authorities else {
        return Some(RootCertificates::default());
    };
    match RootCertificates::read(path) {
        Ok(roots) => Some(roots),
        Err(error) => {
            let path = path.display();
            tracing::warn!(%path, %error, "`certificate_authorities` under [web] cannot be used, so no page is read");
            None
        }
    }
}

fn pages(settings: &WebSettings, roots: RootCertificates, lookup: &Lookup) -> WebPages {
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
        browser: browser(settings, roots, guard),
    }
}

fn browser(settings: &WebSettings, roots: RootCertificates, guard: AddressGuard) -> Browser {
    Browser::new(BrowserSettings {
        program: settings.browser_program.clone(),
        roots,
        ..BrowserSettings::new(guard)
    })
}
