//! Rewrites tags, each closed where it belongs, within limits.

use html5ever::LocalName;
use html5ever::tokenizer::Tag;
use url::Url;

use super::BoundedHtml;
use super::names::{
    implied_ends, is_block, is_boundary, is_formatting, is_indenting, is_kept_attribute,
    is_left_out, is_table_part, is_unwrapped, is_void,
};

/// Framework-generated pages reach 60. The parsers use about 5 kB of stack for each level.
const MAX_DEPTH: usize = 100;
/// The parser may copy these for every paragraph.
const MAX_FORMATTING: usize = 6;
/// The text of these is copied once for each of them around it.
const MAX_INDENTING: usize = 12;
/// The largest one-page manuals have 300,000; memory and time grow with them.
const MAX_ELEMENTS: usize = 100_000;
/// Longer values are data, not addresses or classes.
const MAX_ATTRIBUTE: usize = 4096;
const MAX_TITLE: usize = 1000;

pub(super) struct TagWriter {
    html: String,
    title: String,
    /// True after the title: another one is not the page's.
    has_title: bool,
    /// The base of relative links.
    base: Url,
    open: Vec<LocalName>,
    elements: usize,
    /// The dropped element, and how many of its name are open.
    left_out: Option<(LocalName, usize)>,
}

impl TagWriter {
    pub(super) fn new(base: Url) -> Self {
        Self {
            html: String::new(),
            title: String::new(),
            has_title: false,
            base,
            open: Vec::new(),
            elements: 0,
            left_out: None,
        }
    }

    pub(super) fn finish(mut self) -> BoundedHtml {
        self.close_down_to(0);
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        BoundedHtml {
            html: self.html,
            title: Some(title).filter(|title| !title.is_empty()),
        }
    }

    pub(super) fn add_text(&mut self, text: &str) {
        match &self.left_out {
            None => escape_html(text, &mut self.html),
            Some((name, _)) if &**name == "title" => self.add_title(text),
            Some(_) => {}
        }
    }

    fn add_title(&mut self, text: &str) {
        if !self.has_title && self.title.len() < MAX_TITLE {
            self.title.extend(text.chars().take(MAX_TITLE));
        }
    }

    pub(super) fn start_tag(&mut self, tag: &Tag) {
        if let Some((name, count)) = &mut self.left_out {
            *count += usize::from(*name == tag.name && !tag.self_closing);
            return;
        }
        match &*tag.name {
            "base" => self.set_base(tag),
            name if is_left_out(name) => self.skip_element(tag),
            name if is_unwrapped(name) => {}
            _ => self.add_element(tag),
        }
    }

    pub(super) fn end_tag(&mut self, name: &LocalName) {
        match &mut self.left_out {
            Some((left_out, count)) if left_out == name => {
                *count -= 1;
                if *count == 0 {
                    self.has_title |= &**name == "title";
                    self.left_out = None;
                }
            }
            Some(_) => {}
            None => self.close_element(name),
        }
    }

    fn set_base(&mut self, tag: &Tag) {
        let href = tag
            .attrs
            .iter()
            .find(|attribute| &*attribute.name.local == "href");
        if let Some(base) = href.and_then(|href| self.base.join(&href.value).ok()) {
            self.base = base;
        }
    }

    /// `<svg/>` has no content; HTML's own elements ignore the slash.
    fn skip_element(&mut self, tag: &Tag) {
        let is_foreign = matches!(&*tag.name, "svg" | "math");
        if !(is_foreign && tag.self_closing) {
            self.left_out = Some((tag.name.clone(), 1));
        }
    }

    fn add_element(&mut self, tag: &Tag) {
        self.end_implied(&tag.name);
        if self.elements >= MAX_ELEMENTS || !self.has_room_for(&tag.name) {
            return;
        }
        self.elements += 1;
        self.write_start(tag);
        if !is_void(&tag.name) {
            self.open.push(tag.name.clone());
        }
    }

    fn has_room_for(&self, name: &str) -> bool {
        is_void(name)
            || (self.open.len() < MAX_DEPTH
                && self.is_below_limit(MAX_FORMATTING, name, is_formatting)
                && self.is_below_limit(MAX_INDENTING, name, is_indenting))
    }

    /// False if opening this element would exceed the limit for its kind.
    fn is_below_limit(&self, most: usize, name: &str, is_kind: fn(&str) -> bool) -> bool {
        !is_kind(name) || self.open.iter().filter(|open| is_kind(open)).count() < most
    }

    fn end_implied(&mut self, name: &str) {
        if let Some((ended, up_to)) = implied_ends(name) {
            let index = self.find_open(
                |open| ended.contains(&open),
                |open| up_to.contains(&open) || open == "table",
            );
            self.close_found(index);
        } else if is_block(name) {
            let index = self.find_open(|open| open == "p", |open| !is_formatting(open));
            self.close_found(index);
        }
    }

    fn close_element(&mut self, name: &LocalName) {
        let stops = !is_table_part(name);
        let index = self.find_open(|open| open == &**name, |open| stops && is_boundary(open));
        self.close_found(index);
    }

    /// Returns the innermost open element that matches, unless one that stops the search is inside.
    fn find_open(
        &self,
        wanted: impl Fn(&str) -> bool,
        stops: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        for (index, open) in self.open.iter().enumerate().rev() {
            if wanted(open) {
                return Some(index);
            }
            if stops(open) {
                return None;
            }
        }
        None
    }

    fn close_found(&mut self, index: Option<usize>) {
        if let Some(index) = index {
            self.close_down_to(index);
        }
    }

    fn close_down_to(&mut self, depth: usize) {
        for name in self.open.drain(depth..).rev() {
            self.html.extend(["</", &*name, ">"]);
        }
    }

    fn write_start(&mut self, tag: &Tag) {
        self.html.extend(["<", &*tag.name]);
        for attribute in &tag.attrs {
            let name = self.attribute_name(tag, &attribute.name.local);
            if let Some(value) = self.attribute_value(name, &attribute.value) {
                self.html.extend([" ", name, "=\""]);
                escape_html(&value, &mut self.html);
                self.html.push('"');
            }
        }
        self.html.push('>');
    }

    /// Lazily loaded images have their address in another attribute.
    fn attribute_name<'a>(&self, tag: &Tag, name: &'a str) -> &'a str {
        let is_late = name == "data-src" && &*tag.name == "img";
        let has_src = tag.attrs.iter().any(|other| &*other.name.local == "src");
        if is_late && !has_src { "src" } else { name }
    }

    fn attribute_value(&self, name: &str, value: &str) -> Option<String> {
        if !is_kept_attribute(name) || value.len() > MAX_ATTRIBUTE {
            return None;
        }
        match name {
            "href" | "src" => self.absolute_url(value),
            _ => Some(value.to_owned()),
        }
    }

    /// Drops anything other than an address, such as a script or an image as data.
    fn absolute_url(&self, value: &str) -> Option<String> {
        let url = self.base.join(value.trim()).ok()?;
        let is_address = matches!(url.scheme(), "https" | "http" | "mailto" | "tel");
        is_address.then(|| url.to_string())
    }
}

fn escape_html(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            other => into.push(other),
        }
    }
}
