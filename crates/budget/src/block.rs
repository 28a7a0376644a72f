//! One block of a tool's result, classified by how it can be shortened.

use kitbag_wire::{Raw, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// As it arrived.
    pub(crate) raw: &'a RawValue,
    pub(crate) kind: BlockKind,
}

#[derive(Debug)]
pub(crate) enum BlockKind {
    /// A text block: it can be shortened and stays a text block.
    Text(String),
    /// A block that is shown whole, or in part as text: the text of a resource, a link, a block of
    /// an unknown type.
    Readable { heading: String, text: String },
    /// A block that is shown whole, or replaced by this line.
    Binary { line: String, tokens: usize },
}

impl<'a> Block<'a> {
    pub(crate) fn parse(raw: &'a RawValue) -> Self {
        let known = serde_json::from_str(raw.get())
            .ok()
            .and_then(ProtocolBlock::into_kind);
        let kind = known.unwrap_or_else(|| BlockKind::Readable {
            heading: String::new(),
            text: raw.get().to_owned(),
        });
        Self { raw, kind }
    }

    /// Returns the block with another text.
    pub(crate) fn with_text(&self, text: &str) -> Raw {
        RawObject::open(self.raw)
            .unwrap_or_default()
            .with("text", text)
            .to_raw()
    }
}

/// Returns a text block.
pub(crate) fn text_block(text: &str) -> Raw {
    RawObject::new()
        .with("type", "text")
        .with("text", text)
        .to_raw()
}

/// A block in protocol form. All members are read in one pass, because the text may be long.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProtocolBlock<'a> {
    r#type: String,
    text: Option<String>,
    mime_type: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    resource: Option<Resource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    uri: String,
    text: Option<String>,
    mime_type: Option<String>,
    #[serde(borrow)]
    blob: Option<&'a RawValue>,
}

impl ProtocolBlock<'_> {
    fn into_kind(self) -> Option<BlockKind> {
        let mime = self.mime_type.as_deref();
        match self.r#type.as_str() {
            "text" => self.text.map(BlockKind::Text),
            "image" => Some(binary_block("image", mime, self.data?, |bytes| {
                bytes.min(IMAGE_TOKENS)
            })),
            "audio" => Some(binary_block("audio", mime, self.data?, |bytes| {
                bytes / AUDIO_BYTES_PER_TOKEN
            })),
            "resource" => self.resource?.into_kind(),
            _ => None,
        }
    }
}

impl Resource<'_> {
    fn into_kind(self) -> Option<BlockKind> {
        match (self.text, self.blob) {
            (Some(text), _) => Some(BlockKind::Readable {
                heading: format!("{}:", self.uri),
                text,
            }),
            (None, Some(blob)) => Some(binary_block(
                &self.uri,
                self.mime_type.as_deref(),
                blob,
                |bytes| bytes,
            )),
            (None, None) => None,
        }
    }
}

/// Parses a block of binary data. Base64 is a third longer than its bytes.
fn binary_block(
    name: &str,
    mime: Option<&str>,
    base64: &RawValue,
    tokens: impl Fn(usize) -> usize,
) -> BlockKind {
    let bytes = base64.get().len() * 3 / 4;
    let mime = mime.unwrap_or("of unknown type");
    let line = format!("[{name}, {mime}, {} kB: left out]", bytes.div_ceil(1_000));
    BlockKind::Binary {
        line,
        tokens: tokens(bytes),
    }
}

/// Vendors charge for an image by its area, up to about this many tokens.
const IMAGE_TOKENS: usize = 1_500;
/// About 30 tokens for a second of sound, which is about 16 kB.
const AUDIO_BYTES_PER_TOKEN: usize = 500;
