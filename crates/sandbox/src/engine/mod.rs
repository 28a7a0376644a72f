//! Runs one program: a fresh engine, the program's environment, and the end of the run.

mod console;
mod environment;
mod failure;
mod hints;
mod json;
mod meter;
mod program_text;
mod request;
mod text;
mod timers;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Promise, Runtime, Value};
use serde_json::value::RawValue;

use crate::outcome::RunFailure;
use crate::protocol::{FinishedRun, FromWorker, RunJob, ToWorker};
use crate::worker::{GatewayPipe, PipeError};
use environment::ProgramEnvironment;
use meter::CpuMeter;
use program_text::{FILE, ProgramText};

/// Runs a program and reports its result to the gateway.
pub(crate) fn run(job: &RunJob, pipe: &GatewayPipe) -> Result<(), PipeError> {
    let value = value(job, pipe)?;
    let shape = (job.wants_shape && value.is_ok()).then(|| kitbag_script::shape(&job.source).ok());
    pipe.send(&FromWorker::Finished(FinishedRun {
        value,
        shape: shape.flatten(),
        cpu: meter::cpu_time(),
    }))
}

/// Ends a run with a text, as if a program had returned it.
#[cfg(feature = "attacks")]
pub(crate) fn report(words: &str, pipe: &GatewayPipe) -> Result<(), PipeError> {
    pipe.send(&FromWorker::Finished(FinishedRun {
        value: serde_json::value::to_raw_value(words).map_err(|_| RunFailure::Stuck),
        shape: None,
        cpu: meter::cpu_time(),
    }))
}

/// Makes the engine and the C library read their lazily loaded files, such as the time zone.
pub(crate) fn warm_up() {
    let Ok(runtime) = Runtime::new() else { return };
    let Ok(context) = Context::full(&runtime) else {
        return;
    };
    // A failure becomes visible when the first program runs.
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
        Ok((_runtime, context)) => {
            context.with(|ctx| run_in_environment(&ctx, job, &text, pipe, meter))
        }
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

/// Of a process's 8 MB: enough for some thousand nested calls, with room for Rust's frames.
const STACK: usize = 1 << 20;

fn run_in_environment(
    ctx: &Ctx<'_>,
    job: &RunJob,
    text: &ProgramText<'_>,
    pipe: &GatewayPipe,
    meter: CpuMeter,
) -> Result<Ended, PipeError> {
    let environment = ProgramEnvironment::new(ctx, job, text, pipe, meter);
    let ended = match environment
        .define_globals()
        .and_then(|()| start_program(ctx, text))
    {
        Ok(program) => run_to_end(&environment, &program),
        Err(_) => Ok(Err(environment.failure(&ctx.catch()))),
    };
    // The engine cannot free these by itself, because they refer to each other, and it aborts if
    // anything is left.
    environment.clear();
    ended
}

fn start_program<'js>(ctx: &Ctx<'js>, text: &ProgramText<'_>) -> rquickjs::Result<Promise<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    ctx.eval_with_options(text.as_function(), options)
}

/// Runs jobs, fires timers and delivers answers until the program has returned.
fn run_to_end<'js>(
    environment: &ProgramEnvironment<'_, 'js>,
    program: &Promise<'js>,
) -> Result<Ended, PipeError> {
    loop {
        if let Some(failure) = environment.run_jobs() {
            return Ok(Err(failure));
        }
        if let Some(ended) = find_end(environment, program) {
            return Ok(ended);
        }
        if environment.is_idle() {
            return Ok(Err(RunFailure::Stuck));
        }
        let message = environment
            .state
            .pipe
            .receive_until(environment.state.timers.next())?;
        if let Some(ToWorker::Answer { id, answer }) = message {
            let is_running = program.state() == PromiseState::Pending;
            environment.deliver_answer(id, answer, is_running);
        }
        if let Some(failure) = environment.fire_timer() {
            return Ok(Err(failure));
        }
    }
}

/// Returns the program's result once all its requests are answered, even those that it did not wait
/// for: otherwise, a call without `await` would be interrupted.
fn find_end<'js>(
    environment: &ProgramEnvironment<'_, 'js>,
    program: &Promise<'js>,
) -> Option<Ended> {
    match program.result::<Value<'_>>()? {
        Ok(_) if environment.awaits_answers() => None,
        Ok(value) => Some(environment.finish_value(&value)),
        Err(_) => Some(Err(environment.failure(&program.ctx().catch()))),
    }
}
