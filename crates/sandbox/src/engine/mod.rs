//! Runs one program: a fresh engine, the world of the program around it, and the end of the run.

mod console;
mod failure;
mod hints;
mod json;
mod meter;
mod program_text;
mod request;
mod text;
mod timers;
mod world;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Promise, Runtime, Value};
use serde_json::value::RawValue;

use crate::outcome::RunFailure;
use crate::protocol::{FinishedRun, FromWorker, RunJob, ToWorker};
use crate::worker::{GatewayPipe, PipeError};
use meter::CpuMeter;
use program_text::{FILE, ProgramText};
use world::ProgramWorld;

/// Runs a program and tells the gateway how it ended.
pub(crate) fn run(job: &RunJob, pipe: &GatewayPipe) -> Result<(), PipeError> {
    let value = value(job, pipe)?;
    let shape = (job.wants_shape && value.is_ok()).then(|| kitbag_script::shape(&job.source).ok());
    pipe.send(&FromWorker::Finished(FinishedRun {
        value,
        shape: shape.flatten(),
        cpu: meter::used(),
    }))
}

/// Ends a run with a text, as if a program had returned it.
#[cfg(feature = "attacks")]
pub(crate) fn report(words: &str, pipe: &GatewayPipe) -> Result<(), PipeError> {
    pipe.send(&FromWorker::Finished(FinishedRun {
        value: serde_json::value::to_raw_value(words).map_err(|_| RunFailure::Stuck),
        shape: None,
        cpu: meter::used(),
    }))
}

/// Makes the engine and the C library read what they read only once, such as the time zone.
pub(crate) fn warm_up() {
    let Ok(runtime) = Runtime::new() else { return };
    let Ok(context) = Context::full(&runtime) else {
        return;
    };
    // A failure shows when the first program is run.
    let _ = context.with(|ctx| ctx.eval::<(), _>("new Date().getTimezoneOffset(); Math.random()"));
}

type Ended = Result<Box<RawValue>, RunFailure>;

fn value(job: &RunJob, pipe: &GatewayPipe) -> Result<Ended, PipeError> {
    let meter = CpuMeter::start(job.cpu);
    let code = match kitbag_script::javascript(&job.source) {
        Ok(code) => code,
        Err(mistake) => return Ok(Err(RunFailure::Syntax(mistake))),
    };
    let text = ProgramText {
        source: &job.source,
        code: &code,
    };
    match engine(job, &meter) {
        Ok((_runtime, context)) => context.with(|ctx| in_world(&ctx, job, &text, pipe, meter)),
        Err(_) => Ok(Err(RunFailure::TooMuchMemory { bytes: job.memory })),
    }
}

fn engine(job: &RunJob, meter: &CpuMeter) -> rquickjs::Result<(Runtime, Context)> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(job.memory);
    runtime.set_max_stack_size(STACK);
    let meter = meter.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || meter.is_over())));
    let context = Context::full(&runtime)?;
    Ok((runtime, context))
}

/// Of the 8 MB that a process has: some thousand calls deep, with room for the frames of Rust.
const STACK: usize = 1 << 20;

fn in_world(
    ctx: &Ctx<'_>,
    job: &RunJob,
    text: &ProgramText<'_>,
    pipe: &GatewayPipe,
    meter: CpuMeter,
) -> Result<Ended, PipeError> {
    let world = ProgramWorld::new(ctx, job, text, pipe, meter);
    let ended = match world.furnish().and_then(|()| begin(ctx, text)) {
        Ok(program) => live(&world, &program),
        Err(_) => Ok(Err(world.failure(&ctx.catch()))),
    };
    // The engine cannot see that these refer to each other; it ends the process over what is left.
    world.clear();
    ended
}

fn begin<'js>(ctx: &Ctx<'js>, text: &ProgramText<'_>) -> rquickjs::Result<Promise<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    ctx.eval_with_options(text.as_function(), options)
}

/// Runs jobs, fires timers and takes in answers until the program has returned.
fn live<'js>(world: &ProgramWorld<'_, 'js>, program: &Promise<'js>) -> Result<Ended, PipeError> {
    loop {
        if let Some(failure) = world.run_jobs() {
            return Ok(Err(failure));
        }
        if let Some(ended) = settled(world, program) {
            return Ok(ended);
        }
        if world.is_idle() {
            return Ok(Err(RunFailure::Stuck));
        }
        let message = world.desk.pipe.receive_until(world.desk.timers.next())?;
        if let Some(ToWorker::Answer { id, answer }) = message {
            let heard = program.state() == PromiseState::Pending;
            world.answered(id, answer, heard);
        }
        if let Some(failure) = world.fire() {
            return Ok(Err(failure));
        }
    }
}

/// The end of the program, once the requests that it did not wait for are answered, too: a call
/// without `await` would otherwise be cut off in the middle.
fn settled<'js>(world: &ProgramWorld<'_, 'js>, program: &Promise<'js>) -> Option<Ended> {
    match program.result::<Value<'_>>()? {
        Ok(_) if world.awaits_answers() => None,
        Ok(value) => Some(world.returned(&value)),
        Err(_) => Some(Err(world.failure(&program.ctx().catch()))),
    }
}
