//! Splits text where the o200k vocabulary splits it before it looks for tokens: into words with
//! the blank or mark before them, up to three digits, runs of marks, and blanks.
//!
//! No token reaches over such a border, so what a text costs is the sum of what its pieces cost.

/// A stretch of text, by what its price depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Letters of the Latin script; `accented` of them are not ASCII.
    Word {
        lead: Lead,
        shape: Shape,
        letters: usize,
        accented: usize,
    },
    /// Letters of another script.
    Script {
        script: Script,
        letters: usize,
    },
    /// One to three digits.
    Digits,
    /// Punctuation and symbols: how many in ASCII, how many of those differ from the one before,
    /// and how many beyond ASCII, pictures such as emoji apart from others.
    Marks {
        ascii: usize,
        changes: usize,
        wide: usize,
        pictures: usize,
    },
    Blank {
        bytes: usize,
    },
}

/// What a word takes along from before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    Nothing,
    Space,
    Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Lower,
    /// One capital, then small letters.
    Title,
    /// Two capitals or more, with or without small letters after them.
    Upper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Greek,
    /// Cyrillic, and Armenian.
    Cyrillic,
    /// Hebrew and Arabic.
    Semitic,
    /// India's scripts, Thai and their neighbours.
    Indic,
    Kana,
    Han,
    Hangul,
    Other,
}

/// The pieces of a text, each with where it ends.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Pieces<'_> {
    type Item = (Piece, usize);

    fn next(&mut self) -> Option<(Piece, usize)> {
        let first = self.class(self.at)?;
        let piece = match first.kind {
            Kind::Digit => self.digits(),
            kind if kind.is_letter() => self.word(Lead::Nothing),
            Kind::Space | Kind::Mark if self.kind(self.at + first.bytes).is_letter() => {
                self.at += first.bytes;
                self.word(if first.kind == Kind::Space {
                    Lead::Space
                } else {
                    Lead::Mark
                })
            }
            Kind::Mark => self.marks(),
            _ => self.blank(),
        };
        Some((piece, self.at))
    }
}

impl Pieces<'_> {
    fn digits(&mut self) -> Piece {
        for _ in 0..3 {
            let Some(class) = self
                .class(self.at)
                .filter(|class| class.kind == Kind::Digit)
            else {
                break;
            };
            self.at += class.bytes;
        }
        Piece::Digits
    }

    /// Capitals, then small letters, then `'s` and its like. Letters without case are both.
    fn word(&mut self, lead: Lead) -> Piece {
        let script = self.class(self.at).and_then(|class| class.script);
        let (mut capitals, mut letters, mut accented) = (0, 0, 0);
        let mut small = false;
        while letters < LONGEST
            && let Some(class) = self.class(self.at)
        {
            match class.kind {
                // The vocabulary would go on, but has few tokens of two scripts.
                _ if class.script != script && class.kind.is_letter() => break,
                Kind::Upper if small => break,
                Kind::Upper => capitals += 1,
                Kind::Lower => small = true,
                Kind::Letter => {}
                _ => break,
            }
            letters += 1;
            accented += usize::from(class.bytes > 1);
            self.at += class.bytes;
        }
        if let Some(script) = script {
            return Piece::Script { script, letters };
        }
        letters += self.contraction();
        let shape = match capitals {
            0 => Shape::Lower,
            1 if small => Shape::Title,
            _ => Shape::Upper,
        };
        Piece::Word {
            lead,
            shape,
            letters,
            accented,
        }
    }

    /// Takes `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` along; how many characters that is.
    fn contraction(&mut self) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = match *rest {
            [
                b'\'',
                b's' | b't' | b'm' | b'd' | b'S' | b'T' | b'M' | b'D',
                ..,
            ] => 2,
            [b'\'', a, b, ..] => match [a | 0x20, b | 0x20] {
                [b'r' | b'v', b'e'] | [b'l', b'l'] => 3,
                _ => 0,
            },
            _ => 0,
        };
        self.at += length;
        length
    }

    /// Marks and the line ends and slashes after them.
    fn marks(&mut self) -> Piece {
        let (mut ascii, mut changes, mut wide, mut pictures) = (0, 0, 0, 0);
        let mut before = 0;
        while ascii + wide + pictures < LONGEST
            && let Some(class) = self.class(self.at).filter(|class| class.kind == Kind::Mark)
        {
            let byte = self.text.as_bytes()[self.at];
            match class.bytes {
                1 => {
                    ascii += 1;
                    changes += usize::from(byte != before);
                }
                4 => pictures += 1,
                _ => wide += 1,
            }
            before = byte;
            self.at += class.bytes;
        }
        while self
            .text
            .as_bytes()
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b'\r' | b'\n' | b'/'))
        {
            self.at += 1;
        }
        Piece::Marks {
            ascii,
            changes,
            wide,
            pictures,
        }
    }

    /// Blanks to the last line end among them. Without a line end: all but the last, which belongs
    /// to what follows, if something does.
    fn blank(&mut self) -> Piece {
        let start = self.at;
        let (mut end, mut last, mut after_line) = (start, start, None);
        while end - start < LONGEST
            && let Some(class) = self.class(end).filter(|class| class.kind.is_blank())
        {
            last = end;
            end += class.bytes;
            if class.kind == Kind::Line {
                after_line = Some(end);
            }
        }
        self.at = match after_line {
            Some(after) => after,
            None if end == self.text.len() => end,
            None if last == start => {
                // A single space before marks is part of them.
                let next = self.kind(end);
                self.at = end;
                if next == Kind::Mark && self.text.as_bytes()[start] == b' ' {
                    return self.marks();
                }
                end
            }
            None => last,
        };
        Piece::Blank {
            bytes: self.at - start,
        }
    }

    fn kind(&self, at: usize) -> Kind {
        self.class(at).map_or(Kind::Line, |class| class.kind)
    }

    fn class(&self, at: usize) -> Option<Class> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte < 0x80 {
            return Some(Class {
                kind: ASCII[usize::from(byte)],
                bytes: 1,
                script: None,
            });
        }
        self.text[at..].chars().next().map(Class::of)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    /// Without case.
    Letter,
    Digit,
    Mark,
    Space,
    Line,
}

impl Kind {
    fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::Line)
    }
}

#[derive(Debug, Clone, Copy)]
struct Class {
    kind: Kind,
    bytes: usize,
    script: Option<Script>,
}

impl Class {
    fn of(letter: char) -> Self {
        let script = script(letter);
        let kind = match letter {
            _ if letter.is_uppercase() => Kind::Upper,
            _ if letter.is_lowercase() => Kind::Lower,
            // Signs that join the letters of India's scripts are no letters to the standard library.
            _ if letter.is_alphabetic() || script == Some(Script::Indic) => Kind::Letter,
            _ if letter.is_numeric() => Kind::Digit,
            _ if letter.is_whitespace() => Kind::Space,
            '\u{300}'..='\u{36f}' => Kind::Letter,
            _ => Kind::Mark,
        };
        Self {
            kind,
            bytes: letter.len_utf8(),
            script,
        }
    }
}

fn script(letter: char) -> Option<Script> {
    match letter {
        '\0'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' => None,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Script::Greek),
        '\u{400}'..='\u{58f}' => Some(Script::Cyrillic),
        '\u{590}'..='\u{8ff}' => Some(Script::Semitic),
        '\u{900}'..='\u{109f}' => Some(Script::Indic),
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7ff}' => Some(Script::Hangul),
        '\u{3040}'..='\u{30ff}' => Some(Script::Kana),
        '\u{3400}'..='\u{9fff}' => Some(Script::Han),
        _ => Some(Script::Other),
    }
}

/// The vocabulary sets no limit, but to find out what a little room holds, little should be read.
const LONGEST: usize = 1_024;

static ASCII: [Kind; 128] = ascii();

const fn ascii() -> [Kind; 128] {
    let mut kinds = [Kind::Mark; 128];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'A'..=b'Z' => Kind::Upper,
            b'a'..=b'z' => Kind::Lower,
            b'0'..=b'9' => Kind::Digit,
            b'\r' | b'\n' => Kind::Line,
            b' ' | b'\t' | 0x0b | 0x0c => Kind::Space,
            _ => Kind::Mark,
        };
        byte += 1;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_as_the_vocabulary_splits_it() {
        for (text, expected) in [
            ("createHTTPServer v2", "create|HTTPServer| v|2"),
            ("don't, we'll", "don't|,| we'll"),
            ("1234567", "123|456|7"),
            (r#"{"user_id":"a"}"#, r#"{"|user|_id|":"|a|"}"#),
            ("a  b\n\n  c  ", "a| | b|\n\n| | c|  "),
            ("x {y} // z\n", "x| {|y|}| //| z|\n"),
            ("  5", " | |5"),
            ("Привет, мир", "Привет|,| мир"),
            ("网关 · 😀", "网关| ·| 😀"),
        ] {
            let mut at = 0;
            let pieces: Vec<&str> = Pieces::of(text)
                .map(|(_, end)| &text[std::mem::replace(&mut at, end)..end])
                .collect();
            assert_eq!(pieces.join("|"), expected);
        }
    }
}
