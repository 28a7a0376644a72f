//! A long text, read page by page.

use crate::estimate::{affordable, estimate};
use crate::place::{self, Kind, Place, Seam};

/// A text that is too long to be shown at once. Offsets are bytes; pages that follow each other
/// are the whole text, without a gap and without an overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    whole: String,
    parts: Vec<Part>,
}

/// One page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    pub text: &'a str,
    /// Where the text begins.
    pub offset: usize,
    /// Where the next page begins, if there is one.
    pub next_offset: Option<usize>,
    /// The bytes of the whole.
    pub total: usize,
}

/// A stretch of one kind, up to where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
    kind: Kind,
}

impl Pages {
    pub fn new(whole: &str) -> Self {
        let mut pages = Self::empty();
        pages.push(whole);
        pages
    }

    pub(crate) fn empty() -> Self {
        Self {
            whole: String::new(),
            parts: Vec::new(),
        }
    }

    /// Adds a part that begins on a line of its own; nothing, if there is nothing to add.
    pub(crate) fn push(&mut self, text: &str) -> Part {
        if !text.is_empty() && !self.whole.is_empty() {
            self.whole.push_str(SEPARATOR);
        }
        let part = Part {
            start: self.whole.len(),
            end: self.whole.len() + text.len(),
            kind: Kind::of(text),
        };
        if !text.is_empty() {
            self.whole.push_str(text);
            self.parts.push(part);
        }
        part
    }

    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// About as much as these tokens pay for, from an offset on, up to a clean border: between
    /// texts, between the elements of an array, at a paragraph, or the best there is. However few
    /// the tokens, a page is not empty before the end.
    pub fn page(&self, offset: usize, tokens: usize) -> Page<'_> {
        let offset = self.whole.floor_char_boundary(offset);
        let end = self
            .cut(offset, tokens)
            .map_or(self.whole.len(), |(place, _)| place.at);
        Page {
            text: &self.whole[offset..end],
            offset,
            next_offset: (end < self.whole.len()).then_some(end),
            total: self.whole.len(),
        }
    }

    /// Where the page from an offset on ends, unless it is the last, with the part that is cut.
    pub(crate) fn cut(&self, offset: usize, tokens: usize) -> Option<(Place, Part)> {
        let mut left = tokens;
        let mut at = offset;
        for &part in self.parts.iter().filter(|part| part.end > offset) {
            let (bytes, price) = affordable(&self.whole[at..part.end], left);
            if at + bytes < part.end {
                return Some((self.cut_in(part, offset, at, at + bytes), part));
            }
            left -= price.min(left);
            at = part.end;
        }
        None
    }

    /// Between this part and the one before it, where that is not too early, or else inside it.
    fn cut_in(&self, part: Part, offset: usize, at: usize, end: usize) -> Place {
        let behind_previous = part.start.max(offset);
        if at > offset && (behind_previous - offset) * 3 >= end - offset {
            return Place {
                at: behind_previous,
                seam: Seam::Open,
            };
        }
        let from = at.max(part.start);
        let end = end.max(self.whole.ceil_char_boundary(from + 1));
        let text = &self.whole[part.start..part.end];
        let place = place::choose(text, part.kind, from - part.start, end - part.start);
        Place {
            at: part.start + place.at,
            ..place
        }
    }

    /// A part up to where it is cut, made whole.
    pub(crate) fn mended(&self, part: Part, place: &Place) -> String {
        let within = Place {
            at: place.at - part.start,
            seam: place.seam.clone(),
        };
        place::mended(&self.whole[part.start..part.end], &within)
    }
}

impl Page<'_> {
    /// About how many tokens the page is.
    pub fn tokens(&self) -> usize {
        estimate(self.text)
    }
}

const SEPARATOR: &str = "\n\n";
