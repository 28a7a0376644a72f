//! What no good client sends, at both doors: a clear answer, and the next request works as ever.

mod http;
mod stdio;

/// As deep as an attacker likes to go, and deeper than a recursive reader can.
fn deep() -> String {
    format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))
}
