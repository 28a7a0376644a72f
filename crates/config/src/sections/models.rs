//! `[models]`: requests to models that are proxied through the gateway, with fewer tools in them.

use kitbag_domain::Template;
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{Fallback, KeyRow, KeyTable, Secrecy, SectionRow, ValueType};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.models));

const TABLE: KeyTable = KeyTable {
    path: "models",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "enabled",
            meaning: "`true` forwards requests under `/anthropic/` and `/openai/` to the vendors; see \
                      [models.md](models.md). It is off by default, because every caller of the gateway can then \
                      reach the vendors through it.",
            ..KeyRow::flag(|| false)
        },
        KeyRow {
            name: "foreign_tools",
            meaning: "`\"keep\"` leaves every tool that is not Kitbag's in a request. `\"trim\"` keeps at most 20 of \
                      them: tools that were used or named, or that share most words with the user's messages.",
            ..KeyRow::text(|| ForeignTools::Keep.as_str().to_owned())
        },
        KeyRow {
            name: "max_body_bytes",
            meaning: "The largest request that is parsed for its tools; a larger one is rejected. Requests to other \
                      paths and all answers are streamed through without a limit.",
            ..KeyRow::number(|| MAX_BODY_BYTES)
        },
        KeyRow {
            name: "anthropic",
            value: ValueType::Table(&ANTHROPIC_TABLE),
            meaning: "The vendor behind `/anthropic/`; see [below](#modelsanthropic).",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "openai",
            value: ValueType::Table(&OPENAI_TABLE),
            meaning: "The vendor behind `/openai/`; see [below](#modelsopenai).",
            ..KeyRow::unset("none")
        },
    ],
};

const ANTHROPIC_TABLE: KeyTable = KeyTable {
    path: "models.anthropic",
    alternatives: &[],
    rows: &[
        KeyRow {
            default: Fallback::Text(|| ANTHROPIC.to_owned()),
            ..URL_ROW
        },
        KEY_ROW,
    ],
};

const OPENAI_TABLE: KeyTable = KeyTable {
    path: "models.openai",
    alternatives: &[],
    rows: &[
        KeyRow {
            default: Fallback::Text(|| OPENAI.to_owned()),
            ..URL_ROW
        },
        KEY_ROW,
    ],
};

const URL_ROW: KeyRow = KeyRow {
    name: "url",
    secrecy: Secrecy::Address,
    meaning: "The base URL of the vendor or of a compatible service, without `/v1`.",
    ..KeyRow::PLAIN
};

const KEY_ROW: KeyRow = KeyRow {
    name: "key",
    secrecy: Secrecy::Whole,
    fills_variables: true,
    meaning: "The vendor key to send instead of the client's, such as `\"${secret:vendor_key}\"`. Every \
              caller of the gateway then uses it.",
    ..KeyRow::unset("the client's own key")
};

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = "https://api.openai.com";
/// Twice the larger limit of the two vendors.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawModels {
    enabled: bool,
    foreign_tools: Option<Spanned<String>>,
    max_body_bytes: Option<Spanned<i64>>,
    anthropic: RawModelVendor,
    openai: RawModelVendor,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawModelVendor {
    url: Option<Spanned<String>>,
    key: Option<String>,
}

/// The requests to models that are proxied through the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    pub enabled: bool,
    pub foreign_tools: ForeignTools,
    /// The largest request that is parsed for its tools.
    pub max_body_bytes: usize,
    pub anthropic: ModelVendor,
    pub openai: ModelVendor,
}

/// The URL and the key of a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelVendor {
    pub url: Url,
    /// The key that is sent instead of the client's.
    pub key: Option<Template>,
}

/// The treatment of tools that are not Kitbag's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignTools {
    Keep,
    Trim,
}

impl ForeignTools {
    const ALL: [Self; 2] = [Self::Keep, Self::Trim];

    fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Trim => "trim",
        }
    }
}

pub(crate) fn build(raw: RawModels) -> Result<Models, Fault> {
    let section = Section::new("models");
    let choices = ForeignTools::ALL.map(|it| (it.as_str(), it));
    let foreign_tools = section.parse_choice("foreign_tools", raw.foreign_tools, &choices)?;
    Ok(Models {
        enabled: raw.enabled,
        foreign_tools: foreign_tools.unwrap_or(ForeignTools::Keep),
        max_body_bytes: section.parse_number(
            "max_body_bytes",
            raw.max_body_bytes,
            1024,
            MAX_BODY_BYTES,
        )?,
        anthropic: build_vendor(raw.anthropic, "models.anthropic", ANTHROPIC)?,
        openai: build_vendor(raw.openai, "models.openai", OPENAI)?,
    })
}

fn build_vendor(
    raw: RawModelVendor,
    section: &str,
    default_url: &str,
) -> Result<ModelVendor, Fault> {
    let url = match &raw.url {
        Some(text) => parse_vendor_url(text.get_ref())
            .ok_or_else(|| Section::new(section).fault_at("url", text, Problem::VendorUrl))?,
        None => Url::parse(default_url).expect("a valid URL"),
    };
    Ok(ModelVendor {
        url,
        key: raw.key.map(Template::new),
    })
}

/// Clients append a path that starts with `/v1`, so a `/v1` at the end of the URL is removed.
fn parse_vendor_url(text: &str) -> Option<Url> {
    let text = text.trim_end_matches('/');
    let url = parse_web_address(text.strip_suffix("/v1").unwrap_or(text))?;
    (url.username().is_empty() && url.password().is_none()).then_some(url)
}

#[cfg(test)]
mod tests {
    use crate::tests::{check, config};

    #[test]
    fn models_are_disabled_until_the_operator_enables_them() {
        let models = |text: &str| config(text).unwrap().models;
        assert!(!models("").enabled);
        let set =
            models("[models]\nenabled = true\n[models.openai]\nurl = 'http://127.0.0.1:1/api/v1/'");
        assert!(set.enabled && set.openai.key.is_none());
        assert_eq!(set.openai.url.as_str(), "http://127.0.0.1:1/api");
        assert_eq!(set.anthropic.url.as_str(), "https://api.anthropic.com/");
        check(
            "[models.openai]\nurl = 'http://user:s3cret@host'",
            "line 2, in `models.openai.url`: not a valid vendor URL => write the part before `/v1`, like \
             \"https://api.anthropic.com\"",
        );
        check(
            "[models]\nforeign_tools = 'drop'",
            "line 2, in `models.foreign_tools`: `drop` is not one of `keep`, `trim`",
        );
    }
}
