//! The elements of HTML, sorted by what happens to them.

/// Elements that never have an end tag.
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements with nothing to read in them; they go with their content.
pub(super) fn is_left_out(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "math"
            | "iframe"
            | "object"
            | "canvas"
            | "audio"
            | "video"
            | "select"
            | "textarea"
            | "button"
            | "noembed"
            | "noframes"
            | "frameset"
            | "applet"
            | "title"
    )
}

/// Elements that only wrap others, or that the parser makes itself; their content stays.
pub(super) fn is_unwrapped(name: &str) -> bool {
    matches!(
        name,
        "html"
            | "head"
            | "body"
            | "form"
            | "input"
            | "link"
            | "param"
            | "source"
            | "track"
            | "embed"
            | "area"
            | "col"
            | "colgroup"
            | "plaintext"
            | "frame"
            | "image"
            | "base"
            | "meta"
    )
}

/// Elements that the parser opens again wherever they were left open.
pub(super) fn is_formatting(name: &str) -> bool {
    matches!(
        name,
        "a" | "b"
            | "big"
            | "code"
            | "em"
            | "font"
            | "i"
            | "nobr"
            | "s"
            | "small"
            | "strike"
            | "strong"
            | "tt"
            | "u"
    )
}

/// Elements whose text Markdown moves to the right, or puts into a line of a table.
pub(super) fn is_indenting(name: &str) -> bool {
    matches!(name, "ul" | "ol" | "blockquote" | "table" | "dl" | "menu")
}

/// Elements inside of which an end tag does not close what is outside.
pub(super) fn is_boundary(name: &str) -> bool {
    matches!(name, "table" | "td" | "th" | "caption")
}

pub(super) fn is_table_part(name: &str) -> bool {
    matches!(name, "thead" | "tbody" | "tfoot" | "tr") || is_boundary(name)
}

/// Returns the elements that end where this one begins, and those up to which they are looked for.
pub(super) fn implied_ends(
    name: &str,
) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match name {
        "li" => (&["li"], &["ul", "ol", "menu"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl"]),
        "td" | "th" => (&["td", "th"], &["tr"]),
        "tr" => (&["tr"], &["thead", "tbody", "tfoot"]),
        "thead" | "tbody" | "tfoot" => (&["thead", "tbody", "tfoot"], &[]),
        _ => return None,
    })
}

/// Blocks end a paragraph.
pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "ul"
            | "ol"
            | "dl"
            | "table"
            | "pre"
            | "blockquote"
            | "section"
            | "article"
            | "aside"
            | "header"
            | "footer"
            | "nav"
            | "main"
            | "figure"
            | "figcaption"
            | "hr"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "address"
            | "details"
            | "summary"
            | "fieldset"
            | "menu"
            | "center"
    )
}

/// Attributes that the main part is found by, or that Markdown has a place for.
pub(super) fn is_kept_attribute(name: &str) -> bool {
    matches!(
        name,
        "href"
            | "src"
            | "alt"
            | "title"
            | "class"
            | "id"
            | "start"
            | "colspan"
            | "rowspan"
            | "role"
            | "itemprop"
            | "rel"
            | "hidden"
            | "aria-hidden"
            | "lang"
            | "align"
            | "style"
            | "type"
    )
}
