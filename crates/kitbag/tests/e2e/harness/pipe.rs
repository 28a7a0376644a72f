//! A gateway on stdio, or the relay to one, as the child of its only client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::gateway::{Home, keep};
use super::{PATIENCE, processes};

#[derive(Debug)]
pub(crate) struct Pipe {
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    lines: tokio::sync::Mutex<UnboundedReceiver<String>>,
    log: Arc<Mutex<String>>,
}

impl Pipe {
    pub(crate) fn open(home: &Home, flags: &[&str]) -> Self {
        let mut child = home
            .command(&[&["serve", "--stdio"], flags].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self {
            log: keep(child.stderr.take().unwrap()),
            stdin: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
            lines: lines.into(),
        }
    }

    /// Writes these bytes and a line break.
    pub(crate) fn send(&self, line: &[u8]) {
        let mut stdin = self.stdin.lock().unwrap();
        let stdin = stdin.as_mut().expect("stdin is open");
        stdin
            .write_all(line)
            .and_then(|()| stdin.write_all(b"\n"))
            .and_then(|()| stdin.flush())
            .unwrap();
    }

    /// Writes exactly these bytes.
    pub(crate) fn send_part(&self, bytes: &[u8]) {
        let mut stdin = self.stdin.lock().unwrap();
        let stdin = stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    /// The next line of stdout; `None` once the gateway has closed it.
    pub(crate) async fn line(&self) -> Option<String> {
        let mut lines = self.lines.lock().await;
        tokio::time::timeout(PATIENCE, lines.recv())
            .await
            .expect("a line in time")
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks the process to end, like a service manager.
    pub(crate) fn terminate(&self) {
        processes::terminate(self.child.lock().unwrap().id());
    }

    /// Closes stdin, which is how a client disconnects, and waits for the exit.
    pub(crate) fn close(&self) -> Option<ExitStatus> {
        self.stdin.lock().unwrap().take();
        processes::wait(&mut self.child.lock().unwrap(), PATIENCE)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.stdin.lock().unwrap().take();
        let child = self.child.get_mut().unwrap();
        if processes::wait(child, Duration::from_secs(60)).is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- log of the gateway ---\n{}", self.log());
        }
    }
}
