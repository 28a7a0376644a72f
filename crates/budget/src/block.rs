//! One block of a tool's result, by what can be done with it when room is short.

use kitbag_wire::{Raw, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// As it arrived.
    pub(crate) raw: &'a RawValue,
    pub(crate) manner: Manner,
}

#[derive(Debug)]
pub(crate) enum Manner {
    /// Can be shortened and stays what it is.
    Text(String),
    /// Is shown whole, or in part as text: the text of a resource, a link, what we do not know.
    Readable { heading: String, text: String },
    /// Is shown whole or not at all; then the line stands for it.
    Binary { line: String, tokens: usize },
}

impl<'a> Block<'a> {
    pub(crate) fn read(raw: &'a RawValue) -> Self {
        let known = serde_json::from_str(raw.get())
            .ok()
            .and_then(Written::manner);
        let unknown = || Manner::Readable {
            heading: String::new(),
            text: raw.get().to_owned(),
        };
        Self {
            raw,
            manner: known.unwrap_or_else(unknown),
        }
    }

    /// The block with another text.
    pub(crate) fn with_text(&self, text: &str) -> Raw {
        RawObject::open(self.raw)
            .unwrap_or_default()
            .with("text", text)
            .to_raw()
    }
}

/// A block that says this and nothing else.
pub(crate) fn text_block(text: &str) -> Raw {
    RawObject::new()
        .with("type", "text")
        .with("text", text)
        .to_raw()
}

/// A block as the protocol writes it, read in one go because its text may be long.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
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

impl Written<'_> {
    fn manner(self) -> Option<Manner> {
        let mime = self.mime_type.as_deref();
        match self.r#type.as_str() {
            "text" => self.text.map(Manner::Text),
            "image" => Some(binary("image", mime, self.data?, |bytes| {
                bytes.min(IMAGE_TOKENS)
            })),
            "audio" => Some(binary("audio", mime, self.data?, |bytes| {
                bytes / AUDIO_BYTES_PER_TOKEN
            })),
            "resource" => self.resource?.manner(),
            _ => None,
        }
    }
}

impl Resource<'_> {
    fn manner(self) -> Option<Manner> {
        match (self.text, self.blob) {
            (Some(text), _) => Some(Manner::Readable {
                heading: format!("{}:", self.uri),
                text,
            }),
            (None, Some(blob)) => Some(binary(
                &self.uri,
                self.mime_type.as_deref(),
                blob,
                |bytes| bytes,
            )),
            (None, None) => None,
        }
    }
}

/// Base64 is a third longer than what it stands for.
fn binary(
    name: &str,
    mime: Option<&str>,
    base64: &RawValue,
    tokens: impl Fn(usize) -> usize,
) -> Manner {
    let bytes = base64.get().len() * 3 / 4;
    let mime = mime.unwrap_or("of unknown type");
    let line = format!("[{name}, {mime}, {} kB: left out]", bytes.div_ceil(1_000));
    Manner::Binary {
        line,
        tokens: tokens(bytes),
    }
}

/// Models are charged for an image by its area, up to about this.
const IMAGE_TOKENS: usize = 1_500;
/// Some 30 tokens for a second of sound, of 16 kB.
const AUDIO_BYTES_PER_TOKEN: usize = 500;
