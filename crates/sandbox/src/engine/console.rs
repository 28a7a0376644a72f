//! Lines that a program prints are sent to the gateway at once, so that they survive a killed run.

use std::cell::Cell;

use rquickjs::{Ctx, Result, Value};

use super::json;
use super::text::text;
use crate::outcome::{ConsoleLevel, ConsoleLine};
use crate::protocol::{FromWorker, MAX_TEXT};
use crate::worker::GatewayPipe;

#[derive(Debug)]
pub(crate) struct Console {
    /// The bytes that may still be printed; `None` once the limit was exceeded.
    left: Cell<Option<usize>>,
    pipe: GatewayPipe,
}

impl Console {
    pub(crate) fn new(most: usize, pipe: GatewayPipe) -> Self {
        Self {
            left: Cell::new(Some(most.min(MAX_TEXT))),
            pipe,
        }
    }

    pub(crate) fn print<'js>(
        &self,
        ctx: &Ctx<'js>,
        level: ConsoleLevel,
        values: &[Value<'js>],
    ) -> Result<()> {
        let Some(left) = self.left.get() else {
            return Ok(());
        };
        let mut line = Vec::new();
        for value in values {
            line.push(to_text(ctx, value, left)?);
        }
        self.write(level, line.join(" "));
        Ok(())
    }

    /// Sends a line while there is room, and then once the notice that more was printed.
    pub(crate) fn write(&self, level: ConsoleLevel, text: String) {
        let Some(left) = self.left.get() else { return };
        let mut line = ConsoleLine { level, text };
        self.left.set(left.checked_sub(line.size()));
        if self.left.get().is_none() {
            line.text.truncate(line.text.floor_char_boundary(left));
            line.text.push_str(MORE);
        }
        self.send(line);
    }

    /// If the gateway is gone, the worker notices when it waits for the next message.
    fn send(&self, line: ConsoleLine) {
        let _ = self.pipe.send(&FromWorker::Console(line));
    }
}

const MORE: &str = "\n… more was printed";

/// Formats text as it is, everything else as JSON.
fn to_text<'js>(ctx: &Ctx<'js>, value: &Value<'js>, most: usize) -> Result<String> {
    match value.as_string() {
        Some(string) => text(ctx, string),
        None if value.is_undefined() => Ok("undefined".to_owned()),
        None => json::format_lenient(ctx, value, most),
    }
}
