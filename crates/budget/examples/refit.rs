//! Compares the estimate with the exact count for a file of texts, and prints the costs fitted to
//! it: `refit texts.jsonl`, each line `{"kind": "definition", "text": "…"}`.

#![expect(clippy::print_stdout, reason = "it reports to a terminal")]

use std::collections::BTreeMap;
use std::error::Error;

use kitbag_budget::pieces::{Lead, TextPiece, TextPieces, WordCase};
use kitbag_budget::{count, estimate_tokens};
use serde::Deserialize;

#[derive(Deserialize)]
struct Sample {
    kind: String,
    text: String,
}

#[derive(Default)]
struct Kind {
    texts: usize,
    counted: usize,
    estimated: usize,
    off: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: refit texts.jsonl")?;
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut costs: BTreeMap<(String, usize), (usize, usize)> = BTreeMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let sample: Sample = serde_json::from_str(line)?;
        let (counted, estimated) = (count(&sample.text), estimate_tokens(&sample.text));
        let kind = kinds.entry(sample.kind).or_default();
        kind.texts += 1;
        kind.counted += counted;
        kind.estimated += estimated;
        kind.off += (estimated as f64 / counted.max(1) as f64 - 1.0).abs();
        add_costs(&sample.text, &mut costs);
    }
    for (name, kind) in &kinds {
        println!(
            "{name}: {} texts, {} tokens, estimate {:+.1} %, each off by {:.1} %",
            kind.texts,
            kind.counted,
            (kind.estimated as f64 / kind.counted as f64 - 1.0) * 100.0,
            kind.off / kind.texts as f64 * 100.0
        );
    }
    println!("\nhundredths of a token, by kind of piece and its length; how many there were");
    for ((row, length), (pieces, tokens)) in &costs {
        println!(
            "{row:>10} {length:2}: {:4}  ({pieces})",
            tokens * 100 / pieces
        );
    }
    Ok(())
}

fn add_costs(text: &str, costs: &mut BTreeMap<(String, usize), (usize, usize)>) {
    let mut at = 0;
    for (piece, end) in TextPieces::new(text) {
        let cost = costs.entry(row(piece)).or_default();
        cost.0 += 1;
        cost.1 += count(&text[at..end]);
        at = end;
    }
}

/// Returns the row that a piece belongs to, and its position there.
fn row(piece: TextPiece) -> (String, usize) {
    let (row, length) = match piece {
        TextPiece::Word {
            accented: 1..,
            letters,
            ..
        } => ("accented".to_owned(), letters),
        TextPiece::Word {
            case: WordCase::Upper,
            letters,
            ..
        } => ("capitals".to_owned(), letters),
        TextPiece::Word {
            lead: Lead::Mark,
            letters,
            ..
        } => ("after mark".to_owned(), letters),
        TextPiece::Word { letters, .. } => ("plain".to_owned(), letters),
        TextPiece::Script { script, letters } => (format!("{script:?}"), letters),
        TextPiece::Digits => ("digits".to_owned(), 0),
        TextPiece::Marks {
            wide: 0,
            pictures: 0,
            ascii,
            ..
        } => ("marks".to_owned(), ascii),
        TextPiece::Marks { wide, pictures, .. } => ("wide".to_owned(), wide + pictures),
        TextPiece::Blank { .. } => ("blank".to_owned(), 0),
    };
    (row, length.min(12))
}
