//! The part of a page to show, and its picture.

use std::time::Duration;

use super::error::BrowserError;

/// A longer page is truncated.
const MAX_HEIGHT: u32 = 50_000;
/// 50,000 lines of the usual width; Chromium stores each pixel in four bytes.
const MAX_PIXELS: u32 = 64_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenshotRequest {
    pub url: String,
    pub format: ImageFormat,
    /// True for the page down to its end; otherwise only its first screen.
    pub full_page: bool,
    /// The size of the screen, in pixels.
    pub width: u32,
    pub height: u32,
    /// An additional wait after the page has loaded, for content that its scripts render later.
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    /// From 1, small, to 100, good.
    Jpeg {
        quality: u8,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screenshot {
    pub bytes: Vec<u8>,
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// More than the height of the picture if the page was truncated, or only its first screen was
    /// requested.
    pub page_height: u32,
    /// After all redirects, including those by scripts.
    pub url: String,
    pub title: Option<String>,
    /// The status of the page itself, if known.
    pub status: Option<u16>,
    /// False if the page was still loading when its time ran out.
    pub has_loaded: bool,
    /// Parts of the page that were not fetched, each as the host and the reason.
    pub refused: Vec<String>,
}

impl ScreenshotRequest {
    /// Larger screens are rare, and memory grows with the area.
    pub const MAX_SIDE: u32 = 4096;
    /// A page that has not rendered by then will not.
    pub const MAX_WAIT: Duration = Duration::from_secs(10);

    /// Returns the request for the first screen of a page, on a screen of the usual size.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            format: ImageFormat::Png,
            full_page: false,
            width: 1280,
            height: 800,
            wait: Duration::ZERO,
        }
    }
}

impl ImageFormat {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg { .. } => "image/jpeg",
        }
    }
}

/// The part of a page to show, within limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureView {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) full_page: bool,
    pub(super) format: ImageFormat,
    pub(super) wait: Duration,
}

impl PictureView {
    pub(super) fn from_request(request: &ScreenshotRequest) -> Result<Self, BrowserError> {
        let sides = [request.width, request.height];
        let max = ScreenshotRequest::MAX_SIDE;
        if sides.iter().any(|side| !(1..=max).contains(side)) {
            return Err(BrowserError::Size { max });
        }
        if matches!(request.format, ImageFormat::Jpeg { quality } if !(1..=100).contains(&quality))
        {
            return Err(BrowserError::Quality);
        }
        Ok(Self {
            width: request.width,
            height: request.height,
            full_page: request.full_page,
            format: request.format,
            wait: request.wait.min(ScreenshotRequest::MAX_WAIT),
        })
    }

    /// Returns the height of the picture of a page.
    pub(super) fn picture_height(&self, page_height: u32) -> u32 {
        match self.full_page {
            true => page_height.clamp(1, MAX_HEIGHT.min(MAX_PIXELS / self.width)),
            false => self.height,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_stays_within_its_bounds() {
        let usual = ScreenshotRequest::new("https://example.com");
        let view = PictureView::from_request(&usual).unwrap();
        assert_eq!(view.picture_height(200_000), 800);
        let full = PictureView {
            full_page: true,
            ..view
        };
        assert_eq!(full.picture_height(1234), 1234);
        assert_eq!(full.picture_height(200_000), 50_000);
        assert_eq!(
            PictureView {
                width: 4000,
                ..full
            }
            .picture_height(200_000),
            16_000
        );
        assert_eq!(full.picture_height(0), 1);
        for bad in [
            ScreenshotRequest {
                width: 0,
                ..usual.clone()
            },
            ScreenshotRequest {
                height: 5000,
                ..usual.clone()
            },
            ScreenshotRequest {
                format: ImageFormat::Jpeg { quality: 0 },
                ..usual.clone()
            },
        ] {
            assert!(PictureView::from_request(&bad).is_err(), "{bad:?}");
        }
    }
}
