//! The failures of a screenshot, each with the responsible side and advice.

use std::path::PathBuf;
use std::time::Duration;

use kitbag_domain::Remedy;
use kitbag_fetch::guard::AddressRefusal;

use crate::AddressError;
use crate::reader::REFUSED;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrowserError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("a screenshot must be between 1 and {max} pixels wide and high")]
    Size { max: u32 },
    #[error("the quality of a JPEG must be between 1 and 100")]
    Quality,
    #[error("screenshots need a browser, and there is none on this machine")]
    Missing,
    #[error("the browser {} does not exist", program.display())]
    MissingProgram { program: PathBuf },
    #[error("Chromium needs `certutil` to trust your own certificate authorities")]
    MissingCertutil,
    #[error("the browser could not be started: {reason}")]
    NotStarted { reason: String },
    #[error("the page was not loaded: `{host}` is not an allowed destination: {reason}")]
    Refused { host: String, reason: String },
    #[error("the page could not be loaded from {origin}: {reason}")]
    Unreachable { origin: String, reason: String },
    #[error("the address leads to a file to download, not to a page")]
    Download,
    #[error("there was no screenshot within {after:?}")]
    TimedOut { after: Duration },
    #[error("the screenshot has more than {max} bytes")]
    TooLarge { max: usize },
    #[error("the page made the browser fail: {reason}")]
    Crashed { reason: String },
}

impl Remedy for BrowserError {
    fn remedy(&self) -> Option<String> {
        let advice = match self {
            Self::Address(error) => return error.remedy(),
            Self::Missing => {
                "install Chromium (`apt-get install chromium` on Debian), or name the program of a Chromium or Chrome in `program` under [browser]"
            }
            Self::MissingProgram { .. } => {
                "install Chromium (`apt-get install chromium` on Debian), and correct `program` under [browser] or leave it out"
            }
            Self::MissingCertutil => "install it (`apt-get install libnss3-tools` on Debian)",
            Self::NotStarted { reason } if reason.contains("sandbox") => {
                "Chromium needs user namespaces or its own helper (`apt-get install chromium-sandbox` on Debian) to isolate its pages"
            }
            Self::NotStarted { .. } => "start the program by hand to see the reason",
            Self::Unreachable { reason, .. } if reason.contains("ERR_CERT") => {
                "if the site's certificate is signed by an authority of your own, the operator can name it in `certificate_authorities` under [web]"
            }
            Self::Unreachable { .. } => "check the address",
            Self::Download => "fetch the file instead of a screenshot",
            Self::TimedOut { .. } | Self::Crashed { .. } => {
                "try again later, or read the page as text"
            }
            Self::TooLarge { .. } => "ask for a JPEG, or for the first screen only",
            Self::Size { .. } | Self::Quality => "ask again within these limits",
            Self::Refused { .. } => REFUSED,
        };
        Some(advice.to_owned())
    }
}

impl From<AddressRefusal> for BrowserError {
    fn from(AddressRefusal { host, reason }: AddressRefusal) -> Self {
        Self::Refused { host, reason }
    }
}
