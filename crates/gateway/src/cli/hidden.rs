//! Asks a person for something that nobody should read over their shoulder.

use std::io::{self, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::output::stderr;

/// A line typed at the terminal, which does not show it.
pub(super) async fn ask(prompt: &str) -> io::Result<String> {
    let _quiet = Quiet::begin()?;
    write!(stderr(), "{prompt}")?;
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    // An interrupt would otherwise end the process here and leave the terminal mute.
    let typed = tokio::select! {
        typed = typed => typed.map_err(io::Error::other)?,
        interrupted = tokio::signal::ctrl_c() => {
            Err(interrupted.err().unwrap_or_else(|| io::Error::from(io::ErrorKind::Interrupted)))
        }
    };
    // The line break that was not shown either.
    writeln!(stderr())?;
    typed
}

/// The terminal as it was before, put back in the end.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // What was typed before the question stays: it may have come from a paste.
        tcsetattr(io::stdin(), OptionalActions::Drain, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Nothing can be done for a terminal that has gone.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, &self.0);
    }
}
