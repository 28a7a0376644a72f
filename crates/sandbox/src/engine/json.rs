//! Values of a program as JSON: exact where data leaves the program, lenient where it prints.

use rquickjs::function::This;
use rquickjs::object::Filter;
use rquickjs::{Ctx, Function, Object, Value};

use super::text::text;

/// The reason why a value could not be written as JSON.
#[derive(Debug)]
pub(crate) enum JsonError {
    /// A path into the value, and the reason why JSON cannot represent it.
    Unfit {
        reason: String,
    },
    TooLong,
    /// A getter, a `toJSON` or a proxy threw, and the exception is pending.
    Thrown,
}

impl From<rquickjs::Error> for JsonError {
    fn from(_: rquickjs::Error) -> Self {
        Self::Thrown
    }
}

/// Writes a value, limited to `most` bytes. `name` is the value's name in errors.
pub(crate) fn exact<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    name: &str,
    most: usize,
) -> Result<String, JsonError> {
    let mut writer = JsonWriter::new(ctx, name, most, Strictness::Exact);
    writer.value(value.clone())?;
    Ok(writer.text)
}

/// Writes a value for a person; only an exception of the program itself is an error.
pub(crate) fn format_lenient<'js>(
    ctx: &Ctx<'js>,
    value: &Value<'js>,
    most: usize,
) -> rquickjs::Result<String> {
    let mut writer = JsonWriter::new(ctx, "", most, Strictness::Lenient);
    match writer.value(value.clone()) {
        Err(JsonError::Thrown) => Err(rquickjs::Error::Exception),
        _ => Ok(writer.text),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Exact,
    Lenient,
}

struct JsonWriter<'a, 'js> {
    ctx: &'a Ctx<'js>,
    text: String,
    most: usize,
    /// The path from the root to the current value.
    path: Vec<String>,
    ancestors: Vec<Object<'js>>,
    strictness: Strictness,
}

/// Later parsers of the value give up beyond 128 levels.
const MAX_DEPTH: usize = 100;

/// The segments of a path that an error shows.
const SHOWN_START: usize = 8;
const SHOWN_END: usize = 2;

impl<'a, 'js> JsonWriter<'a, 'js> {
    fn new(ctx: &'a Ctx<'js>, name: &str, most: usize, strictness: Strictness) -> Self {
        Self {
            ctx,
            text: String::new(),
            most,
            path: vec![name.to_owned()],
            ancestors: Vec::new(),
            strictness,
        }
    }

    fn value(&mut self, value: Value<'js>) -> Result<(), JsonError> {
        let value = self.apply_to_json(value)?;
        match (value.as_string(), value.as_number()) {
            (Some(string), _) => {
                let string = text(self.ctx, string)?;
                self.string(&string)
            }
            (_, Some(number)) => self.number(number),
            _ if value.is_null() || value.is_undefined() => self.push("null"),
            _ => self.write_other(&value),
        }
    }

    fn write_other(&mut self, value: &Value<'js>) -> Result<(), JsonError> {
        if let Some(truth) = value.as_bool() {
            return self.push(if truth { "true" } else { "false" });
        }
        if let Some(reason) = unfit_reason(value) {
            return self.reject(reason);
        }
        match value.as_object() {
            Some(object) => self.write_object(object),
            None => self.reject("is of a type that JSON lacks"),
        }
    }

    fn write_object(&mut self, object: &Object<'js>) -> Result<(), JsonError> {
        if self.ancestors.contains(object) {
            return self.reject("contains itself");
        }
        if self.ancestors.len() >= MAX_DEPTH {
            return self.reject("is nested too deeply");
        }
        self.ancestors.push(object.clone());
        let written = match object.as_value().is_array() {
            true => self.array(object),
            false => self.object(object),
        };
        self.ancestors.pop();
        written
    }

    fn array(&mut self, array: &Object<'js>) -> Result<(), JsonError> {
        self.push("[")?;
        let length: f64 = array.get("length")?;
        for index in 0..length as u32 {
            if index > 0 {
                self.push(",")?;
            }
            self.member(format!("[{index}]"), array.get(index)?)?;
        }
        self.push("]")
    }

    fn object(&mut self, object: &Object<'js>) -> Result<(), JsonError> {
        self.push("{")?;
        let mut first = true;
        if object.as_value().is_error() {
            for key in ["name", "message"] {
                self.property(key, object.get(key)?, &mut first)?;
            }
        }
        for key in object.own_keys::<rquickjs::String<'js>>(Filter::new().string().enum_only()) {
            let key = key?;
            let value = object.get(key.as_value().clone())?;
            let key = text(self.ctx, &key)?;
            self.property(&key, value, &mut first)?;
        }
        self.push("}")
    }

    fn property(
        &mut self,
        key: &str,
        value: Value<'js>,
        first: &mut bool,
    ) -> Result<(), JsonError> {
        if value.is_undefined() {
            return Ok(());
        }
        if !std::mem::take(first) {
            self.push(",")?;
        }
        self.string(key)?;
        self.push(":")?;
        self.member(format!(".{key}"), value)
    }

    fn member(&mut self, step: String, value: Value<'js>) -> Result<(), JsonError> {
        self.path.push(step);
        self.value(value)?;
        self.path.pop();
        Ok(())
    }

    /// An object such as a date defines its own JSON.
    fn apply_to_json(&self, value: Value<'js>) -> Result<Value<'js>, JsonError> {
        let Some(object) = value.as_object().filter(|it| !it.as_value().is_promise()) else {
            return Ok(value);
        };
        match object.get::<_, Value<'js>>("toJSON")?.into_function() {
            Some(convert) => Ok(self.call(&convert, object)?),
            None => Ok(value),
        }
    }

    fn call(&self, convert: &Function<'js>, object: &Object<'js>) -> rquickjs::Result<Value<'js>> {
        convert.call((This(object.clone()),))
    }

    fn number(&mut self, number: f64) -> Result<(), JsonError> {
        let whole = number as i64;
        // Beyond this, a number no longer equals the digits it is written with.
        if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
            return self.push(&whole.to_string());
        }
        let written = serde_json::to_string(&number).unwrap_or_default();
        self.push(&written)
    }

    fn string(&mut self, string: &str) -> Result<(), JsonError> {
        self.check_length(string.len())?;
        let written = serde_json::to_string(string).unwrap_or_default();
        self.push(&written)
    }

    fn push(&mut self, text: &str) -> Result<(), JsonError> {
        self.check_length(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    fn check_length(&self, more: usize) -> Result<(), JsonError> {
        if self.text.len() + more > self.most {
            return Err(JsonError::TooLong);
        }
        Ok(())
    }

    /// The path, with the middle of a long one omitted.
    fn shown_path(&self) -> String {
        match self.path.len().checked_sub(SHOWN_END) {
            Some(end) if end > SHOWN_START => {
                let (start, end) = (&self.path[..SHOWN_START], &self.path[end..]);
                format!("{}…{}", start.concat(), end.concat())
            }
            _ => self.path.concat(),
        }
    }

    fn reject(&mut self, reason: &str) -> Result<(), JsonError> {
        match self.strictness {
            Strictness::Exact => Err(JsonError::Unfit {
                reason: format!("{} {reason}", self.shown_path()),
            }),
            Strictness::Lenient => self.string(&format!("[{reason}]")),
        }
    }
}

fn unfit_reason(value: &Value<'_>) -> Option<&'static str> {
    match () {
        () if value.is_promise() => Some("is a promise: write `await` before the call"),
        () if value.is_function() => Some("is a function"),
        () if value.is_symbol() => Some("is a symbol"),
        () if value.is_big_int() => Some("is a BigInt: convert it with Number(…) or String(…)"),
        () => None,
    }
}
