//! Words as they are compared: small, without what people wrap around them, and cut to the stem.

/// The words of a text, small and one blank apart; whatever stands between them is no matter.
pub(crate) fn key(text: &str) -> String {
    let lower = text.to_lowercase().replace("'s ", " ").replace("’s ", " ");
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The stems of the words that say something; of all words, if none does.
pub(crate) fn telling(text: &str, besides: &[&str]) -> Vec<String> {
    let key = key(text);
    let says = |word: &&str| !besides.contains(word) && !FILLERS.split(' ').any(|filler| filler == *word);
    let mut words: Vec<String> = key.split(' ').filter(says).map(stem).collect();
    if words.is_empty() {
        words = key.split(' ').map(stem).collect();
    }
    words
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
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    common >= 5 && common * 5 >= longer * 3
}

/// One letter wrong, and another for a long word; people seldom miss the first.
fn slip(one: &str, other: &str) -> bool {
    let shorter = one.chars().count().min(other.chars().count());
    let allowed = if shorter >= 9 { 2 } else { 1 };
    shorter >= 5
        && one.chars().next() == other.chars().next()
        && strsim::damerau_levenshtein(one, other) <= allowed
}

/// Cuts what marks number and tense. What is left need not be a word, only the same for its family.
fn stem(word: &str) -> String {
    let word = american(singular(word));
    let root = ["ing", "ed"].iter().find_map(|ending| word.strip_suffix(ending)).filter(|root| root.len() >= 3);
    let root = root.map_or(word.as_str(), undoubled);
    root.strip_suffix('e').filter(|root| root.len() >= 3).unwrap_or(root).to_owned()
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
    let endings = [("isation", "ization"), ("ising", "izing"), ("ised", "ized"), ("ise", "ize")];
    let respelt = |(ending, ours)| Some(format!("{}{ours}", word.strip_suffix(ending).filter(|it| it.len() >= 3)?));
    endings.into_iter().find_map(respelt).unwrap_or(word)
}

/// `planning` is of `plan`, `telling` of `tell`.
fn undoubled(root: &str) -> &str {
    let mut last = root.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !"aeioulsz".contains(a) => &root[..root.len() - a.len_utf8()],
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_down_to_the_stems_of_its_telling_words() {
        let check = |text: &str, stems: &str| assert_eq!(telling(text, &[]).join(" "), stems, "{text}");
        check("Does it support Hooks?", "hook");
        check("VS Code's  memories", "vs cod memory");
        check("planning, planned, plans", "plan plan plan");
        check("customising / customized", "customiz customiz");
        check("installing", "install");
        check("what is it", "what is it");
    }

    #[test]
    fn words_of_one_family_and_slips_of_the_pen_are_nearly_the_same() {
        let check = |one: &str, other: &str, near: bool| assert_eq!(likeness(one, other) > 0.0, near, "{one} {other}");
        check("approv", "approval", true);
        check("document", "documentation", true);
        check("inteligenc", "intelligenc", true);
        check("mod", "model", false);
        check("review", "preview", false);
        check("command", "commit", false);
    }
}
