//! The texts between a model and its tools for one request, and their cost.

use anyhow::Context;
use serde_json::{Value, json};

/// One completed request.
#[derive(Debug)]
pub(super) struct Dialogue {
    pub(super) request: String,
    pub(super) turns: Vec<ToolTurn>,
    /// The final answer to the user.
    pub(super) end: String,
}

/// A call that a model wrote, and the answer that it read.
#[derive(Debug)]
pub(super) struct ToolTurn {
    pub(super) call: String,
    pub(super) answer: String,
}

/// The tokens of one request, summed over its turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) read: usize,
    pub(super) written: usize,
}

/// The tokens of each text of a dialogue.
#[derive(Debug)]
pub(super) struct CountedDialogue {
    request: usize,
    turns: Vec<[usize; 2]>,
    end: usize,
}

impl Dialogue {
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        let turns = self
            .turns
            .iter()
            .flat_map(|turn| [&turn.call, &turn.answer]);
        [&self.request, &self.end].into_iter().chain(turns)
    }
}

impl CountedDialogue {
    /// Creates it from the tokens of [`Dialogue::texts`], in order.
    pub(super) fn new(counts: &[usize]) -> anyhow::Result<Self> {
        let (ends, turns) = counts
            .split_first_chunk::<2>()
            .context("the dialogue has no beginning or no end")?;
        Ok(Self {
            request: ends[0],
            turns: turns.as_chunks::<2>().0.to_vec(),
            end: ends[1],
        })
    }

    /// One call per turn. In each, a model reads everything again: the definitions, the request,
    /// and every call and answer so far.
    pub(super) fn one_by_one(&self, definitions: usize) -> Spent {
        let mut context = definitions + self.request;
        let mut spent = Spent::default();
        for [call, answer] in &self.turns {
            spent.turn(context, *call);
            context += call + answer;
        }
        spent.turn(context, self.end);
        spent
    }

    /// All calls in the first turn, as if none depended on another: the minimum cost of plain
    /// calls.
    pub(super) fn at_once(&self, definitions: usize) -> Spent {
        let calls: usize = self.turns.iter().map(|[call, _]| call).sum();
        let answers: usize = self.turns.iter().map(|[_, answer]| answer).sum();
        let context = definitions + self.request;
        let mut spent = Spent::default();
        spent.turn(context, calls);
        spent.turn(context + calls + answers, self.end);
        spent
    }
}

impl Spent {
    pub(super) fn total(self) -> usize {
        self.read + self.written
    }

    fn turn(&mut self, read: usize, written: usize) {
        self.read += read;
        self.written += written;
    }
}

/// Formats a call as a model writes it.
pub(super) fn format_call(tool: &str, arguments: &Value) -> String {
    json!({ "name": tool, "arguments": arguments }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_reads_everything_before_it() {
        let counted = CountedDialogue::new(&[10, 3, 5, 100, 7, 200]).unwrap();
        let spent = counted.one_by_one(1000);
        assert_eq!(spent.read, 1010 + 1115 + 1322);
        assert_eq!(spent.written, 5 + 7 + 3);
        assert_eq!(counted.at_once(1000).read, 1010 + 1322);
    }
}
