//! Words as they are compared: small, without what people wrap around them, and cut to the stem.

/// The words of a text, small and one blank apart; whatever stands between them is no matter.
pub(crate) fn key(text: &str) -> String {
    let lower = text.to_lowercase().replace("'s ", " ").replace("’s ", " ");
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The stems of the words that say something; of all words, if none does. Two words that are
/// known as one (`log in`, `work trees`) are that one.
pub(crate) fn telling(text: &str, besides: &[&str], known: impl Fn(&str) -> bool) -> Vec<String> {
    let key = key(text);
    let mut rest = key.split(' ').peekable();
    let (mut telling, mut all) = (Vec::new(), Vec::new());
    while let Some(word) = rest.next() {
        let joined = rest
            .peek()
            .map(|next| stem(&format!("{word}{next}")))
            .filter(|joined| known(joined));
        if joined.is_some() {
            rest.next();
        }
        let filler = joined.is_none()
            && (besides.contains(&word) || FILLERS.split(' ').any(|it| it == word));
        all.push(joined.unwrap_or_else(|| stem(word)));
        if !filler {
            telling.extend(all.last().cloned());
        }
    }
    if telling.is_empty() { all } else { telling }
}

/// Whether a stem is that of a word people wrap around what they mean.
pub(crate) fn is_filler(stemmed: &str) -> bool {
    FILLERS.split(' ').any(|it| stem(it) == stemmed)
}

/// Whether two keys are the same but for slips: word for word, or in where words end.
pub(crate) fn misspelt(one: &str, other: &str) -> bool {
    let joined = |key: &str| key.replace(' ', "");
    let (words, others): (Vec<&str>, Vec<&str>) =
        (one.split(' ').collect(), other.split(' ').collect());
    let by_word = || {
        words
            .iter()
            .zip(&others)
            .all(|(one, other)| one == other || slip(one, other))
    };
    if words.len() == others.len() {
        by_word()
    } else {
        joined(one) == joined(other) || slip(&joined(one), &joined(other))
    }
}

/// How much two stems are the same word: 1 for the same, less for one family or a slip of the pen.
pub(crate) fn likeness(one: &str, other: &str) -> f32 {
    if one == other {
        1.0
    } else if akin(one, other) || slip(one, other) {
        AKIN
    } else {
        0.0
    }
}

const AKIN: f32 = 0.8;

/// What people wrap around the thing they mean.
const FILLERS: &str = "a about all an and any are as at available be by can capabilities capability could \
    did do does done each every feature features for from functionality get give had has have how i if in \
    into is it its let like me my of on one or other own please should so some something support supported \
    supports that the their them there these they thing things this to use used uses using via want was we \
    what when where whether which who will with would you your";

/// `approve` and `approval`, `select` and `selection`.
fn akin(one: &str, other: &str) -> bool {
    let common = one
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longer = one.chars().count().max(other.chars().count());
    common >= 5 && common * 5 >= longer * 3
}

/// A letter wrong, two in a long word, or two that changed places in a short one. People seldom
/// miss the first, and in a short word not the last.
fn slip(one: &str, other: &str) -> bool {
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
            wrong == 1 && (dropped || sorted(letters) == sorted(others))
        }
        5..=8 => wrong <= 1,
        _ => wrong <= 2,
    }
}

fn sorted(mut letters: Vec<char>) -> Vec<char> {
    letters.sort_unstable();
    letters
}

/// Cuts what marks number and tense. What is left need not be a word, only the same for its family.
pub(crate) fn stem(word: &str) -> String {
    let word = american(singular(word));
    let root = ["ing", "ed"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .filter(|root| root.len() >= 3);
    let root = root.map_or(word.as_str(), undoubled);
    root.strip_suffix('e')
        .filter(|root| root.len() >= 3)
        .unwrap_or(root)
        .to_owned()
}

fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(root), _) if root.len() >= 3 => format!("{root}y"),
        (_, Some(root)) if root.len() >= 3 && !root.ends_with('s') => root.to_owned(),
        _ => word.to_owned(),
    }
}

/// `customise` is `customize`.
fn american(word: String) -> String {
    let endings = [
        ("isation", "ization"),
        ("ising", "izing"),
        ("ised", "ized"),
        ("ise", "ize"),
    ];
    let respelt = |(ending, ours)| {
        Some(format!(
            "{}{ours}",
            word.strip_suffix(ending).filter(|it| it.len() >= 3)?
        ))
    };
    endings.into_iter().find_map(respelt).unwrap_or(word)
}

/// `planning` is of `plan`, `telling` of `tell`.
fn undoubled(root: &str) -> &str {
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
    fn a_text_comes_down_to_the_stems_of_its_telling_words() {
        let check = |text: &str, stems: &str| {
            assert_eq!(
                telling(text, &[], |it| it == "login").join(" "),
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
    fn a_slip_is_one_word_for_another_and_not_one_name_for_another() {
        assert!(misspelt("lifecyle hooks", "lifecycle hooks"));
        assert!(misspelt("check points", "checkpoints"));
        assert!(misspelt("websearch", "web search"));
        assert!(!misspelt("jira integration", "ide integration"));
        assert!(!misspelt("docs generation", "code generation"));
    }

    #[test]
    fn words_of_one_family_and_slips_of_the_pen_are_nearly_the_same() {
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
