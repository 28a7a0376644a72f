//! A long text, read page by page.

use crate::cut_point::{self, CutKind, CutPoint, CutRange, TextKind};
use crate::estimate::{affordable_bytes, estimate_tokens};

/// A text that is too long to be shown at once. Offsets are bytes; consecutive pages form the whole
/// text, without gap or overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    whole: String,
    parts: Vec<PagePart>,
}

/// One page of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPage<'a> {
    pub text: &'a str,
    /// The offset of the text.
    pub offset: usize,
    /// The start of the next page, if there is one.
    pub next_offset: Option<usize>,
    /// The length of the whole, in bytes.
    pub total: usize,
}

/// A part of the text of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagePart {
    pub(crate) start: usize,
    pub(crate) end: usize,
    kind: TextKind,
}

impl Pages {
    pub fn new(whole: &str) -> Self {
        let mut pages = Self::empty();
        pages.push_part(whole);
        pages
    }

    pub(crate) fn empty() -> Self {
        Self {
            whole: String::new(),
            parts: Vec::new(),
        }
    }

    /// Adds a part that begins on its own line. An empty text adds nothing.
    pub(crate) fn push_part(&mut self, text: &str) -> PagePart {
        if !text.is_empty() && !self.whole.is_empty() {
            self.whole.push_str(SEPARATOR);
        }
        let part = PagePart {
            start: self.whole.len(),
            end: self.whole.len() + text.len(),
            kind: TextKind::detect(text),
        };
        if !text.is_empty() {
            self.whole.push_str(text);
            self.parts.push(part);
        }
        part
    }

    pub fn full_text(&self) -> &str {
        &self.whole
    }

    /// Returns about as much as these tokens pay for, from an offset up to a clean boundary:
    /// between texts, between the elements of an array, at a paragraph, or the best available.
    /// However few the tokens, a page is not empty before the end.
    pub fn page(&self, offset: usize, tokens: usize) -> ResultPage<'_> {
        let offset = self.whole.floor_char_boundary(offset);
        let end = self
            .find_cut(offset, tokens)
            .map_or(self.whole.len(), |(cut, _)| cut.at);
        ResultPage {
            text: &self.whole[offset..end],
            offset,
            next_offset: (end < self.whole.len()).then_some(end),
            total: self.whole.len(),
        }
    }

    /// Returns the end of the page that begins at an offset, unless it is the last, with the part
    /// that is cut.
    pub(crate) fn find_cut(&self, offset: usize, tokens: usize) -> Option<(CutPoint, PagePart)> {
        let mut left = tokens;
        let mut at = offset;
        for &part in self.parts.iter().filter(|part| part.end > offset) {
            let (bytes, cost) = affordable_bytes(&self.whole[at..part.end], left);
            if at + bytes < part.end {
                let page = CutRange {
                    start: offset,
                    end: at + bytes,
                };
                return Some((self.cut_part(part, page, at > offset), part));
            }
            left -= cost.min(left);
            at = part.end;
        }
        None
    }

    /// Cuts before this part, if the page contains others before it that use the page well; or else
    /// inside it.
    fn cut_part(&self, part: PagePart, page: CutRange, follows_others: bool) -> CutPoint {
        let start = part.start.max(page.start);
        if follows_others && page.is_well_used_by(start) {
            return CutPoint {
                at: start,
                kind: CutKind::Plain,
            };
        }
        // Even if the tokens pay for nothing of it, one character is shown.
        let end = page.end.max(self.whole.ceil_char_boundary(start + 1));
        let within = CutRange {
            start: start - part.start,
            end: end - part.start,
        };
        let cut = cut_point::choose_cut(&self.whole[part.start..part.end], part.kind, within);
        CutPoint {
            at: part.start + cut.at,
            ..cut
        }
    }

    /// Returns a part up to its cut, completed.
    pub(crate) fn close_cut(&self, part: PagePart, cut: &CutPoint) -> String {
        let within = CutPoint {
            at: cut.at - part.start,
            kind: cut.kind,
        };
        cut_point::close_cut(&self.whole[part.start..part.end], &within)
    }
}

impl ResultPage<'_> {
    /// Returns the estimated tokens of the page.
    pub fn tokens(&self) -> usize {
        estimate_tokens(self.text)
    }
}

/// Separates two parts.
const SEPARATOR: &str = "\n\n";
