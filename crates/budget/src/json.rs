//! Scans JSON text byte by byte and records where it could be cut.
//!
//! Nothing here recurses: the open levels are two numbers.

/// Texts nested deeper are not cut as JSON: the open levels are the bits of a `u128`.
pub(crate) const DEEPEST: usize = 128;

/// The arrays and objects that are open at a point of a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpenLevels {
    depth: usize,
    /// One bit per open level, the innermost lowest: 1 for an object, 0 for an array.
    objects: u128,
}

impl OpenLevels {
    /// Returns the brackets that complete the text.
    pub(crate) fn closing_brackets(self) -> String {
        (0..self.depth)
            .map(|level| self.closing_bracket(level))
            .collect()
    }

    fn closing_bracket(self, level: usize) -> char {
        match self.objects >> level & 1 {
            1 => '}',
            _ => ']',
        }
    }

    fn enter(&mut self, object: bool) {
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
    }

    fn is_in_object(self) -> bool {
        self.depth > 0 && self.objects & 1 == 1
    }
}

/// A point between two elements or members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at: usize,
    pub(crate) open: OpenLevels,
}

/// A string value that had not ended where the scan stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenString {
    /// The start of its text, after the quotation mark.
    pub(crate) start: usize,
    /// The last point that splits neither a character nor an escape.
    pub(crate) safe: usize,
    pub(crate) open: OpenLevels,
}

/// The points where a JSON text could be cut.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// The last gap of each depth.
    last: Vec<Option<Gap>>,
    pub(crate) inside: Option<OpenString>,
}

impl Gaps {
    /// Scans valid JSON from its beginning to `end`, and records the gaps after `from`. Returns
    /// `None` if the text is nested too deeply.
    pub(crate) fn find(json: &str, from: usize, end: usize) -> Option<Self> {
        let bytes = json.as_bytes();
        let mut gaps = Self {
            last: vec![None; DEEPEST + 1],
            inside: None,
        };
        let mut open = OpenLevels::default();
        let mut key = false;
        let mut at = 0;
        while at < end {
            let byte = bytes[at];
            at += 1;
            match byte {
                b'{' | b'[' if open.depth == DEEPEST => return None,
                b'{' | b'[' => {
                    open.enter(byte == b'{');
                    key = byte == b'{';
                }
                b'}' | b']' => open.leave(),
                b':' => key = false,
                b',' => {
                    key = open.is_in_object();
                    at += count_blanks(&bytes[at..]);
                    if (from + 1..=end).contains(&at) {
                        gaps.last[open.depth] = Some(Gap { at, open });
                    }
                }
                b'"' => {
                    let (safe, ended) = scan_string(bytes, at, end);
                    if !ended {
                        gaps.inside = (!key).then_some(OpenString {
                            start: at,
                            safe,
                            open,
                        });
                        break;
                    }
                    at = safe;
                }
                _ => {}
            }
        }
        Some(gaps)
    }

    /// Returns the outermost gap at or after `floor`.
    pub(crate) fn outermost_gap(&self, floor: usize) -> Option<Gap> {
        self.last
            .iter()
            .flatten()
            .copied()
            .find(|gap| gap.at >= floor)
    }

    /// Returns the gap nearest to the end.
    pub(crate) fn last_gap(&self) -> Option<Gap> {
        self.last.iter().flatten().copied().max_by_key(|gap| gap.at)
    }
}

fn count_blanks(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        .count()
}

/// Continues inside a string. Returns the position after its quotation mark and true, or the last
/// safe position before `end` and false.
fn scan_string(bytes: &[u8], mut at: usize, end: usize) -> (usize, bool) {
    loop {
        let width = match bytes.get(at) {
            None => return (at, false),
            Some(b'"') if at < end => return (at + 1, true),
            Some(b'\\') => escape_length(&bytes[at..]),
            Some(0xf0..) => 4,
            Some(0xe0..) => 3,
            Some(0xc0..) => 2,
            Some(_) => 1,
        };
        if at + width > end {
            return (at, false);
        }
        at += width;
    }
}

/// Returns the length of an escape; the two halves of a surrogate pair are one.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8'..=b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _,
            b'\\',
            b'u',
            ..,
        ] => 12,
        [b'\\', b'u', ..] => 6,
        _ => 2,
    }
}
