//! Attacks on the gateway: a worker that violates the protocol.

use std::io::{self, Write};

use crate::Attack;

pub(crate) const ATTACKS: &[Attack] = &[
    ("send garbage", || {
        send(b"garbage without a length that is not a message")
    }),
    ("send a frame without end", || send(&u32::MAX.to_be_bytes())),
    ("send half a frame", half_a_frame),
    ("send a text that is not a message", || {
        frame("{\"Hello\":1}")
    }),
    ("send a greeting again", || {
        frame("{\"Ready\":{\"layers\":[]}}")
    }),
    ("send an end without a value", || frame("{\"Finished\":{}}")),
    ("send a value that is not JSON", || {
        frame("{\"Finished\":{\"value\":{\"Ok\":[1,}}}")
    }),
    ("send a deep value", || {
        end(&format!(
            r#"{{"Ok":{}{}}}"#,
            "[".repeat(1_000_000),
            "]".repeat(1_000_000)
        ))
    }),
    ("send a long value", || {
        end(&format!(r#"{{"Ok":"{}"}}"#, "x".repeat(1_000_000)))
    }),
    ("send a long reason", || {
        end(&format!(
            r#"{{"Err":{{"NotJson":{{"reason":"{}"}}}}}}"#,
            "x".repeat(1_000_000)
        ))
    }),
    ("flood the gateway with requests", flood_of_requests),
    ("flood the gateway with lines", flood_of_lines),
    ("ask under one number", || {
        (0..5).try_for_each(|_| frame(REQUEST))?;
        half_a_frame()
    }),
    ("leave", || std::process::exit(0)),
    ("leave with an error", || std::process::exit(3)),
    ("fall silent", || {
        io::stdin().read_line(&mut String::new()).map(drop)
    }),
];

const REQUEST: &str =
    r#"{"Request":{"id":1,"request":{"call":{"tool":{"exposed":"echo"},"arguments":{}}}}}"#;

fn send(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}

fn frame(text: &str) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    send(&[&length.to_be_bytes(), text.as_bytes()].concat())
}

fn half_a_frame() -> io::Result<()> {
    send(&[0, 0, 1, 0, b'{'])?;
    std::process::exit(0)
}

/// Ends the run with a value or a failure of the worker's choice.
fn end(value: &str) -> io::Result<()> {
    frame(&format!(
        r#"{{"Finished":{{"value":{value},"shape":null,"cpu":{{"secs":0,"nanos":0}}}}}}"#
    ))
}

fn flood_of_requests() -> io::Result<()> {
    loop {
        frame(REQUEST)?;
    }
}

fn flood_of_lines() -> io::Result<()> {
    let line = format!(
        r#"{{"Console":{{"level":"log","text":"{}"}}}}"#,
        "x".repeat(10_000)
    );
    for _ in 0..1_000 {
        frame(&line)?;
    }
    Ok(())
}
