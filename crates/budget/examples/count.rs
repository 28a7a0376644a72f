//! Prints the token count of each text on stdin, one JSON string per line.

#![expect(clippy::print_stdout, reason = "it reports to a program")]

use std::io::{self, BufRead};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        println!("{}", kitbag_budget::count(&text));
    }
    Ok(())
}
