//! The main part of an HTML page as Markdown.

use std::time::{Duration, Instant};

use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use url::Url;

use super::bounds;
use super::error::PageError;

/// The largest manuals take a second.
const PARSE_TIMEOUT: Duration = Duration::from_secs(8);
/// A shorter result is a menu or a notice that was mistaken for the main part.
const MIN_MAIN_CHARS: usize = 250;

#[derive(Debug)]
pub(super) struct MarkdownPage {
    pub(super) title: Option<String>,
    pub(super) markdown: String,
}

/// Returns the main part, or all of a page that has none, such as a list of links.
pub(super) fn html_to_markdown(html: &str, url: &Url) -> Result<MarkdownPage, PageError> {
    let bounded = bounds::rewrite_html(html, url, Instant::now() + PARSE_TIMEOUT);
    let bounded = bounded.ok_or(PageError::Unparsable)?;
    let main_part = find_main_part(&bounded.html).unwrap_or_else(|| bounded.html.clone());
    Ok(MarkdownPage {
        title: bounded.title,
        markdown: convert_html(&main_part)?,
    })
}

fn find_main_part(html: &str) -> Option<String> {
    // The class of a code block names its language.
    let config = Config {
        keep_classes: true,
        disable_json_ld: true,
        ..Config::default()
    };
    let mut readability = Readability::new(html, None, Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let is_enough = article.text_content.trim().chars().count() >= MIN_MAIN_CHARS;
    is_enough.then(|| article.content.to_string())
}

fn convert_html(html: &str) -> Result<String, PageError> {
    let converter = HtmlToMarkdown::builder().options(Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    });
    let skipped = converter.skip_tags(vec!["title"]).build();
    let converted = skipped.convert(html);
    converted.map_err(|_| PageError::Unparsable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> MarkdownPage {
        let url = Url::parse("https://example.com/a/b?c#d").expect("a constant");
        html_to_markdown(html, &url).unwrap()
    }

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(read(html).markdown, expected, "{html}");
    }

    const FILLER: &str = "<p>Bread rises because yeast eats sugar, and because the gas that it makes \
        stays in the dough, which is why kneading matters. Warm dough rises faster, cold dough \
        slower, and dough without salt too fast, so bakers measure all three of them, every day, \
        as their masters did, and as they teach it to those who come after them.</p>";

    #[test]
    fn the_main_part_of_a_page_is_kept_and_its_frame_is_not() {
        let page = read(&format!(
            "<!doctype html><title>Bread &amp; salt</title><body><nav><a href=/>Home</a></nav>
             <div class=cookie-banner>We use cookies</div>
             <article><h2>Rising</h2>{FILLER}<pre><code class=language-sh>bake --hot\n</code></pre>
             <p><a href='../yeast?x=1&amp;y=2'>yeast</a> <img data-src=loaf.png alt='A loaf'>
             <script>track()</script></article>
             <footer>Imprint</footer>"
        ));
        assert_eq!(page.title.as_deref(), Some("Bread & salt"));
        for kept in [
            "## Rising",
            "Bread rises",
            "```sh\nbake --hot\n```",
            "[yeast](https://example.com/yeast?x=1&y=2)",
            "![A loaf](https://example.com/a/loaf.png)",
        ] {
            assert!(page.markdown.contains(kept), "{kept}: {}", page.markdown);
        }
        for gone in ["Home", "cookies", "track", "Imprint"] {
            assert!(!page.markdown.contains(gone), "{gone}: {}", page.markdown);
        }
    }

    #[test]
    fn a_page_without_a_main_part_is_kept_whole() {
        check(
            "<title>Links</title><base href='https://other.example/x/'>
             <ul><li><a href=1>one</a><li><a href='//y.example'>two</a><li><a href='javascript:x()'>three</a></ul>
             <table><tr><th>a<th>b<tr><td>1<td>2</table>",
            "- [one](https://other.example/x/1)\n- [two](https://y.example/)\n- three\n\n\
             | a | b |\n| - | - |\n| 1 | 2 |",
        );
    }

    #[test]
    fn text_that_looks_like_markup_stays_text() {
        check(
            "<p>1 &lt; 2 &amp;amp; *not* bold</p>",
            "1 < 2 &amp; \\*not\\* bold",
        );
    }
}
