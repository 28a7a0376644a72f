//! A request as parts that can be values: paths, numbers, quoted texts, names.

use crate::words::{FoldedRequest, RequestWord, is_preposition, is_word};

/// A request with the kind of each of its words.
#[derive(Debug)]
pub(super) struct RequestParts<'a> {
    pub(super) text: &'a str,
    pub(super) folded: FoldedRequest,
    pub(super) kinds: Vec<PartKind>,
}

/// The kind of value that a word looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Quoted,
    Url,
    Email,
    Glob,
    /// A path, or the name of a file with its extension.
    Path,
    /// Words with slashes that do not begin like a path: `Europe/Berlin`, `src/main`.
    Slashed,
    Date,
    Time,
    Number,
    /// Letters with digits or marks: `WEB-12`, `main_branch`.
    Id,
    /// A capitalized word that does not begin a sentence.
    Name,
    Preposition,
    Plain,
}

impl<'a> RequestParts<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let folded = FoldedRequest::read(text);
        let kinds = folded.words.iter().enumerate();
        let kinds = kinds.map(|(at, word)| kind(at, word)).collect();
        Self {
            text,
            folded,
            kinds,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.folded.words.len()
    }

    pub(super) fn raw(&self, at: usize) -> &str {
        &self.folded.words[at].raw
    }

    /// The word in its form for comparison; empty for a quoted text.
    pub(super) fn folded_word(&self, at: usize) -> &str {
        self.folded.words[at].folded.as_deref().unwrap_or("")
    }

    pub(super) fn kind(&self, at: usize) -> PartKind {
        self.kinds[at]
    }

    /// The words in a range, as written.
    pub(super) fn slice(&self, from: usize, to: usize) -> String {
        self.folded.text(&self.folded.words[from..to])
    }
}

impl PartKind {
    /// True for a part that is hardly ever in a request by chance, so that a call which ignores it
    /// does something else.
    pub(super) fn is_particular(self) -> bool {
        !matches!(self, Self::Plain | Self::Preposition | Self::Name)
    }
}

fn kind(at: usize, word: &RequestWord) -> PartKind {
    let raw = word.raw.as_str();
    let Some(folded) = &word.folded else {
        let spaced = raw.contains(char::is_whitespace);
        return match () {
            () if !spaced && raw.contains("://") => PartKind::Url,
            () if !spaced && begins_path(raw) => PartKind::Path,
            () => PartKind::Quoted,
        };
    };
    if is_preposition(folded) || matches!(folded.as_str(), "and" | "or" | "then") {
        return PartKind::Preposition;
    }
    if is_word(raw) {
        let capital = raw.chars().next().is_some_and(char::is_uppercase);
        return match capital && at > 0 {
            true => PartKind::Name,
            false => PartKind::Plain,
        };
    }
    kind_with_marks(raw)
}

/// The kind of a word that has characters other than letters.
fn kind_with_marks(raw: &str) -> PartKind {
    if raw.contains("://") {
        return PartKind::Url;
    }
    if raw.contains('*') && raw.chars().any(char::is_alphanumeric) || raw.contains("**") {
        return PartKind::Glob;
    }
    if begins_path(raw) || is_file_name(raw) {
        return PartKind::Path;
    }
    if raw.parse::<f64>().is_ok() {
        return PartKind::Number;
    }
    if is_digits(raw, &[4, 2, 2], '-') {
        return PartKind::Date;
    }
    if clock(raw).is_some() {
        return PartKind::Time;
    }
    let email = raw.split_once('@');
    if email.is_some_and(|(name, host)| !name.is_empty() && host.contains('.')) {
        return PartKind::Email;
    }
    if raw.contains('/') {
        return PartKind::Slashed;
    }
    let hyphened = raw.split(['-', '\'', '’']).all(is_word);
    match hyphened {
        true => PartKind::Plain,
        false => PartKind::Id,
    }
}

fn begins_path(raw: &str) -> bool {
    let drive = raw
        .as_bytes()
        .get(1..3)
        .is_some_and(|it| it == b":\\" || it == b":/");
    let starts = ["/", "~/", "./", "../"];
    drive || raw == "~" || starts.iter().any(|start| raw.starts_with(start))
}

/// `notes.txt`, but not `3.5` and not `v1.2`.
pub(super) fn is_file_name(raw: &str) -> bool {
    let Some((name, ending)) = raw.rsplit_once('.') else {
        return false;
    };
    let letters = ending.chars().all(|it| it.is_ascii_alphanumeric());
    let begins = ending
        .chars()
        .next()
        .is_some_and(|it| it.is_ascii_alphabetic());
    !name.is_empty() && letters && begins && ending.len() <= 5 && !raw.contains('@')
}

fn is_digits(raw: &str, lengths: &[usize], mark: char) -> bool {
    let parts: Vec<&str> = raw.split(mark).collect();
    let mut pairs = parts.iter().zip(lengths);
    parts.len() == lengths.len()
        && pairs.all(|(part, length)| {
            part.len() == *length && part.bytes().all(|it| it.is_ascii_digit())
        })
}

/// Reads `9:30`, `3pm` and `3:30pm` as a 24-hour time.
pub(super) fn clock(raw: &str) -> Option<String> {
    let lower = raw.to_lowercase();
    let (digits, half) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (lower.as_str(), None),
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute.parse::<u8>().ok()?),
        None if half.is_some() => (digits, 0),
        _ => return None,
    };
    let hour: u8 = hour.parse().ok()?;
    let hour = match half {
        Some(_) if hour == 0 || hour > 12 => return None,
        Some(half) => hour % 12 + half,
        None => hour,
    };
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}
