//! Loops over cases: a test that fails names the case.

use std::fmt::Debug;
use std::thread;

/// Iterates over the cases of a test. A panic in the body of the loop prints the current case.
pub fn each_case<C>(cases: C) -> EachCase<C::IntoIter>
where
    C: IntoIterator<Item: Debug>,
{
    EachCase {
        cases: cases.into_iter(),
        current: None,
    }
}

#[derive(Debug)]
pub struct EachCase<I> {
    cases: I,
    current: Option<String>,
}

impl<I: Iterator<Item: Debug>> Iterator for EachCase<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let case = self.cases.next();
        self.current = case.as_ref().map(|case| format!("{case:?}"));
        case
    }
}

impl<I> Drop for EachCase<I> {
    #[expect(clippy::print_stderr, reason = "test output goes to stderr")]
    fn drop(&mut self) {
        if let Some(case) = self.current.as_ref().filter(|_| thread::panicking()) {
            eprintln!("failed in the case {case}");
        }
    }
}
