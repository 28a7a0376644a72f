//! The program and its flags.

use std::path::{Path, PathBuf};

use super::error::BrowserError;

/// Debian's names first.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-headless-shell",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
];

/// Returns the configured program, or the first usual one on the `PATH`.
pub(super) fn find_program(configured: Option<&Path>) -> Result<PathBuf, BrowserError> {
    match configured {
        Some(program) if program.is_file() => Ok(program.to_owned()),
        Some(program) => Err(BrowserError::MissingProgram {
            program: program.to_owned(),
        }),
        None => find_on_path().ok_or(BrowserError::Missing),
    }
}

fn find_on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut candidates = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

pub(super) fn chromium_flags(profile: &Path) -> Vec<String> {
    let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    flags.push(format!("--user-data-dir={}", profile.display()));
    // Chromium refuses to start its sandbox as root.
    if rustix::process::geteuid().is_root() {
        flags.push("--no-sandbox".to_owned());
    }
    flags
}

const FLAGS: [&str; 36] = [
    "--headless",
    "--no-startup-window",
    // Unlike a port, a pipe belongs to Kitbag only.
    "--remote-debugging-pipe",
    // The browser itself reaches nothing: this port is closed. Pages get their own proxy.
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    // It resolves no names; the excepted address is Kitbag's proxy.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    // Nothing bypasses the proxy. Of the flags for WebRTC, older Chromiums only know the first.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    // It starts nothing by itself.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--disable-features=Translate,OptimizationHints,OptimizationGuideModelDownloading,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,NetworkTimeServiceQuerying",
    // Pages get nothing but a screen.
    "--deny-permission-prompts",
    "--disable-notifications",
    "--block-new-web-contents",
    "--mute-audio",
    "--disable-gpu",
    // Containers have little shared memory; the temporary folder serves as well.
    "--disable-dev-shm-usage",
    // The same page looks the same on every machine.
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--lang=en-US",
];
