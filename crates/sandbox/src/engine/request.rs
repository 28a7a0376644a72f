//! Requests of a program: the functions that make them, and the promises that they return.

use std::rc::Rc;

use kitbag_script::ToolPath;
use rquickjs::{Ctx, Exception, Function, Object, Promise, Result, Value};
use serde_json::value::RawValue;

use super::environment::{ProgramState, define};
use super::json::{self, JsonError};
use crate::host::{HostAnswer, HostError, HostRequest};
use crate::protocol::{FromWorker, MAX_TEXT};

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct Unanswered<'js> {
    /// The tool or function that was called.
    pub name: String,
    resolve: Function<'js>,
    reject: Function<'js>,
    /// Created where the program made the request; it gets its message if the request fails.
    error: Object<'js>,
}

impl<'js> Unanswered<'js> {
    pub(crate) fn settle(&self, ctx: &Ctx<'js>, answer: &HostAnswer) -> Result<()> {
        match answer {
            Ok(value) => self.resolve.call((ctx.json_parse(value.get())?,)),
            Err(error) => {
                self.describe(ctx, error)?;
                self.reject.call((self.error.clone(),))
            }
        }
    }

    fn describe(&self, ctx: &Ctx<'js>, error: &HostError) -> Result<()> {
        self.error.set("message", error.message.as_str())?;
        self.error.set("kind", error.kind.as_str())?;
        self.error.set("tool", self.name.as_str())?;
        match &error.result {
            Some(result) => self.error.set("result", ctx.json_parse(result.get())?),
            None => Ok(()),
        }
    }
}

/// Installs the functions from which the prelude builds the program's own. Each gets the error to
/// reject with.
pub(crate) fn install<'js>(native: &Object<'js>, state: &Rc<ProgramState<'js>>) -> Result<()> {
    let here = state.clone();
    define(native, "search", move |ctx, error, text, limit| {
        here.search(&ctx, error, &text, &limit)
    })?;
    let here = state.clone();
    define(native, "describe", move |ctx, error, name| {
        here.describe(&ctx, error, &name)
    })?;
    let here = state.clone();
    define(native, "call", move |ctx, error, name, args| {
        here.call(&ctx, error, &name, &args)
    })?;
    let here = state.clone();
    define(native, "member", move |ctx, error, server, tool, args| {
        here.call_tool(&ctx, error, ToolPath::Member { server, tool }, &args)
    })
}

impl<'js> ProgramState<'js> {
    fn search(
        &self,
        ctx: &Ctx<'js>,
        error: Object<'js>,
        text: &Value<'js>,
        limit: &Value<'js>,
    ) -> Result<Promise<'js>> {
        let text = string(ctx, text, "search(text)")?;
        let limit = limit.as_number().map(|limit| limit as usize);
        let request = HostRequest::Search { text, limit };
        self.ask(ctx, "search".to_owned(), error, request)
    }

    fn describe(
        &self,
        ctx: &Ctx<'js>,
        error: Object<'js>,
        name: &Value<'js>,
    ) -> Result<Promise<'js>> {
        let name = string(ctx, name, "describe(name)")?;
        let tool = ToolPath::Exposed(name.clone());
        self.ask(ctx, name, error, HostRequest::Describe { tool })
    }

    fn call(
        &self,
        ctx: &Ctx<'js>,
        error: Object<'js>,
        name: &Value<'js>,
        args: &Value<'js>,
    ) -> Result<Promise<'js>> {
        let name = string(ctx, name, "call(name, args)")?;
        self.call_tool(ctx, error, ToolPath::Exposed(name), args)
    }

    fn call_tool(
        &self,
        ctx: &Ctx<'js>,
        error: Object<'js>,
        tool: ToolPath,
        args: &Value<'js>,
    ) -> Result<Promise<'js>> {
        let name = tool_name(&tool);
        let arguments = arguments(ctx, &name, args)?;
        self.ask(ctx, name, error, HostRequest::Call { tool, arguments })
    }

    /// Sends the request at once, so that requests made together run concurrently.
    fn ask(
        &self,
        ctx: &Ctx<'js>,
        name: String,
        error: Object<'js>,
        request: HostRequest,
    ) -> Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        let id = self.pipe.next_request();
        let waiting = Unanswered {
            name,
            resolve,
            reject,
            error,
        };
        self.unanswered.borrow_mut().insert(id, waiting);
        // If the gateway is gone, the worker notices when it waits for the answer.
        let _ = self.pipe.send(&FromWorker::Request { id, request });
        Ok(promise)
    }
}

fn arguments<'js>(ctx: &Ctx<'js>, tool: &str, args: &Value<'js>) -> Result<Box<RawValue>> {
    if args.is_undefined() || args.is_null() {
        return raw_value(ctx, "{}".to_owned());
    }
    let text = json::exact(ctx, args, "the argument", MAX_TEXT)
        .map_err(|no| argument_error(ctx, tool, no))?;
    if !text.starts_with('{') {
        let message = format!(
            "{tool} takes one object with its arguments by name, but got {}",
            shorten_text(&text)
        );
        return Err(Exception::throw_type(ctx, &message));
    }
    raw_value(ctx, text)
}

fn raw_value(ctx: &Ctx<'_>, json: String) -> Result<Box<RawValue>> {
    RawValue::from_string(json).map_err(|error| Exception::throw_type(ctx, &error.to_string()))
}

fn shorten_text(text: &str) -> &str {
    &text[..text.floor_char_boundary(40)]
}

fn argument_error(ctx: &Ctx<'_>, tool: &str, no: JsonError) -> rquickjs::Error {
    match no {
        JsonError::Thrown => rquickjs::Error::Exception,
        JsonError::Unfit { reason } => Exception::throw_type(ctx, &format!("{tool}: {reason}")),
        JsonError::TooLong => Exception::throw_range(
            ctx,
            &format!("{tool}: the arguments are longer than {MAX_TEXT} bytes"),
        ),
    }
}

fn string<'js>(ctx: &Ctx<'js>, value: &Value<'js>, call: &str) -> Result<String> {
    match value.as_string() {
        Some(string) => super::text::text(ctx, string),
        None => Err(Exception::throw_type(
            ctx,
            &format!("{call}: the first argument must be a text"),
        )),
    }
}

pub(crate) fn tool_name(tool: &ToolPath) -> String {
    match tool {
        ToolPath::Exposed(name) => name.clone(),
        ToolPath::Member { server, tool } => format!("{server}.{tool}"),
    }
}
