//! The elements of HTML, sorted by their treatment.

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

/// Elements without readable text, dropped with their content.
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

/// Elements that only wrap others, or that the parser creates itself; their content stays.
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

/// Elements that the parser reopens wherever they were left open.
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

/// Elements whose text Markdown indents, or puts into a table row.
pub(super) fn is_indenting(name: &str) -> bool {
    matches!(name, "ul" | "ol" | "blockquote" | "table" | "dl" | "menu")
}

/// Elements in which an end tag does not close any element outside.
pub(super) fn is_boundary(name: &str) -> bool {
    matches!(name, "table" | "td" | "th" | "caption")
}

pub(super) fn is_table_part(name: &str) -> bool {
    matches!(name, "thead" | "tbody" | "tfoot" | "tr") || is_boundary(name)
}

/// Returns the elements that end where this one begins, and those at which the search for them
/// stops.
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

/// Attributes that help to find the main part, or that Markdown can represent.
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
