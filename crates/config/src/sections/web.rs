//! `[web]` and `[browser]`: how web pages are read and captured, and which addresses they may
//! reach.

use std::path::PathBuf;

use kitbag_domain::Template;
use kitbag_policy::AddressRules;
use toml::Spanned;
use url::Url;

use super::provider::parse_networks;
use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::raw::Texts;
use crate::rows::{KeyRow, KeyTable, Secrecy, SectionRow};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow = SectionRow::one(&TABLE, |config| {
    let WebSettings {
        addresses,
        certificate_authorities,
        reader,
        browser_program: _,
    } = &config.web;
    format!("{addresses:?} {certificate_authorities:?} {reader:?}")
});

pub(crate) const BROWSER_SECTION: SectionRow = SectionRow::one(&BROWSER_TABLE, |config| {
    format!("{:?}", config.web.browser_program)
});

const TABLE: KeyTable = KeyTable {
    path: "web",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "reader",
            secrecy: Secrecy::Address,
            meaning: "A reader service that converts pages to Markdown, such as `\"https://reader.example\"`, requested as \
                      `READER/ADDRESS`. It sees every URL that `web_fetch` reads as Markdown.",
            ..KeyRow::unset("none: Markdown is made locally")
        },
        KeyRow {
            name: "reader_token",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            meaning: "Sent to the reader service as `Authorization: Bearer`, such as `\"${secret:reader}\"`.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "certificate_authorities",
            meaning: "A PEM file of certificate authorities that `web_fetch` and `browser` trust in addition to the \
                      public ones. It is reloaded with the configuration.",
            ..KeyRow::unset("only the public ones")
        },
        KeyRow {
            name: "allow_private",
            meaning: "`true` allows pages, and everything they load, from loopback and private addresses. Every caller that \
                      may use the tools can then reach them.",
            ..KeyRow::flag(|| false)
        },
        KeyRow {
            name: "allow_addresses",
            meaning: "Addresses and ranges that are always allowed, such as `\"10.1.0.0/16\"`.",
            ..KeyRow::texts(Vec::new)
        },
    ],
};

const BROWSER_TABLE: KeyTable = KeyTable {
    path: "browser",
    alternatives: &[],
    rows: &[KeyRow {
        name: "program",
        meaning: "The path of the Chromium or Chrome that takes screenshots.",
        ..KeyRow::unset("`chromium` or another usual name on the `PATH`")
    }],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawWeb {
    reader: Option<Spanned<String>>,
    reader_token: Option<Spanned<String>>,
    certificate_authorities: Option<String>,
    allow_private: bool,
    allow_addresses: Texts,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawBrowser {
    program: Option<String>,
}

/// The settings of the reader and the browser for web pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebSettings {
    /// The addresses that pages, and everything they load, may reach.
    pub addresses: AddressRules,
    /// A PEM file of certificates.
    pub certificate_authorities: Option<PathBuf>,
    /// Converts pages to Markdown instead of this machine.
    pub reader: Option<ReaderEndpoint>,
    /// Without it, a usual name is looked up on the `PATH`.
    pub browser_program: Option<PathBuf>,
}

/// The URL of a reader service, and its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderEndpoint {
    pub url: Url,
    pub token: Option<Template>,
}

pub(crate) fn build(
    raw: RawWeb,
    browser: RawBrowser,
    base_dirs: &BaseDirs,
) -> Result<WebSettings, Fault> {
    let section = Section::new("web");
    Ok(WebSettings {
        addresses: AddressRules {
            private: raw.allow_private,
            networks: parse_networks(&raw.allow_addresses, &section)?,
        },
        certificate_authorities: raw
            .certificate_authorities
            .map(|it| base_dirs.resolve_path(&it)),
        reader: build_reader(raw.reader, raw.reader_token, &section)?,
        browser_program: browser.program.map(|it| base_dirs.resolve_path(&it)),
    })
}

fn build_reader(
    url: Option<Spanned<String>>,
    token: Option<Spanned<String>>,
    section: &Section,
) -> Result<Option<ReaderEndpoint>, Fault> {
    match (url, token) {
        (None, None) => Ok(None),
        (None, Some(token)) => Err(section.fault_at("reader_token", &token, Problem::NoReader)),
        (Some(text), token) => {
            let url = parse_reader_url(text.get_ref())
                .ok_or_else(|| section.fault_at("reader", &text, Problem::ReaderUrl))?;
            let token = token.map(|token| Template::new(token.into_inner()));
            Ok(Some(ReaderEndpoint { url, token }))
        }
    }
}

fn parse_reader_url(text: &str) -> Option<Url> {
    parse_web_address(text).filter(|url| url.username().is_empty() && url.password().is_none())
}

#[cfg(test)]
mod tests {
    use crate::tests::{check, config};

    #[test]
    fn page_settings_are_read_and_a_reader_token_needs_a_reader() {
        let text = "[web]\nreader = 'https://reader.example/r'\nreader_token = '${secret:reader}'\n\
                    certificate_authorities = 'own.pem'\nallow_addresses = ['10.1.0.0/16']\n\
                    [browser]\nprogram = '/opt/chrome'";
        let web = config(text).unwrap().web;
        let reader = web.reader.unwrap();
        assert_eq!(reader.url.as_str(), "https://reader.example/r");
        assert_eq!(reader.token.unwrap().source(), "${secret:reader}");
        assert!(web.certificate_authorities.unwrap().ends_with("own.pem"));
        assert_eq!(web.browser_program.unwrap().as_os_str(), "/opt/chrome");
        assert_eq!(
            (web.addresses.private, web.addresses.networks.len()),
            (false, 1)
        );
        check(
            "[web]\nreader = 'https://ann:s3cret@reader.example'",
            "line 2, in `web.reader`: not a valid reader URL => write the part before the page's URL, like \
             \"https://reader.example\", and a token as `reader_token`",
        );
        check(
            "[web]\nreader_token = 's3cret'",
            "line 2, in `web.reader_token`: `reader_token` is set but `reader` is not => set `reader` to the service, \
             or remove `reader_token`",
        );
    }
}
