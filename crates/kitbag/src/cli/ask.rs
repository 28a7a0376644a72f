//! Prompts at the terminal; a secret is not echoed.

use std::io::{self, IsTerminal as _, Write as _};

use super::output::stderr;

/// True if stdin and stderr are a terminal.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Reads one line, without its line break.
pub fn read_line(question: &str) -> io::Result<String> {
    print_question(question)?;
    let mut text = String::new();
    if io::stdin().read_line(&mut text)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

/// Reads one line without echo.
pub fn read_secret(question: &str) -> io::Result<String> {
    let hidden = hidden::hide_typing()?;
    let answer = print_question(question).and_then(|()| hidden.read_line());
    drop(hidden);
    // The terminal did not echo the Enter either.
    writeln!(stderr())?;
    if answer
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
    {
        hidden::interrupt();
    }
    answer
}

fn print_question(question: &str) -> io::Result<()> {
    write!(stderr(), "{question}")?;
    io::stderr().flush()
}

#[cfg(unix)]
mod hidden {
    use std::io::{self, Read as _};

    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    /// Turns echo off until dropped. An interrupt ends the line instead of the process, which would
    /// leave the terminal without echo.
    pub(super) struct HiddenTyping(Termios);

    pub(super) fn hide_typing() -> io::Result<HiddenTyping> {
        let before = tcgetattr(io::stdin())?;
        let mut without_echo = before.clone();
        without_echo
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        without_echo.special_codes[SpecialCodeIndex::VEOL] =
            before.special_codes[SpecialCodeIndex::VINTR];
        tcsetattr(io::stdin(), OptionalActions::Flush, &without_echo)?;
        Ok(HiddenTyping(before))
    }

    impl HiddenTyping {
        pub(super) fn read_line(&self) -> io::Result<String> {
            let interrupt = self.0.special_codes[SpecialCodeIndex::VINTR];
            let mut typed = Vec::new();
            for byte in io::stdin().lock().bytes() {
                match byte? {
                    b'\n' => {
                        return String::from_utf8(typed)
                            .map_err(|_| io::ErrorKind::InvalidData.into());
                    }
                    byte if byte == interrupt => return Err(io::ErrorKind::Interrupted.into()),
                    byte => typed.push(byte),
                }
            }
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    impl Drop for HiddenTyping {
        fn drop(&mut self) {
            // If the terminal is gone, there is nothing to restore.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// Sends the signal that the terminal would have sent.
    pub(super) fn interrupt() {
        let _alone = kill_process(getpid(), Signal::INT);
    }
}

#[cfg(not(unix))]
mod hidden {
    use std::io;

    /// This system cannot turn echo off; the answer is read anyway.
    pub(super) struct ShownTyping;

    pub(super) fn hide_typing() -> io::Result<ShownTyping> {
        Ok(ShownTyping)
    }

    impl ShownTyping {
        pub(super) fn read_line(&self) -> io::Result<String> {
            super::read_line("")
        }
    }

    pub(super) fn interrupt() {}
}
