//! Chooses the place where a text is cut.
//!
//! The better the place, the earlier it may lie; but a cut that wastes most of the room is none.

use crate::json::{Gap, Gaps, Open};

/// What a stretch of text is made of, which decides where it may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Prose,
    /// One valid array or object.
    Json,
}

impl Kind {
    pub(crate) fn of(text: &str) -> Self {
        let begins = text.trim_start().starts_with(['{', '[']);
        if begins && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            Self::Json
        } else {
            Self::Prose
        }
    }
}

/// Where a text is cut, and what has to be added for what comes before to be whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: usize,
    pub(crate) seam: Seam,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seam {
    /// Prose, or JSON that can not be made whole.
    Open,
    BetweenElements(Open),
    InsideString(Open),
}

/// The best place to cut a text after `from`, and at `end` at the latest, which must lie behind
/// `from` on a character's border.
pub(crate) fn choose(text: &str, kind: Kind, from: usize, end: usize) -> Place {
    let found = match kind {
        Kind::Json => Gaps::find(text, from, end).and_then(|gaps| in_json(text, &gaps, from, end)),
        Kind::Prose => None,
    };
    found.unwrap_or_else(|| Place {
        at: in_prose(text, from, end, &PROSE),
        seam: Seam::Open,
    })
}

/// What comes before a place, made whole again.
pub(crate) fn mended(text: &str, place: &Place) -> String {
    let before = &text[..place.at];
    match place.seam {
        Seam::Open => before.trim_end().to_owned(),
        Seam::BetweenElements(open) => {
            let before = before.trim_end();
            format!(
                "{}{}",
                before.strip_suffix(',').unwrap_or(before),
                open.closers()
            )
        }
        Seam::InsideString(open) => format!("{before}…\"{}", open.closers()),
    }
}

/// Between elements, as far out as possible; an element that alone is too long is cut inside.
fn in_json(text: &str, gaps: &Gaps, from: usize, end: usize) -> Option<Place> {
    let between = |gap: Gap| Place {
        at: gap.at,
        seam: Seam::BetweenElements(gap.open),
    };
    if let Some(gap) = gaps.outermost(floor(from, end)) {
        return Some(between(gap));
    }
    if let Some(inside) = gaps
        .inside
        .filter(|inside| inside.safe > from.max(inside.start))
    {
        let at = in_prose(text, from.max(inside.start), inside.safe, &STRING);
        return Some(Place {
            at,
            seam: Seam::InsideString(inside.open),
        });
    }
    gaps.nearest().map(between)
}

/// Ends of paragraphs, lines, sentences and words, the best first.
type Ends = [&'static [&'static str]; 4];

const PROSE: Ends = [&["\n\n", "\r\n\r\n"], &["\n"], SENTENCES, WORDS];
const STRING: Ends = [&[r"\n\n", r"\r\n\r\n"], &[r"\n"], SENTENCES, WORDS];
/// Also where the elements of JSON end that stands in the middle of prose.
const SENTENCES: &[&str] = &[". ", "! ", "? ", "。", "！", "？", "},", "],"];
const WORDS: &[&str] = &[" ", "\t", "\u{3000}"];

fn in_prose(text: &str, from: usize, end: usize, ends: &Ends) -> usize {
    let floor = text.ceil_char_boundary(floor(from, end)).min(end);
    let window = &text[floor..end];
    let last = |mark: &&str| window.rfind(*mark).map(|at| floor + at + mark.len());
    let best = ends
        .iter()
        .find_map(|marks| marks.iter().filter_map(last).max());
    best.unwrap_or(end)
}

/// No cut is made before this, if there is a lesser place after it.
fn floor(from: usize, end: usize) -> usize {
    from + ((end - from) / 3).max(1)
}
