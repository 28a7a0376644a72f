//! Chooses where to cut a text.
//!
//! A better cut point may be earlier; but no cut is made in the first third of the room if there is
//! a lesser cut point after it.

use crate::json::{Gap, Gaps, OpenLevels, OpenString};

/// The kind of a text, which decides where it may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Prose,
    /// One valid array or object.
    Json,
}

impl TextKind {
    pub(crate) fn detect(text: &str) -> Self {
        let begins = text.trim_start().starts_with(['{', '[']);
        if begins && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            Self::Json
        } else {
            Self::Prose
        }
    }
}

/// The position of a cut, and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutPoint {
    pub(crate) at: usize,
    pub(crate) kind: CutKind,
}

/// The kind of a cut, which decides what completes the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutKind {
    /// A cut in prose, or in JSON that cannot be completed.
    Plain,
    BetweenElements(OpenLevels),
    InsideString(OpenLevels),
}

/// How much of a page may stay empty for a better cut: two thirds. With less than a third used, a
/// page would waste most of its room.
const LEAST_SHARE: usize = 3;

/// The range in which the cut must be: after `start`, and at `end` at the latest, which is after
/// `start` and on a character boundary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl CutRange {
    /// True if a cut here leaves at least a third of the room before it.
    pub(crate) fn is_well_used_by(self, at: usize) -> bool {
        (at - self.start) * LEAST_SHARE >= self.end - self.start
    }

    /// No cut is made before this, if there is a lesser cut point after it.
    fn earliest_cut(self) -> usize {
        self.start + ((self.end - self.start) / LEAST_SHARE).max(1)
    }
}

/// Returns the best point to cut a text within the room.
pub(crate) fn choose_cut(text: &str, kind: TextKind, room: CutRange) -> CutPoint {
    let found = match kind {
        TextKind::Json => cut_json(text, room),
        TextKind::Prose => None,
    };
    found.unwrap_or_else(|| CutPoint {
        at: cut_prose(text, room, &PROSE),
        kind: CutKind::Plain,
    })
}

/// Returns the text before a cut, completed.
pub(crate) fn close_cut(text: &str, cut: &CutPoint) -> String {
    let before = &text[..cut.at];
    match cut.kind {
        CutKind::Plain => before.trim_end().to_owned(),
        CutKind::BetweenElements(open) => {
            let before = before.trim_end();
            format!(
                "{}{}",
                before.strip_suffix(',').unwrap_or(before),
                open.closing_brackets()
            )
        }
        CutKind::InsideString(open) => format!("{before}…\"{}", open.closing_brackets()),
    }
}

/// Cuts between elements, as far out as possible; an element that is too long by itself is cut
/// inside.
fn cut_json(text: &str, room: CutRange) -> Option<CutPoint> {
    let gaps = Gaps::find(text, room.start, room.end)?;
    gaps.outermost_gap(room.earliest_cut())
        .map(CutPoint::between_elements)
        .or_else(|| cut_string(text, gaps.inside?, room))
        .or_else(|| gaps.last_gap().map(CutPoint::between_elements))
}

fn cut_string(text: &str, string: OpenString, room: CutRange) -> Option<CutPoint> {
    let start = room.start.max(string.start);
    let end = string.safe;
    (end > start).then(|| CutPoint {
        at: cut_prose(text, CutRange { start, end }, &STRING),
        kind: CutKind::InsideString(string.open),
    })
}

impl CutPoint {
    fn between_elements(gap: Gap) -> Self {
        Self {
            at: gap.at,
            kind: CutKind::BetweenElements(gap.open),
        }
    }
}

/// Ends of paragraphs, lines, sentences and words, best first.
type Ends = [&'static [&'static str]; 4];

const PROSE: Ends = [&["\n\n", "\r\n\r\n"], &["\n"], SENTENCES, WORDS];
const STRING: Ends = [&[r"\n\n", r"\r\n\r\n"], &[r"\n"], SENTENCES, WORDS];
/// Also the ends of elements, for JSON in the middle of prose.
const SENTENCES: &[&str] = &[". ", "! ", "? ", "。", "！", "？", "},", "],"];
const WORDS: &[&str] = &[" ", "\t", "\u{3000}"];

fn cut_prose(text: &str, room: CutRange, ends: &Ends) -> usize {
    let floor = text.ceil_char_boundary(room.earliest_cut()).min(room.end);
    let window = &text[floor..room.end];
    ends.iter()
        .find_map(|marks| last_end(window, marks))
        .map_or(room.end, |at| floor + at)
}

/// Returns the end of the last of these marks.
fn last_end(text: &str, marks: &[&str]) -> Option<usize> {
    let ends = marks
        .iter()
        .map(|mark| Some(text.rfind(mark)? + mark.len()));
    ends.flatten().max()
}
