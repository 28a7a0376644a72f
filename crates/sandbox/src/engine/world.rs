//! The world of one program: the functions it can call, and what it waits for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::function::IntoJsFunc;
use rquickjs::{Array, Ctx, Function, Object, Result, Value};
use serde_json::value::RawValue;

use super::console::Console;
use super::hints::{self, Circumstances};
use super::json::{self, NoJson};
use super::meter::{CpuMeter, MemoryMeter};
use super::program_text::ProgramText;
use super::request::{self, Unanswered};
use super::timers::Timers;
use super::{Ended, failure};
use crate::host::HostAnswer;
use crate::outcome::{ConsoleLevel, RunFailure};
use crate::protocol::{MOST_TEXT, RunJob};
use crate::worker::GatewayPipe;

#[derive(Debug)]
pub(crate) struct ProgramWorld<'a, 'js> {
    pub desk: Rc<ProgramDesk<'js>>,
    ctx: Ctx<'js>,
    job: &'a RunJob,
    text: &'a ProgramText<'a>,
    meter: CpuMeter,
    memory: MemoryMeter,
}

/// The part of the world that the functions of the program hold on to. The context is not in it:
/// it holds on to those functions itself, and neither would ever be freed.
#[derive(Debug)]
pub(crate) struct ProgramDesk<'js> {
    pub pipe: GatewayPipe,
    pub timers: Timers<'js>,
    pub console: Console,
    pub unanswered: RefCell<HashMap<u64, Unanswered<'js>>>,
    /// The kind of the last answer of each tool, for advice.
    answers: RefCell<HashMap<String, String>>,
}

impl<'a, 'js> ProgramWorld<'a, 'js> {
    pub(crate) fn new(
        ctx: &Ctx<'js>,
        job: &'a RunJob,
        text: &'a ProgramText<'a>,
        pipe: &GatewayPipe,
        meter: CpuMeter,
    ) -> Self {
        Self {
            desk: Rc::new(ProgramDesk::new(job, pipe)),
            ctx: ctx.clone(),
            job,
            text,
            meter,
            memory: MemoryMeter::start(job.memory),
        }
    }

    /// Puts everything that a program can use into the global object.
    pub(crate) fn furnish(&self) -> Result<()> {
        let params = self.job.params.as_ref().map_or("{}", |params| params.get());
        let params = self.ctx.json_parse(params)?;
        let prelude: Function<'js> = self.ctx.eval(PRELUDE)?;
        prelude.call((self.native()?, params))
    }

    fn native(&self) -> Result<Object<'js>> {
        let native = Object::new(self.ctx.clone())?;
        request::install(&native, &self.desk)?;
        let desk = self.desk.clone();
        define(&native, "setTimer", move |function, after| {
            desk.timers.set(function, after)
        })?;
        let desk = self.desk.clone();
        define(&native, "clearTimer", move |number| {
            desk.timers.clear(number);
        })?;
        let desk = self.desk.clone();
        define(&native, "print", move |ctx, level: String, values| {
            desk.print(&ctx, &level, &values)
        })?;
        define(&native, "uuid", uuid)?;
        Ok(native)
    }

    /// Runs what promises have made ready; a failure if the program used up its processor time.
    pub(crate) fn run_jobs(&self) -> Option<RunFailure> {
        while !self.meter.is_over() && self.ctx.execute_pending_job() {}
        self.meter.is_over().then(|| self.too_busy())
    }

    pub(crate) fn fire(&self) -> Option<RunFailure> {
        let function = self.desk.timers.take_due()?;
        let fired = function.call::<_, ()>(());
        fired.err().map(|_| self.failure(&self.ctx.catch()))
    }

    /// Takes in an answer. A program that has returned no longer hears it.
    pub(crate) fn answered(&self, id: u64, answer: HostAnswer, heard: bool) {
        let waiting = self.desk.unanswered.borrow_mut().remove(&id);
        if let Some(waiting) = waiting {
            // Only a lack of memory makes this fail, and then the program hears of it soon.
            let _ = waiting.settle(&self.ctx, &answer);
            self.desk.remember(waiting, answer, heard);
        }
    }

    pub(crate) fn awaits_answers(&self) -> bool {
        !self.desk.unanswered.borrow().is_empty()
    }

    /// True if nothing can happen any more.
    pub(crate) fn is_idle(&self) -> bool {
        !self.awaits_answers() && self.desk.timers.next().is_none()
    }

    pub(crate) fn returned(&self, value: &Value<'js>) -> Ended {
        let most = self.job.output.min(MOST_TEXT);
        match json::exact(&self.ctx, value, "the value", most) {
            Ok(text) => self.checked(text),
            Err(NoJson::Unfit { reason }) => Err(RunFailure::NotJson { reason }),
            Err(NoJson::TooLong) => Err(RunFailure::TooMuchOutput { most }),
            Err(NoJson::Thrown) => Err(self.failure(&self.ctx.catch())),
        }
    }

    fn checked(&self, json: String) -> Ended {
        if json.contains("[object Promise]") {
            let warning = hints::PROMISE_IN_TEXT.to_owned();
            self.desk.console.write(ConsoleLevel::Warn, warning);
        }
        RawValue::from_string(json).map_err(|error| RunFailure::NotJson {
            reason: error.to_string(),
        })
    }

    pub(crate) fn failure(&self, thrown: &Value<'js>) -> RunFailure {
        if failure::is_out_of_memory(&self.ctx, thrown, self.memory) && !self.meter.is_over() {
            return RunFailure::TooMuchMemory {
                bytes: self.job.memory,
            };
        }
        let told = self.told(thrown);
        // Telling it runs code of the program, such as getters.
        if self.meter.is_over() {
            return self.too_busy();
        }
        told
    }

    fn told(&self, thrown: &Value<'js>) -> RunFailure {
        let answers = self.desk.answers.borrow();
        let circumstances = Circumstances {
            calls_are_open: self.awaits_answers(),
            answers: Some(&answers),
            ..Circumstances::default()
        };
        failure::thrown(&self.ctx, thrown, self.text, circumstances)
    }

    fn too_busy(&self) -> RunFailure {
        RunFailure::TooBusy {
            after: self.job.cpu,
        }
    }

    pub(crate) fn clear(&self) {
        self.desk.unanswered.borrow_mut().clear();
        self.desk.timers.clear_all();
    }
}

impl<'js> ProgramDesk<'js> {
    fn new(job: &RunJob, pipe: &GatewayPipe) -> Self {
        Self {
            pipe: pipe.clone(),
            timers: Timers::default(),
            console: Console::new(job.output, pipe.clone()),
            unanswered: RefCell::default(),
            answers: RefCell::default(),
        }
    }

    fn remember(&self, request: Unanswered<'js>, answer: HostAnswer, heard: bool) {
        match answer {
            Ok(answer) => {
                let kind = hints::kind(&answer);
                self.answers.borrow_mut().insert(request.name, kind);
            }
            Err(error) if !heard => self.console.write(
                ConsoleLevel::Warn,
                format!(
                    "{} was called without `await` and failed: {error}",
                    request.name
                ),
            ),
            Err(_) => {}
        }
    }

    fn print(&self, ctx: &Ctx<'js>, level: &str, values: &Array<'js>) -> Result<()> {
        let values: Vec<_> = values.iter().collect::<Result<_>>()?;
        self.console.print(ctx, console_level(level), &values)
    }
}

/// Puts a function of Rust into an object.
pub(crate) fn define<'js, P>(
    object: &Object<'js>,
    name: &str,
    function: impl IntoJsFunc<'js, P> + 'js,
) -> Result<()> {
    object.set(name, Function::new(object.ctx().clone(), function)?)
}

fn console_level(name: &str) -> ConsoleLevel {
    match name {
        "info" => ConsoleLevel::Info,
        "warn" => ConsoleLevel::Warn,
        "error" => ConsoleLevel::Error,
        "debug" => ConsoleLevel::Debug,
        _ => ConsoleLevel::Log,
    }
}

const PRELUDE: &str = include_str!("prelude.js");

/// A random one, which is version 4 of variant 1.
fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    // The kernel always has random bytes once it has started.
    let _ = getrandom::fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let marked = number & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{marked:032x}");
    [0..8, 8..12, 12..16, 16..20, 20..32]
        .map(|part| &digits[part])
        .join("-")
}
