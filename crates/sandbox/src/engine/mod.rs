//! Runs one program: a fresh engine, the world of the program around it, and the end of the run.

mod console;
mod failure;
mod json;
mod meter;
mod request;
mod text;
mod timers;
mod world;

use rquickjs::{Context, Ctx, Promise, Runtime, Value};
use serde_json::value::RawValue;

use crate::outcome::RunFailure;
use crate::protocol::{FinishedRun, FromWorker, RunJob, ToWorker};
use crate::worker::{GatewayPipe, PipeError};
use meter::CpuMeter;
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
    let code = match kitbag_script::javascript(&job.source) {
        Ok(code) => code,
        Err(mistake) => return Ok(Err(RunFailure::Syntax(mistake))),
    };
    let meter = CpuMeter::start(job.cpu);
    match engine(job, &meter) {
        Ok((_runtime, context)) => context.with(|ctx| in_world(&ctx, job, &code, pipe, meter)),
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
    code: &str,
    pipe: &GatewayPipe,
    meter: CpuMeter,
) -> Result<Ended, PipeError> {
    let world = ProgramWorld::new(ctx, job, pipe, meter);
    let ended = match world.furnish(job).and_then(|()| begin(ctx, code)) {
        Ok(promise) => live(&world, &promise),
        Err(_) => Ok(Err(world.failure(&ctx.catch()))),
    };
    // The engine cannot see that these refer to each other; it ends the process over what is left.
    world.clear();
    ended
}

/// The program is the body of an async function, one line below the head of that function.
fn begin<'js>(ctx: &Ctx<'js>, code: &str) -> rquickjs::Result<Promise<'js>> {
    let mut options = rquickjs::context::EvalOptions::default();
    options.filename = Some(failure::FILE.to_owned());
    ctx.eval_with_options(format!("(async () => {{\n{code}\n}})()"), options)
}

/// Runs jobs, fires timers and takes in answers until the program has returned.
fn live<'js>(world: &ProgramWorld<'js>, program: &Promise<'js>) -> Result<Ended, PipeError> {
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
        match world.desk.pipe.receive_until(world.desk.timers.next())? {
            Some(ToWorker::Answer { id, answer }) => world.answered(id, answer),
            Some(_) => {}
            None => {
                if let Some(failure) = world.fire() {
                    return Ok(Err(failure));
                }
            }
        }
    }
}

/// The end of the program, once the requests that it did not wait for are answered, too: a call
/// without `await` would otherwise be cut off in the middle.
fn settled<'js>(world: &ProgramWorld<'js>, program: &Promise<'js>) -> Option<Ended> {
    match program.result::<Value<'_>>()? {
        Ok(_) if world.awaits_answers() => None,
        Ok(value) => Some(world.returned(&value)),
        Err(_) => Some(Err(world.failure(&program.ctx().catch()))),
    }
}
