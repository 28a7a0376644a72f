//! The pages of an answer, and the part of it that is returned.

use crate::pointer::JsonPointer;

/// How to get the next page. The items of all pages become one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRule {
    /// The answer has a cursor at `next`, which becomes the argument `into` of the next request.
    Cursor {
        next: JsonPointer,
        into: String,
        items: JsonPointer,
    },
    /// The `Link` header has the next address under this relation.
    Link {
        relation: String,
        items: JsonPointer,
    },
    /// The argument counts up until a page is empty.
    Number {
        argument: String,
        items: JsonPointer,
    },
}

/// The part of an answer that is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRule {
    pub kind: AnswerType,
    pub pick: JsonPointer,
    /// The members to keep of the picked value, or of each item if it is a list; all if empty.
    pub keep: Vec<JsonPointer>,
    /// The message in an error's answer.
    pub error: Option<JsonPointer>,
    /// The base64 images in an answer: one, or a list.
    pub image: Option<JsonPointer>,
    pub image_type: String,
    pub usage: UsageRule,
}

/// The pointers to an answer's cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRule {
    /// In US dollars.
    pub cost: JsonPointer,
    pub input_tokens: Option<JsonPointer>,
    pub output_tokens: Option<JsonPointer>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerType {
    #[default]
    Json,
    Text,
    JsonLines,
    /// Server-sent events, joined.
    Events,
    Image,
    /// Returned in base64.
    Bytes,
}

impl PageRule {
    /// The argument with which a caller requests more than one page.
    pub const ARGUMENT: &str = "max_pages";
    pub const MOST_PAGES: u32 = 20;

    pub fn items(&self) -> &JsonPointer {
        match self {
            Self::Cursor { items, .. } | Self::Link { items, .. } | Self::Number { items, .. } => {
                items
            }
        }
    }

    /// Returns the argument that the rule sets itself.
    pub fn page_argument(&self) -> Option<&str> {
        match self {
            Self::Cursor { into, .. } => Some(into),
            Self::Number { argument, .. } => Some(argument),
            Self::Link { .. } => None,
        }
    }
}

impl Default for AnswerRule {
    fn default() -> Self {
        Self {
            kind: AnswerType::default(),
            pick: JsonPointer::default(),
            keep: Vec::new(),
            error: None,
            image: None,
            image_type: Self::DEFAULT_IMAGE_TYPE.to_owned(),
            usage: UsageRule::default(),
        }
    }
}

impl Default for UsageRule {
    fn default() -> Self {
        Self {
            cost: Self::DEFAULT_COST.parse().expect("it is a pointer"),
            input_tokens: None,
            output_tokens: None,
        }
    }
}

impl UsageRule {
    const DEFAULT_COST: &str = "/cost_usd";
}

impl AnswerRule {
    pub const DEFAULT_IMAGE_TYPE: &str = "image/png";
}

impl AnswerType {
    pub const ALL: [Self; 6] = [
        Self::Json,
        Self::Text,
        Self::JsonLines,
        Self::Events,
        Self::Image,
        Self::Bytes,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::JsonLines => "json-lines",
            Self::Events => "events",
            Self::Image => "image",
            Self::Bytes => "bytes",
        }
    }
}
