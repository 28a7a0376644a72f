//! Brings a tool's result within a budget.

use kitbag_wire::{Raw, RawObject};
use serde_json::value::RawValue;

use crate::block::{Block, Manner, text_block};
use crate::estimate::{estimate, roughly};
use crate::pages::{Pages, Part};
use crate::place::Place;
use crate::same;

/// A result that was held against a budget.
#[derive(Debug)]
pub enum Fitted {
    /// It may pass as it is.
    Whole,
    Cut(Box<Cut>),
}

/// A result of which a part is shown.
#[derive(Debug)]
pub struct Cut {
    /// All there is to read, as text; the shown part is its beginning.
    pub pages: Pages,
    /// Where to read on, if more is to be read; binary data is left out of the text too.
    pub next_offset: Option<usize>,
    /// About how many tokens are shown, without the notice.
    pub shown_tokens: usize,
    /// About how many the result would have been.
    pub total_tokens: usize,
    pub structured: Structured,
    /// How many images, sounds and files were left out.
    pub binaries_left_out: usize,
    result: RawObject,
    content: Vec<Raw>,
}

/// What became of `structuredContent`. A part of it may not be what the tool's schema promises, so
/// it is there as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structured {
    /// As it was, or there was none.
    Unchanged,
    /// Left out, because the text says the same.
    SaidByText,
    /// Left out, and to be read as text after the rest.
    MovedToText,
}

/// Holds the result of a tool call, JSON, against a budget in tokens. What is within it, and what
/// is no such result, is not touched.
pub fn fit(result: &str, budget: usize) -> Fitted {
    // No token is shorter than a byte.
    if result.len() <= budget {
        return Fitted::Whole;
    }
    let cut = serde_json::from_str(result)
        .ok()
        .and_then(|result| cut(result, budget));
    cut.map_or(Fitted::Whole, |cut| Fitted::Cut(Box::new(cut)))
}

impl Cut {
    /// The result to hand on: what is shown, and last the [notice](crate::notice::cut).
    pub fn answer(mut self, notice: &str) -> Raw {
        self.content.push(text_block(notice));
        self.result.put("content", &self.content);
        self.result.to_raw()
    }
}

fn cut(mut result: RawObject, budget: usize) -> Option<Cut> {
    let content = result.get("content").map(ToOwned::to_owned);
    let layout = Layout::of(content.as_deref(), result.get("structuredContent"))?;
    let binary_tokens: usize = layout
        .blocks
        .iter()
        .filter_map(|(block, _)| tokens_of(block))
        .sum();
    if binary_tokens <= budget && layout.pages.cut(0, budget - binary_tokens).is_none() {
        return None;
    }
    let text_tokens = roughly(layout.pages.whole());
    let room = budget - NOTICE_TOKENS.min(budget / 2);
    // Binary data can not be read later; so it comes first, as long as half is left for text.
    let kept = layout.keep(room - text_tokens.min(room / 2));
    let end = layout.end(room - kept.tokens);
    let structured = layout.fate_of_structured(&end);
    let content = layout.content(&end, &kept, structured);
    let shown_tokens = estimate(&layout.pages.whole()[..end.at()]) + kept.tokens;
    let pages = layout.pages;
    if structured != Structured::Unchanged {
        result.remove("structuredContent");
    }
    Some(Cut {
        next_offset: (end.at() < pages.whole().len()).then_some(end.at()),
        pages,
        shown_tokens,
        total_tokens: text_tokens + binary_tokens,
        structured,
        binaries_left_out: kept.left_out,
        result,
        content,
    })
}

/// A result, laid out as text.
struct Layout<'a> {
    blocks: Vec<(Block<'a>, Part)>,
    structured: StructuredText,
    pages: Pages,
}

/// How `structuredContent` is to be read.
enum StructuredText {
    Absent,
    InBlocks,
    Apart(Part),
}

/// Where the shown text ends.
enum End {
    /// There is no more of it.
    Whole(usize),
    Inside(Place, Part),
}

impl<'a> Layout<'a> {
    fn of(content: Option<&'a RawValue>, structured: Option<&RawValue>) -> Option<Self> {
        let content: Vec<&RawValue> = content
            .map_or(Ok(Vec::new()), |content| {
                serde_json::from_str(content.get())
            })
            .ok()?;
        let blocks: Vec<Block<'a>> = content.into_iter().map(Block::read).collect();
        let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
        let repeated = structured.is_some_and(|structured| same::repeats(&texts, structured));
        let mut pages = Pages::empty();
        let blocks = blocks
            .into_iter()
            .map(|block| lay(&mut pages, block))
            .collect();
        let structured = match structured {
            None => StructuredText::Absent,
            Some(_) if repeated => StructuredText::InBlocks,
            Some(json) => {
                pages.push("structuredContent:");
                StructuredText::Apart(pages.push(json.get()))
            }
        };
        Some(Self {
            blocks,
            structured,
            pages,
        })
    }

    /// Which binary blocks are shown, within so many tokens.
    fn keep(&self, room: usize) -> Kept {
        let mut kept = Kept {
            blocks: vec![false; self.blocks.len()],
            tokens: 0,
            left_out: 0,
        };
        for (at, (block, _)) in self.blocks.iter().enumerate() {
            match tokens_of(block) {
                Some(tokens) if kept.tokens + tokens <= room => {
                    kept.blocks[at] = true;
                    kept.tokens += tokens;
                }
                Some(_) => kept.left_out += 1,
                None => {}
            }
        }
        kept
    }

    fn end(&self, tokens: usize) -> End {
        let cut = self.pages.cut(0, tokens);
        cut.map_or_else(
            || End::Whole(self.pages.whole().len()),
            |(place, part)| End::Inside(place, part),
        )
    }

    fn fate_of_structured(&self, end: &End) -> Structured {
        match (&self.structured, end) {
            (StructuredText::InBlocks, End::Inside(..)) => Structured::SaidByText,
            (StructuredText::Apart(part), _) if part.end > end.at() => Structured::MovedToText,
            _ => Structured::Unchanged,
        }
    }

    fn content(&self, end: &End, kept: &Kept, structured: Structured) -> Vec<Raw> {
        let show = |(at, (block, part)): (usize, &(Block<'_>, Part))| match &block.manner {
            Manner::Binary { .. } if kept.blocks[at] => Some(block.raw.to_owned()),
            Manner::Binary { line, .. } => (part.end <= end.at()).then(|| text_block(line)),
            _ if part.end <= end.at() => Some(block.raw.to_owned()),
            Manner::Text(_) => end
                .shown_of(*part, &self.pages)
                .map(|text| block.with_text(&text)),
            Manner::Readable { .. } => end
                .shown_of(*part, &self.pages)
                .map(|text| text_block(&text)),
        };
        let mut content: Vec<Raw> = self.blocks.iter().enumerate().filter_map(show).collect();
        if let (StructuredText::Apart(part), Structured::MovedToText) =
            (&self.structured, structured)
        {
            content.extend(
                end.shown_of(*part, &self.pages)
                    .map(|text| text_block(&text)),
            );
        }
        content
    }
}

impl End {
    fn at(&self) -> usize {
        match self {
            Self::Whole(at) => *at,
            Self::Inside(place, _) => place.at,
        }
    }

    /// The beginning of a part, if it is the one that is cut; those after it are not shown.
    fn shown_of(&self, part: Part, pages: &Pages) -> Option<String> {
        match self {
            Self::Inside(place, cut) if *cut == part && place.at > part.start => {
                Some(pages.mended(part, place))
            }
            _ => None,
        }
    }
}

/// The binary blocks that are shown.
struct Kept {
    blocks: Vec<bool>,
    tokens: usize,
    left_out: usize,
}

fn lay<'a>(pages: &mut Pages, block: Block<'a>) -> (Block<'a>, Part) {
    let part = match &block.manner {
        Manner::Text(text) => pages.push(text),
        Manner::Readable { heading, text } => {
            pages.push(heading);
            pages.push(text)
        }
        Manner::Binary { line, .. } => pages.push(line),
    };
    (block, part)
}

fn text_of<'b>(block: &'b Block<'_>) -> Option<&'b str> {
    match &block.manner {
        Manner::Text(text) => Some(text),
        _ => None,
    }
}

fn tokens_of(block: &Block<'_>) -> Option<usize> {
    match block.manner {
        Manner::Binary { tokens, .. } => Some(tokens),
        _ => None,
    }
}

/// What the notice takes.
const NOTICE_TOKENS: usize = 60;
