//! The environment of one program: the functions it can call, and its pending requests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::function::IntoJsFunc;
use rquickjs::{Array, Ctx, Function, Object, Result, Value};
use serde_json::value::RawValue;

use super::console::Console;
use super::hints::{self, FailureContext};
use super::json::{self, JsonError};
use super::meter::{CpuMeter, MemoryMeter};
use super::program_text::ProgramText;
use super::request::{self, Unanswered};
use super::timers::Timers;
use super::{Ended, failure};
use crate::host::HostAnswer;
use crate::outcome::{ConsoleLevel, RunFailure};
use crate::protocol::{MAX_TEXT, RunJob};
use crate::worker::GatewayPipe;

#[derive(Debug)]
pub(crate) struct ProgramEnvironment<'a, 'js> {
    pub state: Rc<ProgramState<'js>>,
    ctx: Ctx<'js>,
    job: &'a RunJob,
    text: &'a ProgramText<'a>,
    meter: CpuMeter,
    memory: MemoryMeter,
}

/// The part of the environment that the program's functions reference. It must not contain the
/// context: the context references those functions, and the cycle would never be freed.
#[derive(Debug)]
pub(crate) struct ProgramState<'js> {
    pub pipe: GatewayPipe,
    pub timers: Timers<'js>,
    pub console: Console,
    pub unanswered: RefCell<HashMap<u64, Unanswered<'js>>>,
    /// The kind of the last answer of each tool, for advice.
    answers: RefCell<HashMap<String, String>>,
}

impl<'a, 'js> ProgramEnvironment<'a, 'js> {
    pub(crate) fn new(
        ctx: &Ctx<'js>,
        job: &'a RunJob,
        text: &'a ProgramText<'a>,
        pipe: &GatewayPipe,
        meter: CpuMeter,
    ) -> Self {
        Self {
            state: Rc::new(ProgramState::new(job, pipe)),
            ctx: ctx.clone(),
            job,
            text,
            meter,
            memory: MemoryMeter::start(job.memory),
        }
    }

    /// Puts everything that a program can use into the global object.
    pub(crate) fn define_globals(&self) -> Result<()> {
        let params = self.job.params.as_ref().map_or("{}", |params| params.get());
        let params = self.ctx.json_parse(params)?;
        let prelude: Function<'js> = self.ctx.eval(PRELUDE)?;
        prelude.call((self.native_functions()?, params))
    }

    fn native_functions(&self) -> Result<Object<'js>> {
        let native = Object::new(self.ctx.clone())?;
        request::install(&native, &self.state)?;
        let state = self.state.clone();
        define(&native, "setTimer", move |function, after| {
            state.timers.set(function, after)
        })?;
        let state = self.state.clone();
        define(&native, "clearTimer", move |number| {
            state.timers.clear(number);
        })?;
        let state = self.state.clone();
        define(&native, "print", move |ctx, level: String, values| {
            state.print(&ctx, &level, &values)
        })?;
        define(&native, "uuid", uuid)?;
        Ok(native)
    }

    /// Runs pending promise jobs; fails if the program exceeded its processor time.
    pub(crate) fn run_jobs(&self) -> Option<RunFailure> {
        while !self.meter.is_over() && self.ctx.execute_pending_job() {}
        self.meter.is_over().then(|| self.too_busy())
    }

    /// Runs the first function that is due; fails if it throws.
    pub(crate) fn fire_timer(&self) -> Option<RunFailure> {
        let function = self.state.timers.take_due()?;
        let fired = function.call::<_, ()>(());
        fired.err().map(|_| self.failure(&self.ctx.catch()))
    }

    /// Delivers an answer. A program that has returned no longer sees it.
    pub(crate) fn deliver_answer(&self, id: u64, answer: HostAnswer, is_running: bool) {
        let waiting = self.state.unanswered.borrow_mut().remove(&id);
        if let Some(waiting) = waiting {
            // This only fails for lack of memory, which the program notices soon.
            let _ = waiting.settle(&self.ctx, &answer);
            self.state.remember_answer(waiting, answer, is_running);
        }
    }

    pub(crate) fn awaits_answers(&self) -> bool {
        !self.state.unanswered.borrow().is_empty()
    }

    /// True if nothing can happen any more.
    pub(crate) fn is_idle(&self) -> bool {
        !self.awaits_answers() && self.state.timers.next().is_none()
    }

    pub(crate) fn finish_value(&self, value: &Value<'js>) -> Ended {
        let most = self.job.output.min(MAX_TEXT);
        match json::exact(&self.ctx, value, "the value", most) {
            Ok(text) => self.warn_about_promises(text),
            Err(JsonError::Unfit { reason }) => Err(RunFailure::NotJson { reason }),
            Err(JsonError::TooLong) => Err(RunFailure::TooMuchOutput { most }),
            Err(JsonError::Thrown) => Err(self.failure(&self.ctx.catch())),
        }
    }

    fn warn_about_promises(&self, json: String) -> Ended {
        if json.contains("[object Promise]") {
            let warning = hints::PROMISE_IN_TEXT.to_owned();
            self.state.console.write(ConsoleLevel::Warn, warning);
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
        let failure = self.describe_thrown(thrown);
        // Describing it runs code of the program, such as getters.
        if self.meter.is_over() {
            return self.too_busy();
        }
        failure
    }

    fn describe_thrown(&self, thrown: &Value<'js>) -> RunFailure {
        let answers = self.state.answers.borrow();
        let context = FailureContext {
            calls_are_open: self.awaits_answers(),
            answers: Some(&answers),
            ..FailureContext::default()
        };
        failure::describe_exception(&self.ctx, thrown, self.text, context)
    }

    fn too_busy(&self) -> RunFailure {
        RunFailure::TooBusy {
            after: self.job.cpu,
        }
    }

    pub(crate) fn clear(&self) {
        self.state.unanswered.borrow_mut().clear();
        self.state.timers.clear_all();
    }
}

impl<'js> ProgramState<'js> {
    fn new(job: &RunJob, pipe: &GatewayPipe) -> Self {
        Self {
            pipe: pipe.clone(),
            timers: Timers::default(),
            console: Console::new(job.output, pipe.clone()),
            unanswered: RefCell::default(),
            answers: RefCell::default(),
        }
    }

    fn remember_answer(&self, request: Unanswered<'js>, answer: HostAnswer, is_running: bool) {
        match answer {
            Ok(answer) => {
                let kind = hints::kind(&answer);
                self.answers.borrow_mut().insert(request.name, kind);
            }
            Err(error) if !is_running => self.console.write(
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

/// Defines a Rust function in an object.
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

/// A random UUID: version 4, variant 1.
fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    // The kernel always has random bytes once it has booted.
    let _ = getrandom::fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let marked = number & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{marked:032x}");
    [0..8, 8..12, 12..16, 16..20, 20..32]
        .map(|part| &digits[part])
        .join("-")
}
