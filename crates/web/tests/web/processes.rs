//! No process and no file of a browser outlives its screenshot.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use kitbag_web::{Browser, BrowserError, BrowserSettings, ScreenshotRequest};

use crate::browser::settings;
use crate::site;

/// Returns the folders of the browsers that a process has started.
fn folders(of: u32) -> BTreeSet<PathBuf> {
    let below = processes().filter(|pid| parent(*pid) == Some(of));
    below.filter_map(folder).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Returns the arguments, which a process that has ended no longer has.
fn arguments(pid: u32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).replace('\0', " ")
}

fn folder(pid: u32) -> Option<PathBuf> {
    let arguments = arguments(pid);
    let profile = arguments
        .split("--user-data-dir=")
        .nth(1)?
        .split(' ')
        .next()?;
    Path::new(profile).parent().map(Path::to_owned)
}

fn is_used(folder: &Path) -> bool {
    let folder = folder.to_string_lossy();
    processes().any(|pid| arguments(pid).contains(&*folder))
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {what}");
}

async fn browser_of(pid: u32) -> PathBuf {
    let mut found = BTreeSet::new();
    until("a browser", || {
        found = folders(pid);
        found.iter().any(|folder| folder.join("profile").is_dir())
    })
    .await;
    found.pop_first().unwrap()
}

async fn is_gone(folder: &Path) {
    until("gone", || !is_used(folder) && !folder.exists()).await;
}

async fn endless_site() -> String {
    let router = Router::new().route("/never", get(std::future::pending::<()>));
    let router = router.route("/", get(|| async { Html("hello") }));
    format!("https://{}", site::serve(router).await)
}

#[tokio::test]
async fn a_browser_is_gone_after_a_picture_a_timeout_and_a_cancellation() {
    let site = endless_site().await;
    let us = std::process::id();

    let (picture, folder) = tokio::join!(
        Box::pin(shoot(settings(), format!("{site}/"))),
        browser_of(us)
    );
    picture.unwrap();
    is_gone(&folder).await;

    let timeout = Duration::from_secs(4);
    let hurried = BrowserSettings {
        timeout,
        ..settings()
    };
    let (picture, folder) = tokio::join!(
        Box::pin(shoot(hurried, format!("{site}/never"))),
        browser_of(us)
    );
    assert_eq!(
        picture.unwrap_err(),
        BrowserError::TimedOut { after: timeout }
    );
    is_gone(&folder).await;

    let task = tokio::spawn(shoot(settings(), format!("{site}/never")));
    let folder = browser_of(us).await;
    task.abort();
    is_gone(&folder).await;
}

async fn shoot(settings: BrowserSettings, url: String) -> Result<(), BrowserError> {
    let browser = Browser::new(settings);
    let picture = Box::pin(browser.screenshot(ScreenshotRequest::new(url)));
    picture.await.map(drop)
}

#[tokio::test]
async fn a_browser_ends_even_if_we_are_killed() {
    let mut gateway = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::a_picture_that_never_ends",
            "--ignored",
        ])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let folder = browser_of(gateway.id()).await;
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    until("ended", || !is_used(&folder)).await;
    let _ = fs::remove_dir_all(folder);
}

#[tokio::test]
#[ignore = "another test starts it and kills it"]
async fn a_picture_that_never_ends() {
    let site = endless_site().await;
    let _ = shoot(settings(), format!("{site}/never")).await;
}
