//! Lines that a program prints go to the gateway at once, so that they outlive a run that is killed.

use std::cell::Cell;

use rquickjs::{Ctx, Result, Value};

use super::json;
use super::text::text;
use crate::outcome::ConsoleLine;
use crate::protocol::{FromWorker, MOST_TEXT};
use crate::worker::GatewayPipe;

#[derive(Debug)]
pub(crate) struct Console {
    left: Cell<usize>,
    pipe: GatewayPipe,
}

impl Console {
    pub(crate) fn new(most: usize, pipe: GatewayPipe) -> Self {
        Self {
            left: Cell::new(most),
            pipe,
        }
    }

    pub(crate) fn print<'js>(
        &self,
        ctx: &Ctx<'js>,
        level: &str,
        values: &[Value<'js>],
    ) -> Result<()> {
        let mut line = Vec::new();
        for value in values {
            line.push(shown(ctx, value, self.left.get())?);
        }
        self.write(level, &line.join(" "));
        Ok(())
    }

    pub(crate) fn write(&self, level: &str, line: &str) {
        let left = self.left.get().min(MOST_TEXT);
        if left == 0 {
            return;
        }
        let fits = line.len() <= left;
        self.send(level, &line[..line.floor_char_boundary(left)]);
        self.left.set(if fits { left - line.len() } else { 0 });
        if self.left.get() == 0 {
            self.send(level, MORE);
        }
    }

    /// If the gateway is gone, the worker finds out when it waits for the next message.
    fn send(&self, level: &str, text: &str) {
        let _ = self.pipe.send(&FromWorker::Console(ConsoleLine {
            level: level.to_owned(),
            text: text.to_owned(),
        }));
    }
}

const MORE: &str = "… more was printed";

/// Text as it is, everything else as JSON.
fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>, most: usize) -> Result<String> {
    match value.as_string() {
        Some(string) => text(ctx, string),
        None if value.is_undefined() => Ok("undefined".to_owned()),
        None => json::shown(ctx, value, most),
    }
}
