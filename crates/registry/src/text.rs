//! Texts with gaps: `Bearer {token}`, and what they say once the gaps are filled.

use std::collections::BTreeMap;
use std::fmt;

use crate::input::{Answers, Input, Inputs};
use crate::server::{Facts, VariedValue};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Fixed(String),
    /// The name of an input.
    Gap(String),
}

/// What `{name}` means where nothing is said of that name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unknown {
    /// These very letters, as the format has it.
    Itself,
    /// A gap all the same: an address or a header with braces in it works nowhere.
    Gap { secret: bool },
}

/// How the gaps are filled.
#[derive(Clone, Copy)]
pub(crate) struct Filling<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) answers: &'a Answers,
    /// Spells what the author of an entry wrote so that it means these very letters.
    pub(crate) literally: &'a dyn Fn(&str) -> String,
}

impl Text {
    /// What the author decided, or else one gap that goes by the name of the whole.
    pub(crate) fn of(
        inputs: &mut Inputs,
        name: &str,
        value: &VariedValue,
        repeated: bool,
        unknown: Unknown,
    ) -> Self {
        match value.facts.value.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Self::with_gaps(inputs, text, &value.explained_variables(), unknown),
            None => Self(vec![Piece::Gap(inputs.add(name, &value.facts, repeated))]),
        }
    }

    pub(crate) fn with_gaps(
        inputs: &mut Inputs,
        text: &str,
        variables: &BTreeMap<String, Facts>,
        unknown: Unknown,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, name, after)) = next_gap(rest) {
            pieces.push(Piece::Fixed(before.to_owned()));
            pieces.push(match (variables.get(name), unknown) {
                (
                    Some(Facts {
                        value: Some(value), ..
                    }),
                    _,
                ) => Piece::Fixed(value.clone()),
                (Some(facts), _) => Piece::Gap(inputs.add(name, facts, false)),
                (None, Unknown::Itself) => Piece::Fixed(format!("{{{name}}}")),
                (None, Unknown::Gap { secret }) => {
                    let facts = Facts {
                        is_required: true,
                        is_secret: secret,
                        ..Facts::default()
                    };
                    Piece::Gap(inputs.add(name, &facts, false))
                }
            });
            rest = after;
        }
        pieces.push(Piece::Fixed(rest.to_owned()));
        pieces.retain(|piece| *piece != Piece::Fixed(String::new()));
        Self(pieces)
    }

    /// The text itself, where it has no gap.
    pub(crate) fn as_fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Fixed(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn gaps(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Gap(name) => Some(name.as_str()),
            Piece::Fixed(_) => None,
        })
    }

    /// Nothing where a gap stays open. A text that is one gap is said once for each answer.
    pub(crate) fn fill(&self, filling: Filling<'_>) -> Vec<String> {
        if let [Piece::Gap(name)] = self.0.as_slice() {
            return filling.all(name);
        }
        let filled = self.0.iter().map(|piece| match piece {
            Piece::Fixed(text) => Some((filling.literally)(text)),
            Piece::Gap(name) => filling.all(name).into_iter().next(),
        });
        filled.collect::<Option<String>>().into_iter().collect()
    }
}

impl Filling<'_> {
    /// What was answered, or else the default.
    fn all(self, name: &str) -> Vec<String> {
        let answers = self.answers.of(name);
        if !answers.is_empty() {
            return answers.to_vec();
        }
        let input = self.inputs.iter().find(|input| input.name == name);
        let default = input.and_then(|input| input.default.as_deref());
        default.map(self.literally).into_iter().collect()
    }
}

/// With the names of the gaps in their places.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Fixed(text) => f.write_str(text),
            Piece::Gap(name) => write!(f, "<{name}>"),
        })
    }
}

/// What stands before the first `{name}`, that name, and the rest.
fn next_gap(text: &str) -> Option<(&str, &str, &str)> {
    let opens = text.match_indices('{').map(|(at, _)| at);
    let gap = |at: usize| {
        let (name, rest) = text[at + 1..].split_once('}')?;
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        (!name.is_empty() && name.chars().all(letters)).then_some((&text[..at], name, rest))
    };
    opens.filter_map(gap).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, unknown: Unknown, answers: &[(&str, &str)], expected: Option<&str>) {
        let facts = |default: Option<&str>| Facts {
            default: default.map(str::to_owned),
            ..Facts::default()
        };
        let mut variables = BTreeMap::from([
            ("host".to_owned(), facts(Some("local$host"))),
            ("token".to_owned(), facts(None)),
        ]);
        variables.insert(
            "set".to_owned(),
            Facts {
                value: Some("$et".to_owned()),
                ..Facts::default()
            },
        );
        let mut inputs = Inputs::default();
        let text = Text::with_gaps(&mut inputs, text, &variables, unknown);
        let mut given = Answers::default();
        for (name, answer) in answers {
            let input = inputs
                .0
                .iter()
                .find(|input| input.name == *name)
                .expect("a gap of that name");
            given.give(input, (*answer).to_owned()).unwrap();
        }
        let literally = |text: &str| text.replace('$', "[dollar]");
        let filled = text.fill(Filling {
            inputs: &inputs.0,
            answers: &given,
            literally: &literally,
        });
        assert_eq!(filled.first().map(String::as_str), expected);
    }

    #[test]
    fn gaps_are_filled_with_answers_and_defaults() {
        check(
            "Bearer {token}",
            Unknown::Itself,
            &[("token", "${T}")],
            Some("Bearer ${T}"),
        );
        check(
            "{host}:{token}",
            Unknown::Itself,
            &[("token", "1")],
            Some("local[dollar]host:1"),
        );
        check("a-{token}", Unknown::Itself, &[], None);
        check("plain", Unknown::Itself, &[], Some("plain"));
    }

    #[test]
    fn braces_that_nobody_explains_stay_or_are_asked_for() {
        check("{\"a\": {x}}", Unknown::Itself, &[], Some("{\"a\": {x}}"));
        check(
            "{x}",
            Unknown::Gap { secret: true },
            &[("x", "1")],
            Some("1"),
        );
        check(
            "{} {a b} {",
            Unknown::Gap { secret: false },
            &[],
            Some("{} {a b} {"),
        );
    }

    #[test]
    fn nothing_an_author_writes_becomes_a_variable_of_ours() {
        check(
            "${secret:github.TOKEN}",
            Unknown::Itself,
            &[],
            Some("[dollar]{secret:github.TOKEN}"),
        );
        check(
            "${set}{secret:x}",
            Unknown::Itself,
            &[],
            Some("[dollar][dollar]et{secret:x}"),
        );
        check(
            "${host}",
            Unknown::Itself,
            &[("host", "")],
            Some("[dollar]"),
        );
    }
}
