//! A page as a picture.
#[derive(Debug)]
pub struct Browser;
#[derive(Debug)]
pub struct BrowserError;
#[derive(Debug)]
pub struct BrowserSettings;
#[derive(Debug)]
pub struct ImageFormat;
#[derive(Debug)]
pub struct Screenshot;
#[derive(Debug)]
pub struct ScreenshotRequest;
