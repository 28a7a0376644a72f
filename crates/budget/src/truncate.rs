//! Truncates a tool's result to a budget.

use kitbag_wire::{Raw, RawObject};
use serde_json::value::RawValue;

use crate::block::{Block, BlockKind, text_block};
use crate::cut_point::CutPoint;
use crate::duplicate;
use crate::estimate::{estimate_by_sampling, estimate_tokens};
use crate::pages::{PagePart, Pages};

/// The outcome of comparing a result with a budget.
#[derive(Debug)]
pub enum TruncateOutcome {
    /// The result is within the budget, and passes unchanged.
    Whole,
    Cut(Box<TruncatedResult>),
}

/// A truncated result.
#[derive(Debug)]
pub struct TruncatedResult {
    /// The whole result as text; the shown part is its beginning.
    pub pages: Pages,
    /// The offset to continue from, if there is more text; binary data is not in the text.
    pub next_offset: Option<usize>,
    /// The estimated tokens shown, without the notice.
    pub shown_tokens: usize,
    /// The estimated tokens of the whole result.
    pub total_tokens: usize,
    pub structured: StructuredOutcome,
    /// The number of omitted images, audio clips and files.
    pub binaries_left_out: usize,
    result: RawObject,
    content: Vec<Raw>,
}

/// The fate of `structuredContent`. A part of it may violate the tool's schema, so it is included
/// as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutcome {
    /// Unchanged, or there was none.
    Unchanged,
    /// Omitted, because the text says the same.
    SameAsText,
    /// Omitted, and appended as text to the remainder.
    MovedToText,
}

/// Compares the JSON result of a tool call with a token budget, and truncates it if it is longer. A
/// text that is not such a result is not changed.
pub fn truncate_to_budget(result: &str, budget: usize) -> TruncateOutcome {
    // No token is shorter than a byte.
    if result.len() <= budget {
        return TruncateOutcome::Whole;
    }
    let cut = serde_json::from_str(result)
        .ok()
        .and_then(|result| truncate_result(result, budget));
    cut.map_or(TruncateOutcome::Whole, |cut| {
        TruncateOutcome::Cut(Box::new(cut))
    })
}

impl TruncatedResult {
    /// Returns the result to send: the shown part, and last the
    /// [notice](crate::notice::truncation_notice).
    pub fn answer(mut self, notice: &str) -> Raw {
        self.content.push(text_block(notice));
        self.result.put("content", &self.content);
        self.result.to_raw()
    }
}

fn truncate_result(mut result: RawObject, budget: usize) -> Option<TruncatedResult> {
    let content = result.get("content").map(ToOwned::to_owned);
    let layout = Layout::new(content.as_deref(), result.get("structuredContent"))?;
    let binary_tokens = layout.binary_tokens();
    if binary_tokens <= budget && layout.pages.find_cut(0, budget - binary_tokens).is_none() {
        return None;
    }
    let text_tokens = estimate_by_sampling(layout.pages.full_text());
    let room = budget - NOTICE_TOKENS.min(budget / 2);
    // Binary data cannot be read later, so it comes first, as long as half is left for text.
    let kept = layout.choose_binaries(room - text_tokens.min(room / 2));
    let end = layout.find_end(room - kept.tokens);
    let structured = layout.structured_outcome(&end);
    if structured != StructuredOutcome::Unchanged {
        result.remove("structuredContent");
    }
    let at = end.offset();
    Some(TruncatedResult {
        next_offset: (at < layout.pages.full_text().len()).then_some(at),
        shown_tokens: estimate_tokens(&layout.pages.full_text()[..at]) + kept.tokens,
        total_tokens: text_tokens + binary_tokens,
        structured,
        binaries_left_out: kept.left_out,
        result,
        content: layout.build_content(&end, &kept, structured),
        pages: layout.pages,
    })
}

/// A result, laid out as text.
struct Layout<'a> {
    blocks: Vec<(Block<'a>, PagePart)>,
    structured: StructuredText,
    pages: Pages,
}

/// How `structuredContent` can be read as text.
enum StructuredText {
    Absent,
    /// The text blocks say the same.
    InBlocks,
    Apart(PagePart),
}

/// The end of the shown text.
enum ShownEnd {
    /// All of the text is shown.
    Whole(usize),
    Inside(CutPoint, PagePart),
}

impl<'a> Layout<'a> {
    fn new(content: Option<&'a RawValue>, structured: Option<&RawValue>) -> Option<Self> {
        let blocks = read_blocks(content)?;
        let texts: Vec<&str> = blocks.iter().filter_map(block_text).collect();
        let repeated = structured
            .is_some_and(|structured| duplicate::text_repeats_structured(&texts, structured));
        let mut pages = Pages::empty();
        let blocks = blocks
            .into_iter()
            .map(|block| push_block(&mut pages, block))
            .collect();
        let structured = match structured {
            None => StructuredText::Absent,
            Some(_) if repeated => StructuredText::InBlocks,
            Some(json) => {
                pages.push_part("structuredContent:");
                StructuredText::Apart(pages.push_part(json.get()))
            }
        };
        Some(Self {
            blocks,
            structured,
            pages,
        })
    }

    fn binary_tokens(&self) -> usize {
        self.blocks
            .iter()
            .filter_map(|(block, _)| binary_block_tokens(block))
            .sum()
    }

    /// Chooses the binary blocks to show, within this many tokens.
    fn choose_binaries(&self, room: usize) -> ShownBinaries {
        let mut kept = ShownBinaries {
            blocks: vec![false; self.blocks.len()],
            tokens: 0,
            left_out: 0,
        };
        for (at, (block, _)) in self.blocks.iter().enumerate() {
            match binary_block_tokens(block) {
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

    fn find_end(&self, tokens: usize) -> ShownEnd {
        let cut = self.pages.find_cut(0, tokens);
        cut.map_or_else(
            || ShownEnd::Whole(self.pages.full_text().len()),
            |(cut, part)| ShownEnd::Inside(cut, part),
        )
    }

    fn structured_outcome(&self, end: &ShownEnd) -> StructuredOutcome {
        match (&self.structured, end) {
            (StructuredText::InBlocks, ShownEnd::Inside(..)) => StructuredOutcome::SameAsText,
            (StructuredText::Apart(part), _) if part.end > end.offset() => {
                StructuredOutcome::MovedToText
            }
            _ => StructuredOutcome::Unchanged,
        }
    }

    fn build_content(
        &self,
        end: &ShownEnd,
        kept: &ShownBinaries,
        structured: StructuredOutcome,
    ) -> Vec<Raw> {
        let mut content = Vec::new();
        for ((block, part), is_kept) in self.blocks.iter().zip(&kept.blocks) {
            content.extend(self.render_block(block, *part, end, *is_kept));
        }
        if let (StructuredText::Apart(part), StructuredOutcome::MovedToText) =
            (&self.structured, structured)
        {
            let text = end.shown_part(*part, &self.pages);
            content.extend(text.map(|text| text_block(&text)));
        }
        content
    }

    /// Returns the block as it is shown: whole, shortened, replaced by a line, or not at all.
    fn render_block(
        &self,
        block: &Block<'_>,
        part: PagePart,
        end: &ShownEnd,
        kept: bool,
    ) -> Option<Raw> {
        let is_reached = part.end <= end.offset();
        match &block.kind {
            BlockKind::Binary { .. } if kept => Some(block.raw.to_owned()),
            BlockKind::Binary { line, .. } => is_reached.then(|| text_block(line)),
            _ if is_reached => Some(block.raw.to_owned()),
            BlockKind::Text(_) => Some(block.with_text(&end.shown_part(part, &self.pages)?)),
            BlockKind::Readable { .. } => Some(text_block(&end.shown_part(part, &self.pages)?)),
        }
    }
}

impl ShownEnd {
    fn offset(&self) -> usize {
        match self {
            Self::Whole(at) => *at,
            Self::Inside(cut, _) => cut.at,
        }
    }

    /// Returns the beginning of a part, if it is the one that is cut; the parts after it are not
    /// shown.
    fn shown_part(&self, part: PagePart, pages: &Pages) -> Option<String> {
        match self {
            Self::Inside(cut, cut_part) if *cut_part == part && cut.at > part.start => {
                Some(pages.close_cut(part, cut))
            }
            _ => None,
        }
    }
}

/// The binary blocks to show.
struct ShownBinaries {
    /// One entry per block of the result.
    blocks: Vec<bool>,
    tokens: usize,
    left_out: usize,
}

/// Returns `None` if the content is not a list.
fn read_blocks(content: Option<&RawValue>) -> Option<Vec<Block<'_>>> {
    let Some(content) = content else {
        return Some(Vec::new());
    };
    let content: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    Some(content.into_iter().map(Block::parse).collect())
}

/// Appends a block to the pages as text.
fn push_block<'a>(pages: &mut Pages, block: Block<'a>) -> (Block<'a>, PagePart) {
    let part = match &block.kind {
        BlockKind::Text(text) => pages.push_part(text),
        BlockKind::Readable { heading, text } => {
            pages.push_part(heading);
            pages.push_part(text)
        }
        BlockKind::Binary { line, .. } => pages.push_part(line),
    };
    (block, part)
}

fn block_text<'b>(block: &'b Block<'_>) -> Option<&'b str> {
    match &block.kind {
        BlockKind::Text(text) => Some(text),
        _ => None,
    }
}

fn binary_block_tokens(block: &Block<'_>) -> Option<usize> {
    match block.kind {
        BlockKind::Binary { tokens, .. } => Some(tokens),
        _ => None,
    }
}

/// The tokens of the longest notice.
const NOTICE_TOKENS: usize = 80;
