//! Prepares words for comparison: lower case, without fillers, and stemmed.

/// Returns a text's words in lower case, separated by single spaces, without punctuation.
pub(crate) fn key(text: &str) -> String {
    let lower = text.to_lowercase().replace("'s ", " ").replace("’s ", " ");
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the stems of the words without fillers, or of all words if there are only fillers. Two
/// words that are known as one (`log in`, `work trees`) are joined.
pub(crate) fn significant_words(
    text: &str,
    ignored_words: &[&str],
    known: impl Fn(&str) -> bool,
) -> Vec<String> {
    let key = key(text);
    let mut rest = key.split(' ').peekable();
    let (mut telling, mut all) = (Vec::new(), Vec::new());
    while let Some(word) = rest.next() {
        let next = rest.peek().copied().unwrap_or_default();
        let joined = stem(&format!("{word}{next}"));
        if !next.is_empty() && known(&joined) {
            rest.next();
            telling.push(joined.clone());
            all.push(joined);
            continue;
        }
        if !ignored_words.contains(&word) && !FILLERS.split(' ').any(|filler| filler == word) {
            telling.push(stem(word));
        }
        all.push(stem(word));
    }
    if telling.is_empty() { all } else { telling }
}

/// True if a stem belongs to a filler.
pub(crate) fn is_filler(stemmed: &str) -> bool {
    FILLERS.split(' ').any(|filler| stem(filler) == stemmed)
}

/// True if two keys differ only in typing errors: word for word, or in the blanks between words.
pub(crate) fn is_misspelling(one: &str, other: &str) -> bool {
    if one.split(' ').count() == other.split(' ').count() {
        let mut pairs = one.split(' ').zip(other.split(' '));
        pairs.all(|(one, other)| is_same_word(one, other))
    } else {
        is_same_word(&one.replace(' ', ""), &other.replace(' ', ""))
    }
}

fn is_same_word(one: &str, other: &str) -> bool {
    one == other || is_typo(one, other)
}

/// Scores how likely two stems are the same word: 1 for equal, less for one family or a typing
/// error.
pub(crate) fn likeness(one: &str, other: &str) -> f32 {
    if one == other {
        1.0
    } else if is_akin(one, other) || is_typo(one, other) {
        AKIN
    } else {
        0.0
    }
}

/// Less than the score of the same word, and enough to decide by itself.
const AKIN: f32 = 0.8;

/// Words that people put around the name of a thing.
const FILLERS: &str = "a about all an and any are as at available be by can capabilities capability could \
    did do does done each every feature features for from functionality get give had has have how i if in \
    into is it its let like me my of on one or other own please should so some something support supported \
    supports that the their them there these they thing things this to use used uses using via want was we \
    what when where whether which who will with would you your";

/// True for `approve` and `approval`, `select` and `selection`: three fifths of the longer word, and
/// at least five letters, are the same.
fn is_akin(one: &str, other: &str) -> bool {
    let pairs = one.chars().zip(other.chars());
    let common = pairs.take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    common >= 5 && common * 5 >= longer * 3
}

/// True if one letter is wrong, two in a long word, or two are swapped in a short one. People
/// seldom mistype the first letter, nor the last of a short word.
fn is_typo(one: &str, other: &str) -> bool {
    let (letters, others): (Vec<char>, Vec<char>) =
        (one.chars().collect(), other.chars().collect());
    if letters.first() != others.first() || letters.len().abs_diff(others.len()) > 2 {
        return false;
    }
    let wrong = strsim::damerau_levenshtein(one, other);
    match letters.len().min(others.len()) {
        0..=2 => false,
        3..=4 => {
            let dropped = letters.last() == others.last() && letters.len() != others.len();
            wrong == 1 && (dropped || sort_letters(letters) == sort_letters(others))
        }
        5..=8 => wrong <= 1,
        _ => wrong <= 2,
    }
}

fn sort_letters(mut letters: Vec<char>) -> Vec<char> {
    letters.sort_unstable();
    letters
}

/// Shorter words are not stemmed: `ring` does not come from `r`.
const SHORTEST_ROOT: usize = 3;

/// Removes the endings of number and tense. The result need not be a word, only the same for its
/// family.
pub(crate) fn stem(word: &str) -> String {
    let word = americanize(singular(word));
    let root = word.strip_suffix("ing").or(word.strip_suffix("ed"));
    let root = root.filter(|root| root.len() >= SHORTEST_ROOT);
    let root = root.map_or(word.as_str(), drop_doubled_letter);
    let without_e = root.strip_suffix('e');
    let without_e = without_e.filter(|root| root.len() >= SHORTEST_ROOT);
    without_e.unwrap_or(root).to_owned()
}

fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(root), _) if root.len() >= SHORTEST_ROOT => format!("{root}y"),
        (_, Some(root)) if root.len() >= SHORTEST_ROOT && !root.ends_with('s') => root.to_owned(),
        _ => word.to_owned(),
    }
}

/// Turns `customise` into `customize`.
fn americanize(word: String) -> String {
    let endings = [
        ("isation", "ization"),
        ("ising", "izing"),
        ("ised", "ized"),
        ("ise", "ize"),
    ];
    for (ending, replacement) in endings {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= SHORTEST_ROOT
        {
            return format!("{root}{replacement}");
        }
    }
    word
}

/// Turns `plann` of `planning` into `plan`, but leaves `tell` of `telling`.
fn drop_doubled_letter(root: &str) -> &str {
    let mut last = root.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !"aeioulsz".contains(a) => {
            &root[..root.len() - a.len_utf8()]
        }
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_reduced_to_the_stems_of_its_significant_words() {
        let check = |text: &str, stems: &str| {
            assert_eq!(
                significant_words(text, &[], |it| it == "login").join(" "),
                stems,
                "{text}"
            );
        };
        check("Does it support Hooks?", "hook");
        check("VS Code's  memories", "vs cod memory");
        check("planning, planned, plans", "plan plan plan");
        check("customising / customized", "customiz customiz");
        check("installing", "install");
        check("how to log in", "login");
        check("what is it", "what is it");
    }

    #[test]
    fn a_typing_error_changes_a_word_and_not_a_name() {
        assert!(is_misspelling("lifecyle hooks", "lifecycle hooks"));
        assert!(is_misspelling("check points", "checkpoints"));
        assert!(is_misspelling("websearch", "web search"));
        assert!(!is_misspelling("jira integration", "ide integration"));
        assert!(!is_misspelling("docs generation", "code generation"));
    }

    #[test]
    fn words_of_one_family_and_typing_errors_are_nearly_the_same() {
        let check = |one: &str, other: &str, near: bool| {
            assert_eq!(likeness(one, other) > 0.0, near, "{one} {other}");
        };
        check("approv", "approval", true);
        check("document", "documentation", true);
        check("inteligenc", "intelligenc", true);
        check("codx", "codex", true);
        check("mpc", "mcp", true);
        check("mode", "model", false);
        check("code", "codex", false);
        check("review", "preview", false);
        check("command", "commit", false);
    }
}
