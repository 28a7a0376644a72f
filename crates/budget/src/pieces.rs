//! Splits text where the o200k vocabulary splits it before tokenization: into words with the
//! preceding space or mark, up to three digits, runs of marks, and white space.
//!
//! No token crosses such a boundary, so the cost of a text is the sum of its pieces' costs.

/// A piece of text, with the facts that its cost depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPiece {
    /// Letters of the Latin script; `accented` of them are not ASCII.
    Word {
        lead: Lead,
        case: WordCase,
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
    /// and how many beyond ASCII, with pictographs such as emoji counted separately.
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

/// The character before a word that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    Nothing,
    Space,
    Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordCase {
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

/// The pieces of a text, each with its end.
#[derive(Debug, Clone)]
pub struct TextPieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TextPieces<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for TextPieces<'_> {
    type Item = (TextPiece, usize);

    fn next(&mut self) -> Option<(TextPiece, usize)> {
        let first = self.class_at(self.at)?;
        let piece = match first.kind {
            CharKind::Digit => self.read_digits(),
            kind if kind.is_letter() => self.read_word(Lead::Nothing),
            CharKind::Space | CharKind::Mark if self.kind_at(self.at + first.bytes).is_letter() => {
                self.at += first.bytes;
                self.read_word(if first.kind == CharKind::Space {
                    Lead::Space
                } else {
                    Lead::Mark
                })
            }
            CharKind::Mark => self.read_marks(),
            _ => self.read_blanks(),
        };
        Some((piece, self.at))
    }
}

impl TextPieces<'_> {
    fn read_digits(&mut self) -> TextPiece {
        for _ in 0..MAX_DIGITS {
            match self.class_at(self.at) {
                Some(class) if class.kind == CharKind::Digit => self.at += class.bytes,
                _ => break,
            }
        }
        TextPiece::Digits
    }

    /// Reads capitals, then small letters, then `'s` and the like. Letters without case are both.
    fn read_word(&mut self, lead: Lead) -> TextPiece {
        let script = self.class_at(self.at).and_then(|class| class.script);
        let mut word = LetterCounts::default();
        while word.letters < LONGEST
            && let Some(class) = self.class_at(self.at)
            // The vocabulary would continue, but has few tokens of two scripts.
            && class.script == script
            && word.add_letter(class)
        {
            self.at += class.bytes;
        }
        match script {
            Some(script) => TextPiece::Script {
                script,
                letters: word.letters,
            },
            None => TextPiece::Word {
                lead,
                case: word.word_case(),
                letters: word.letters + self.skip_contraction(),
                accented: word.accented,
            },
        }
    }

    /// Skips `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d`, and returns the number of characters.
    fn skip_contraction(&mut self) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = match *rest {
            [
                b'\'',
                b's' | b't' | b'm' | b'd' | b'S' | b'T' | b'M' | b'D',
                ..,
            ] => 2,
            // Setting bit 0x20 makes an ASCII letter lower case.
            [b'\'', a, b, ..] => match [a | 0x20, b | 0x20] {
                [b'r' | b'v', b'e'] | [b'l', b'l'] => 3,
                _ => 0,
            },
            _ => 0,
        };
        self.at += length;
        length
    }

    /// Reads marks, and the line ends and slashes after them.
    fn read_marks(&mut self) -> TextPiece {
        let (mut ascii, mut changes, mut wide, mut pictures) = (0, 0, 0, 0);
        let mut before = 0;
        while ascii + wide + pictures < LONGEST
            && let Some(class) = self
                .class_at(self.at)
                .filter(|class| class.kind == CharKind::Mark)
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
        let rest = &self.text.as_bytes()[self.at..];
        let ends = rest.iter().take_while(|byte| b"\r\n/".contains(byte));
        self.at += ends.count();
        TextPiece::Marks {
            ascii,
            changes,
            wide,
            pictures,
        }
    }

    /// Reads white space to its last line end. Without a line end: all but the last character,
    /// which belongs to the piece that follows, if there is one.
    fn read_blanks(&mut self) -> TextPiece {
        let start = self.at;
        let run = self.find_blank_run();
        let is_single = run.last == start;
        // A single space before marks is part of them.
        if run.after_line.is_none()
            && is_single
            && self.text.as_bytes()[start] == b' '
            && self
                .class_at(run.end)
                .is_some_and(|class| class.kind == CharKind::Mark)
        {
            self.at = run.end;
            return self.read_marks();
        }
        self.at = match run.after_line {
            Some(after) => after,
            None if is_single || run.end == self.text.len() => run.end,
            None => run.last,
        };
        TextPiece::Blank {
            bytes: self.at - start,
        }
    }

    fn find_blank_run(&self) -> BlankRun {
        let mut run = BlankRun {
            last: self.at,
            end: self.at,
            after_line: None,
        };
        while run.end - self.at < LONGEST
            && let Some(class) = self.class_at(run.end).filter(|class| class.kind.is_blank())
        {
            run.last = run.end;
            run.end += class.bytes;
            if class.kind == CharKind::Line {
                run.after_line = Some(run.end);
            }
        }
        run
    }

    fn kind_at(&self, at: usize) -> CharKind {
        self.class_at(at).map_or(CharKind::Line, |class| class.kind)
    }

    fn class_at(&self, at: usize) -> Option<CharClass> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte < 0x80 {
            return Some(CharClass {
                kind: ASCII[usize::from(byte)],
                bytes: 1,
                script: None,
            });
        }
        self.text[at..].chars().next().map(CharClass::from_char)
    }
}

/// The letters of a word that is being read.
#[derive(Default)]
struct LetterCounts {
    letters: usize,
    capitals: usize,
    accented: usize,
    has_small: bool,
}

impl LetterCounts {
    /// Adds a letter. Returns false if the character does not belong to the word.
    fn add_letter(&mut self, class: CharClass) -> bool {
        match class.kind {
            CharKind::Upper if !self.has_small => self.capitals += 1,
            CharKind::Lower => self.has_small = true,
            CharKind::Letter => {}
            _ => return false,
        }
        self.letters += 1;
        self.accented += usize::from(class.bytes > 1);
        true
    }

    fn word_case(&self) -> WordCase {
        match self.capitals {
            0 => WordCase::Lower,
            1 if self.has_small => WordCase::Title,
            _ => WordCase::Upper,
        }
    }
}

/// Blanks that follow each other.
struct BlankRun {
    /// The start of the last blank.
    last: usize,
    end: usize,
    /// The end of the last line break.
    after_line: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Upper,
    Lower,
    /// Without case.
    Letter,
    Digit,
    Mark,
    Space,
    Line,
}

impl CharKind {
    fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::Line)
    }
}

#[derive(Debug, Clone, Copy)]
struct CharClass {
    kind: CharKind,
    bytes: usize,
    script: Option<Script>,
}

impl CharClass {
    fn from_char(letter: char) -> Self {
        let script = char_script(letter);
        let kind = match letter {
            _ if letter.is_uppercase() => CharKind::Upper,
            _ if letter.is_lowercase() => CharKind::Lower,
            // Signs that join the letters of Indic scripts are not letters to the standard library.
            _ if letter.is_alphabetic() || script == Some(Script::Indic) => CharKind::Letter,
            _ if letter.is_numeric() => CharKind::Digit,
            _ if letter.is_whitespace() => CharKind::Space,
            '\u{300}'..='\u{36f}' => CharKind::Letter,
            _ => CharKind::Mark,
        };
        Self {
            kind,
            bytes: letter.len_utf8(),
            script,
        }
    }
}

fn char_script(letter: char) -> Option<Script> {
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

/// The vocabulary splits numbers into groups of three.
const MAX_DIGITS: usize = 3;

/// The vocabulary has no limit for a piece. With one, little is read to find out how much of a long
/// text fits into a small budget.
const LONGEST: usize = 1_024;

static ASCII: [CharKind; 128] = classify_ascii();

const fn classify_ascii() -> [CharKind; 128] {
    let mut kinds = [CharKind::Mark; 128];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'A'..=b'Z' => CharKind::Upper,
            b'a'..=b'z' => CharKind::Lower,
            b'0'..=b'9' => CharKind::Digit,
            b'\r' | b'\n' => CharKind::Line,
            b' ' | b'\t' | 0x0b | 0x0c => CharKind::Space,
            _ => CharKind::Mark,
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
            let pieces: Vec<&str> = TextPieces::new(text)
                .map(|(_, end)| &text[std::mem::replace(&mut at, end)..end])
                .collect();
            assert_eq!(pieces.join("|"), expected);
        }
    }
}
