//! Progress output for long work.
//!
//! One line is redrawn and finally cleared. Short waits, JSON output and anything but a terminal show
//! nothing.

use std::io::{self, IsTerminal as _, StderrLock, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::output::{Output, strip_controls};

/// Progress of running work; cleared when dropped.
#[derive(Debug)]
pub struct ProgressDisplay(Option<ProgressLine>);

#[derive(Debug)]
struct ProgressLine {
    texts: Sender<String>,
    /// Errors are ignored: they only occur if stderr is closed.
    writer: JoinHandle<io::Result<()>>,
}

impl Output {
    /// Shows `text` until the returned value is dropped.
    pub fn progress(self, text: &str) -> ProgressDisplay {
        if self.json || !io::stderr().is_terminal() {
            return ProgressDisplay(None);
        }
        let (texts, updates) = channel();
        let first = strip_controls(text);
        // Work may block the runtime's threads for seconds, so the writer has its own thread.
        let writer = std::thread::spawn(move || draw_line(first, &updates));
        ProgressDisplay(Some(ProgressLine { texts, writer }))
    }

    /// Shows `text` while `work` runs.
    pub async fn with_progress<T>(self, text: &str, work: impl Future<Output = T>) -> T {
        let _shown = self.progress(text);
        work.await
    }
}

impl ProgressDisplay {
    pub fn update(&self, text: &str) {
        if let Some(line) = &self.0 {
            // The send fails only if the writer has ended because it cannot write.
            let _gone = line.texts.send(strip_controls(text));
        }
    }
}

impl Drop for ProgressDisplay {
    /// Waits until the line is cleared, so that the next output starts on a clean line.
    fn drop(&mut self) {
        let Some(ProgressLine { texts, writer }) = self.0.take() else {
            return;
        };
        drop(texts);
        let _unheard = writer.join();
    }
}

/// Locks stderr and clears the progress line, which returns when the lock is dropped.
pub fn lock_stderr() -> StderrLock<'static> {
    let mut stderr = io::stderr().lock();
    // Nothing can be done if stderr is closed.
    let _unheard = clear_line(&mut stderr);
    stderr
}

/// Width of the progress line at the cursor.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// Redraws one line.
fn draw_line(mut text: String, updates: &Receiver<String>) -> io::Result<()> {
    let started = Instant::now();
    let mut wait = DRAW_DELAY;
    loop {
        match next_event(updates, wait) {
            ProgressEvent::Over => return clear_line(&mut io::stderr().lock()),
            ProgressEvent::Text(newer) => text = newer,
            ProgressEvent::None => {}
        }
        if started.elapsed() >= DRAW_DELAY {
            let width =
                terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
            let line = format_frame(&text, started.elapsed(), usize::from(width));
            let mut stderr = io::stderr().lock();
            clear_line(&mut stderr)?;
            SHOWN.store(line.chars().count(), Ordering::Relaxed);
            write!(stderr, "{line}")?;
            stderr.flush()?;
        }
        wait = FRAME_INTERVAL;
    }
}

enum ProgressEvent {
    Text(String),
    None,
    Over,
}

/// Waits for a new text and returns the latest.
fn next_event(updates: &Receiver<String>, wait: Duration) -> ProgressEvent {
    match updates.recv_timeout(wait) {
        Ok(text) => ProgressEvent::Text(updates.try_iter().last().unwrap_or(text)),
        Err(RecvTimeoutError::Timeout) => ProgressEvent::None,
        Err(RecvTimeoutError::Disconnected) => ProgressEvent::Over,
    }
}

fn format_frame(text: &str, since: Duration, width: usize) -> String {
    const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    let turn = (since.as_millis() / FRAME_INTERVAL.as_millis()) as usize % SPINNER.len();
    let line = format!("{} {text} ({} s)", SPINNER[turn], since.as_secs());
    // Some terminals wrap at the last column, and a wrapped line could not be cleared.
    line.replace('\n', " ")
        .chars()
        .take(width.saturating_sub(1))
        .collect()
}

/// Overwrites the line with spaces, which works in every terminal.
fn clear_line(out: &mut impl Write) -> io::Result<()> {
    match SHOWN.swap(0, Ordering::Relaxed) {
        0 => Ok(()),
        columns => write!(out, "\r{:columns$}\r", "").and_then(|()| out.flush()),
    }
}

const DRAW_DELAY: Duration = Duration::from_millis(400);
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_text_and_time_and_fits_the_terminal() {
        let check = |text: &str, seconds: f64, width, expected: &str| {
            assert_eq!(
                format_frame(text, Duration::from_secs_f64(seconds), width),
                expected
            );
        };
        check("Asking", 0.5, 80, "⠴ Asking (0 s)");
        check("Asking", 12.1, 80, "⠙ Asking (12 s)");
        check("Asking a server", 1.0, 10, "⠋ Asking ");
        check("two\nlines", 2.0, 80, "⠋ two lines (2 s)");
    }
}
