//! Splits a command line into words as a shell does, without running one.

use anyhow::bail;

pub(super) fn split_command_line(text: &str) -> anyhow::Result<Vec<String>> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut characters = text.chars();
    let mut quote = None;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let Some(escaped) = characters.next() else {
                    bail!("the command line ends with a backslash");
                };
                word.get_or_insert_default().push(escaped);
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let Some(quote) = quote {
        bail!("the command line has a {quote} without its end");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(split_command_line(text).unwrap(), expected, "{text}");
        };
        check("npx -y  @acme/notes .", &["npx", "-y", "@acme/notes", "."]);
        check(
            "run 'a b' \"c \\\" d\" e\\ f ''",
            &["run", "a b", "c \" d", "e f", ""],
        );
        check(
            "run '${TOKEN}' $(ls) \\$x",
            &["run", "${TOKEN}", "$(ls)", "$x"],
        );
        check(" \n", &[]);
        assert!(split_command_line("run 'a").is_err());
        assert!(split_command_line("run \\").is_err());
    }
}
