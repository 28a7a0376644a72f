//! Non-Latin scripts and the most likely language of a text in each.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Arabic,
    Armenian,
    Bengali,
    Cyrillic,
    Devanagari,
    Georgian,
    Greek,
    Han,
    Hangul,
    Hebrew,
    Kana,
    Tamil,
    Telugu,
    Thai,
}

impl Script {
    /// Returns the script of the first non-Latin letter.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        word.chars().find_map(Self::from_letter)
    }

    fn from_letter(c: char) -> Option<Self> {
        match c {
            '\u{0370}'..='\u{03ff}' | '\u{1f00}'..='\u{1fff}' => Some(Self::Greek),
            '\u{0400}'..='\u{052f}' => Some(Self::Cyrillic),
            '\u{0530}'..='\u{058f}' => Some(Self::Armenian),
            '\u{0590}'..='\u{05ff}' => Some(Self::Hebrew),
            '\u{0600}'..='\u{077f}' | '\u{08a0}'..='\u{08ff}' => Some(Self::Arabic),
            '\u{0900}'..='\u{097f}' => Some(Self::Devanagari),
            '\u{0980}'..='\u{09ff}' => Some(Self::Bengali),
            '\u{0b80}'..='\u{0bff}' => Some(Self::Tamil),
            '\u{0c00}'..='\u{0c7f}' => Some(Self::Telugu),
            '\u{0e00}'..='\u{0e7f}' => Some(Self::Thai),
            '\u{10a0}'..='\u{10ff}' => Some(Self::Georgian),
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Some(Self::Hangul),
            '\u{3040}'..='\u{30ff}' => Some(Self::Kana),
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Some(Self::Han),
            _ => None,
        }
    }

    /// Estimates how many words of a language with spaces this word corresponds to.
    pub(super) fn estimate_words(word: &str) -> f32 {
        let letters = word.chars().filter_map(Self::from_letter);
        match Self::from_word(word) {
            None => 0.0,
            // Written without spaces, about two characters per word.
            Some(Self::Han | Self::Kana) => letters.count() as f32 / 2.0,
            // Written without spaces, about four letters per word.
            Some(Self::Thai) => letters.count() as f32 / 4.0,
            Some(_) => 1.0,
        }
    }

    /// Returns the most likely language of a text with these letters.
    pub(super) fn likely_language(letters: &str) -> Option<&'static str> {
        let scripts: Vec<Self> = letters.chars().filter_map(Self::from_letter).collect();
        Some(match scripts.first()? {
            Self::Han | Self::Kana if scripts.contains(&Self::Kana) => "Japanese",
            Self::Han | Self::Kana => "Chinese",
            Self::Arabic if letters.contains(['پ', 'چ', 'گ', 'ژ', 'ی', 'ک']) => "Persian",
            Self::Cyrillic if letters.contains(['і', 'ї', 'є', 'ґ']) => "Ukrainian",
            Self::Cyrillic => "Russian",
            Self::Arabic => "Arabic",
            Self::Armenian => "Armenian",
            Self::Bengali => "Bengali",
            Self::Devanagari => "Hindi",
            Self::Georgian => "Georgian",
            Self::Greek => "Greek",
            Self::Hangul => "Korean",
            Self::Hebrew => "Hebrew",
            Self::Tamil => "Tamil",
            Self::Telugu => "Telugu",
            Self::Thai => "Thai",
        })
    }
}
