//! Asks the person at the terminal; what is a secret does not show while they type it.

use std::io::{self, IsTerminal as _, Write as _};

use super::output::stderr;

/// Whether there is somebody who can answer.
pub fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// One line, without its end.
pub fn line(question: &str) -> io::Result<String> {
    write!(stderr(), "{question}")?;
    io::stderr().flush()?;
    read()
}

/// One line that nobody who looks over a shoulder can read.
pub fn secret(question: &str) -> io::Result<String> {
    let hidden = hidden::Hidden::begin()?;
    let answer = line(question);
    drop(hidden);
    // The Enter was not shown either.
    writeln!(stderr())?;
    answer
}

fn read() -> io::Result<String> {
    let mut text = String::new();
    if io::stdin().read_line(&mut text)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

#[cfg(unix)]
mod hidden {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// While this lives, the terminal does not show what is typed.
    pub(super) struct Hidden(Termios);

    impl Hidden {
        pub(super) fn begin() -> io::Result<Self> {
            let before = tcgetattr(io::stdin())?;
            let mut without_echo = before.clone();
            without_echo.local_modes.remove(LocalModes::ECHO);
            tcsetattr(io::stdin(), OptionalActions::Flush, &without_echo)?;
            Ok(Self(before))
        }
    }

    impl Drop for Hidden {
        fn drop(&mut self) {
            // A terminal that has gone shows nothing anyway.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }
}

#[cfg(not(unix))]
mod hidden {
    use std::io;

    /// Where nothing can be hidden, at least nobody is kept from answering.
    pub(super) struct Hidden;

    impl Hidden {
        pub(super) fn begin() -> io::Result<Self> {
            Ok(Self)
        }
    }
}
