//! Sanitises HTML for the parsers after it, with limits on its depth, size and nesting.
//!
//! An HTML parser repairs unclosed tags by copying elements: a few megabytes of hostile tags can
//! become gigabytes, and nested elements overflow the stack. So tags are rewritten here, each
//! closed where it belongs, with limits on depth and number. Only tokens are read for this, which
//! takes linear time. Links become absolute on the way.

mod names;
mod writer;

use std::cell::RefCell;
use std::time::Instant;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{RawKind, Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

use writer::TagWriter;

#[derive(Debug)]
pub(super) struct BoundedHtml {
    pub(super) html: String,
    pub(super) title: Option<String>,
}

/// How often to read the clock, in bytes.
const STEP: usize = 16 * 1024;

/// Returns `None` if the time runs out before the end: one tag with a million attributes takes
/// hours.
pub(super) fn rewrite_html(html: &str, url: &Url, until: Instant) -> Option<BoundedHtml> {
    let sink = TagSink(RefCell::new(TagWriter::new(url.clone())));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        let (step, behind) = rest.split_at(rest.floor_char_boundary(STEP).max(1));
        queue.push_back(StrTendril::from_slice(step));
        let _ = tokenizer.feed(&queue);
        rest = behind;
        if Instant::now() > until {
            return None;
        }
    }
    tokenizer.end();
    Some(tokenizer.sink.0.into_inner().finish())
}

/// Passes tokens to the writer.
struct TagSink(RefCell<TagWriter>);

impl TokenSink for TagSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => writer.add_text(&text),
            Token::TagToken(tag) if tag.kind == TagKind::EndTag => writer.end_tag(&tag.name),
            Token::TagToken(tag) => {
                writer.start_tag(&tag);
                return content_of(&tag);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Returns how the content of an element is tokenized: some have no tags in them.
fn content_of(tag: &Tag) -> TokenSinkResult<()> {
    let raw: Option<RawKind> = match &*tag.name {
        "script" => Some(ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => Some(Rawtext),
        "title" | "textarea" => Some(Rcdata),
        _ => None,
    };
    raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::reader::markdown;

    fn url() -> Url {
        Url::parse("https://example.com/").expect("a constant")
    }

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let found = rewrite_html(html, &url(), Instant::now() + Duration::from_secs(5)).unwrap();
        assert_eq!(found.html, expected, "{html}");
    }

    #[test]
    fn every_tag_is_closed_where_it_belongs() {
        for (html, expected) in [
            ("<p>a<p>b", "<p>a</p><p>b</p>"),
            ("<p><b>a<p>c", "<p><b>a</b></p><p>c</p>"),
            ("<p><b>a</p>c", "<p><b>a</b></p>c"),
            ("<ul><li>a<li>b</ul>c", "<ul><li>a</li><li>b</li></ul>c"),
            (
                "<ul><li>a<ul><li>b</ul><li>c</ul>",
                "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
            ),
            (
                "<table><tr><td>a</p></b><td>b<tr><td>c</table>",
                "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            ),
            (
                "<dl><dt>a<dd>b<dt>c",
                "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>",
            ),
            ("a</div></p>b<br>c<br/>d", "ab<br>c<br>d"),
            ("<svg><p>x</p><svg></svg></svg>y", "y"),
            ("<script>'<p>'</script><style>p</style>a", "a"),
            ("a &lt;b&gt; &amp;", "a &lt;b&gt; &amp;"),
            (
                "<a onclick=x href='/y?a&amp;b' class='\"'>z</a>",
                "<a href=\"https://example.com/y?a&amp;b\" class=\"&quot;\">z</a>",
            ),
            (
                "<img src='data:image/png;base64,AAAA' alt=x>",
                "<img alt=\"x\">",
            ),
        ] {
            check(html, expected);
        }
    }

    #[test]
    fn hostile_pages_are_read_in_seconds_and_on_a_small_stack() {
        let fonts: String = (0..2_000).map(|n| format!("<font size={n}>")).collect();
        for (name, html) in [
            ("deep", "<div>".repeat(100_000) + "core"),
            ("deep lists", "<ul><li>".repeat(5_000) + "core"),
            ("deep quotes", "<blockquote>".repeat(100_000) + "core"),
            ("deep tables", "<table><tr><td>".repeat(2_000) + "core"),
            ("deep emphasis", "<b><i>".repeat(50_000) + "core"),
            (
                "copied elements",
                format!("<p>{fonts}core") + &"<p>x".repeat(2_000),
            ),
            ("open tags", "core ".to_owned() + &"<a <b <".repeat(10_000)),
            ("one word", format!("<p>core{}</p>", "x".repeat(500_000))),
        ] {
            let started = Instant::now();
            let page = markdown::html_to_markdown(&html, &url()).unwrap();
            assert!(page.markdown.contains("core"), "{name}");
            // A hundred times the usual duration; the effect of these pages on the parser itself
            // takes minutes.
            assert!(started.elapsed() < Duration::from_secs(120), "{name}");
        }
    }

    #[test]
    fn elements_beyond_the_limit_are_dropped_and_their_text_stays() {
        let html = "<i>x</i>".repeat(100_100) + "the end";
        let found = rewrite_html(&html, &url(), Instant::now() + Duration::from_secs(20)).unwrap();
        assert_eq!(found.html.matches("<i>").count(), 100_000);
        assert!(found.html.ends_with("xthe end"));
    }

    #[test]
    fn a_page_that_takes_too_long_is_given_up() {
        let attributes: String = (0..200_000).map(|n| format!(" a{n}")).collect();
        let until = Instant::now() + Duration::from_millis(200);
        assert!(rewrite_html(&format!("<p{attributes}>"), &url(), until).is_none());
    }

    /// Pieces, nested in every order.
    fn pieces() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec![
            "p",
            "div",
            "b",
            "a",
            "ul",
            "li",
            "table",
            "tr",
            "td",
            "pre",
            "code",
            "br",
            "img",
            "svg",
            "title",
            "script",
            "blockquote",
            "h1",
            "template",
            "select",
            "textarea",
            "base",
            "x-y",
        ]);
        let piece = prop_oneof![
            name.clone().prop_map(|name| format!("<{name}>")),
            name.clone()
                .prop_map(|name| format!("<{name} href='?a&amp;b' class=\"x\" alt=>")),
            name.prop_map(|name| format!("</{name}>")),
            "[ -~]{0,6}",
            "\\PC{0,4}",
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn whatever_the_page_it_is_read_and_its_tags_are_in_order(html in pieces()) {
            let until = Instant::now() + Duration::from_secs(60);
            let once = rewrite_html(&html, &url(), until).unwrap().html;
            let twice = rewrite_html(&once, &url(), until).unwrap().html;
            prop_assert_eq!(&once, &twice);
            prop_assert!(markdown::html_to_markdown(&html, &url()).is_ok());
        }
    }
}
