//! A pseudo terminal for programs that need one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(crate) struct Terminal {
    controller: File,
    name: String,
    shown: String,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new())
            .unwrap()
            .into_string()
            .unwrap();
        Self {
            controller: controller.into(),
            name,
            shown: String::new(),
        }
    }

    /// The program's end.
    pub(crate) fn end(&self) -> File {
        File::options()
            .read(true)
            .write(true)
            .open(&self.name)
            .unwrap()
    }

    pub(crate) fn stdio(&self) -> Stdio {
        self.end().into()
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the text is shown.
    pub(crate) fn wait_for(&mut self, words: &str) {
        while !self.shown.contains(words) {
            assert!(self.read_more(), "never shown: {words}, but {}", self.shown);
        }
    }

    /// Returns all output until the last program closes the terminal.
    pub(crate) fn read_to_end(mut self) -> String {
        while self.read_more() {}
        self.shown
    }

    /// Reads more output; false once no process has the other end open.
    fn read_more(&mut self) -> bool {
        let mut part = [0; 1024];
        match self.controller.read(&mut part) {
            Ok(length @ 1..) => {
                self.shown
                    .push_str(&String::from_utf8_lossy(&part[..length]));
                true
            }
            _ => false,
        }
    }
}
