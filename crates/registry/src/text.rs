//! Texts with gaps, such as `Bearer {token}`, and the texts with the gaps filled.

use std::collections::BTreeMap;
use std::fmt;

use crate::input::{PlanAnswers, PlanInput, PlanInputs};
use crate::server::{Facts, VariedValue};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GapText(Vec<GapTextPart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum GapTextPart {
    Fixed(String),
    /// The name of an input.
    Gap(String),
}

/// The meaning of an undescribed `{name}`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnknownGap {
    /// Plain text, as the format defines it.
    Itself,
    /// A gap nevertheless, because no address or header with braces works.
    Gap { secret: bool },
}

/// The values for the gaps.
#[derive(Clone, Copy)]
pub(crate) struct GapFilling<'a> {
    pub(crate) inputs: &'a [PlanInput],
    pub(crate) answers: &'a PlanAnswers,
    /// Escapes the author's text so that it contains no variables.
    pub(crate) escape: &'a dyn Fn(&str) -> String,
}

impl GapText {
    /// Returns the value that the author fixed, or else one gap with the name of the whole value.
    pub(crate) fn new(
        inputs: &mut PlanInputs,
        name: &str,
        value: &VariedValue,
        repeated: bool,
        unknown: UnknownGap,
    ) -> Self {
        match value.facts.value.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Self::with_gaps(inputs, text, &value.explained_variables(), unknown),
            None => Self(vec![GapTextPart::Gap(inputs.add(
                name,
                &value.facts,
                repeated,
            ))]),
        }
    }

    pub(crate) fn with_gaps(
        inputs: &mut PlanInputs,
        text: &str,
        variables: &BTreeMap<String, Facts>,
        unknown: UnknownGap,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, name, after)) = next_gap(rest) {
            pieces.push(GapTextPart::Fixed(before.to_owned()));
            pieces.push(match variables.get(name) {
                Some(Facts {
                    value: Some(value), ..
                }) => GapTextPart::Fixed(value.clone()),
                Some(facts) => GapTextPart::Gap(inputs.add(name, facts, false)),
                None => unknown.to_part(inputs, name),
            });
            rest = after;
        }
        pieces.push(GapTextPart::Fixed(rest.to_owned()));
        pieces.retain(|piece| *piece != GapTextPart::Fixed(String::new()));
        Self(pieces)
    }

    /// Returns the text if it has no gap.
    pub(crate) fn as_fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [GapTextPart::Fixed(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn gaps(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            GapTextPart::Gap(name) => Some(name.as_str()),
            GapTextPart::Fixed(_) => None,
        })
    }

    /// Returns nothing if a gap stays open. A text that consists of one gap is returned once for
    /// each answer.
    pub(crate) fn fill(&self, filling: GapFilling<'_>) -> Vec<String> {
        if let [GapTextPart::Gap(name)] = self.0.as_slice() {
            return filling.values_of(name);
        }
        let filled = self.0.iter().map(|part| part.fill(filling));
        filled.collect::<Option<String>>().into_iter().collect()
    }

    /// Like `fill`, with only the first answer.
    pub(crate) fn fill_once(&self, filling: GapFilling<'_>) -> Option<String> {
        self.fill(filling).into_iter().next()
    }
}

impl GapTextPart {
    fn fill(&self, filling: GapFilling<'_>) -> Option<String> {
        match self {
            Self::Fixed(text) => Some((filling.escape)(text)),
            Self::Gap(name) => filling.values_of(name).into_iter().next(),
        }
    }
}

impl UnknownGap {
    fn to_part(self, inputs: &mut PlanInputs, name: &str) -> GapTextPart {
        let Self::Gap { secret } = self else {
            return GapTextPart::Fixed(format!("{{{name}}}"));
        };
        let facts = Facts {
            is_required: true,
            is_secret: secret,
            ..Facts::default()
        };
        GapTextPart::Gap(inputs.add(name, &facts, false))
    }
}

impl GapFilling<'_> {
    /// Returns the answers, or else the default.
    fn values_of(self, name: &str) -> Vec<String> {
        let answers = self.answers.get(name);
        if !answers.is_empty() {
            return answers.to_vec();
        }
        let input = self.inputs.iter().find(|input| input.name == name);
        let default = input.and_then(|input| input.default.as_deref());
        default.map(self.escape).into_iter().collect()
    }
}

impl fmt::Display for GapText {
    /// Formats the text with the names of the gaps.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            GapTextPart::Fixed(text) => f.write_str(text),
            GapTextPart::Gap(name) => write!(f, "<{name}>"),
        })
    }
}

/// Splits a text into the part before its first `{name}`, that name, and the rest.
fn next_gap(text: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in text.match_indices('{') {
        if let Some((name, rest)) = text[at + 1..].split_once('}')
            && is_gap_name(name)
        {
            return Some((&text[..at], name, rest));
        }
    }
    None
}

fn is_gap_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, unknown: UnknownGap, answers: &[(&str, &str)], expected: Option<&str>) {
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
        let mut inputs = PlanInputs::default();
        let text = GapText::with_gaps(&mut inputs, text, &variables, unknown);
        let mut given = PlanAnswers::default();
        for (name, answer) in answers {
            let input = inputs
                .0
                .iter()
                .find(|input| input.name == *name)
                .expect("a gap of that name");
            given.add(input, (*answer).to_owned()).unwrap();
        }
        let escape = |text: &str| text.replace('$', "[dollar]");
        let filled = text.fill(GapFilling {
            inputs: &inputs.0,
            answers: &given,
            escape: &escape,
        });
        assert_eq!(filled.first().map(String::as_str), expected);
    }

    #[test]
    fn gaps_are_filled_with_answers_and_defaults() {
        check(
            "Bearer {token}",
            UnknownGap::Itself,
            &[("token", "${T}")],
            Some("Bearer ${T}"),
        );
        check(
            "{host}:{token}",
            UnknownGap::Itself,
            &[("token", "1")],
            Some("local[dollar]host:1"),
        );
        check("a-{token}", UnknownGap::Itself, &[], None);
        check("plain", UnknownGap::Itself, &[], Some("plain"));
    }

    #[test]
    fn undescribed_braces_stay_or_become_an_input() {
        check(
            "{\"a\": {x}}",
            UnknownGap::Itself,
            &[],
            Some("{\"a\": {x}}"),
        );
        check(
            "{x}",
            UnknownGap::Gap { secret: true },
            &[("x", "1")],
            Some("1"),
        );
        check(
            "{} {a b} {",
            UnknownGap::Gap { secret: false },
            &[],
            Some("{} {a b} {"),
        );
    }

    #[test]
    fn an_authors_text_never_becomes_a_variable() {
        check(
            "${secret:github.TOKEN}",
            UnknownGap::Itself,
            &[],
            Some("[dollar]{secret:github.TOKEN}"),
        );
        check(
            "${set}{secret:x}",
            UnknownGap::Itself,
            &[],
            Some("[dollar][dollar]et{secret:x}"),
        );
        check(
            "${host}",
            UnknownGap::Itself,
            &[("host", "")],
            Some("[dollar]"),
        );
    }
}
