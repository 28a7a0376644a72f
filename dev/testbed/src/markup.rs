//! Text that wants to run in a browser or a terminal, or to look like another text.

use std::io::Write as _;

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::connected_client::Level;

/// A page that interprets it has an element `x-canary`, or sets `canary`.
const TEXT: &str = "<script>canary=1</script><x-canary onclick=canary=1><img src=x onerror=canary=1> \
                    \" autofocus onfocus=\"canary=1\" ' onmouseover='canary=1' --> ]]> </textarea></title></style> \
                    \u{1b}[2J\u{1b}]8;;http://evil.example\u{7}link\u{9b}31m \u{202e}gnp.exe\u{202c} \
                    a\u{200b}b\u{2060}c\u{e0068}\u{e0069} [x](javascript:canary=1) javascript:canary=1";

pub(crate) fn write_to_stderr() {
    let _ = writeln!(std::io::stderr(), "error: {TEXT}");
}

/// Answers for every tool.
pub(crate) fn answer(call: &TestCall) -> CallOutcome {
    write_to_stderr();
    call.log(Level::Error, TEXT, TEXT);
    match call.argument::<String>("fails").as_deref() {
        Some("error") => Reply::tool_error(TEXT),
        Some("fault") => Err(invalid(TEXT)),
        _ => Reply::text(TEXT),
    }
}
