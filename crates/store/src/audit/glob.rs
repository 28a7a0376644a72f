//! Translates patterns with `*`, `?` and `[…]` to regular expressions, because PostgreSQL has no
//! `GLOB`.

/// Returns an expression that matches the same texts as the pattern does in SQLite.
pub(super) fn to_regex(glob: &str) -> String {
    let mut expression = String::from("^");
    let mut rest = glob.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '[' => match parse_class(rest.as_str()) {
                Some((class, after)) => {
                    expression.push_str(&class);
                    rest = after.chars();
                }
                None => return NOTHING.to_owned(),
            },
            other => push_literal(&mut expression, other),
        }
    }
    expression + "$"
}

/// Matches no text.
const NOTHING: &str = "(?!)";

/// Parses a class up to its `]`, and returns it with the text after it; `None` if it is not closed.
fn parse_class(text: &str) -> Option<(String, &str)> {
    let negated = text.starts_with('^');
    let body = if negated { &text[1..] } else { text };
    // A `]` in the first position is literal.
    let skipped = usize::from(body.starts_with(']'));
    let end = body[skipped..].find(']')? + skipped;
    let members = translate_members(&body[..end]);
    let class = match (members.is_empty(), negated) {
        (true, false) => NOTHING.to_owned(),
        (true, true) => ".".to_owned(),
        (false, false) => format!("[{members}]"),
        (false, true) => format!("[^{members}]"),
    };
    Some((class, &body[end + 1..]))
}

/// Translates the letters and ranges of a class. In SQLite a reversed range contains only its first
/// letter.
fn translate_members(body: &str) -> String {
    let letters: Vec<char> = body.chars().collect();
    let mut members = String::new();
    let mut at = 0;
    while at < letters.len() {
        match letters[at..] {
            [first, '-', last, ..] => {
                push_member(&mut members, first);
                if first < last {
                    members.push('-');
                    push_member(&mut members, last);
                }
                at += 3;
            }
            _ => {
                push_member(&mut members, letters[at]);
                at += 1;
            }
        }
    }
    members
}

fn push_member(members: &mut String, letter: char) {
    if matches!(letter, '\\' | '[' | ']' | '^' | '-') {
        members.push('\\');
    }
    members.push(letter);
}

fn push_literal(expression: &mut String, letter: char) {
    if !letter.is_alphanumeric() && letter.is_ascii() && letter != '_' {
        expression.push('\\');
    }
    expression.push(letter);
}
