//! The value of a parameter, found in a request by the parameter's role.

use std::ops::Range;

use kitbag_domain::capability::split_name;
use serde_json::{Value, json};

use super::DescribedTool;
use super::agreement::{own_stems, statement_start, stem};
use super::known_words::is_common;
use super::positions::{LABELS, end_of_text, find_name_next_to_noun, nouns, range_after};
use super::request_parts::{PartKind, RequestParts, clock, is_file_name};
use super::role::{Parameter, Role};
use super::zones::ZoneNames;
use crate::words::FoldedRequest;

/// Takes values out of a request, each word once.
pub(super) struct Reader<'a> {
    request: &'a RequestParts<'a>,
    tool: &'a DescribedTool<'a>,
    zones: &'a ZoneNames,
    pub(super) used: Vec<bool>,
}

/// The words of the longest choice that is read, such as a unit.
const MAX_CHOICE_WORDS: usize = 3;
/// Words before the value of a parameter that is a destination or a source.
const TO: &[&str] = &["to", "into", "as"];
const FROM: &[&str] = &["from", "of"];

impl<'a> Reader<'a> {
    pub(super) fn new(
        request: &'a RequestParts<'a>,
        tool: &'a DescribedTool<'a>,
        zones: &'a ZoneNames,
    ) -> Self {
        let used = vec![false; request.len()];
        Self {
            request,
            tool,
            zones,
            used,
        }
    }

    pub(super) fn value(
        &mut self,
        parameter: &Parameter<'_>,
        all: &[Parameter<'_>],
    ) -> Option<Value> {
        if parameter.many {
            return self.list(parameter);
        }
        match parameter.role {
            Role::Choice => self.choice(parameter),
            Role::Count => self.count(parameter),
            Role::Number => self.number(parameter),
            Role::Zone => self.zone(parameter),
            Role::Path => self.path(parameter, all),
            Role::Glob => self.glob(parameter),
            Role::Url => self.first_of(&[PartKind::Url]).map(Value::from),
            Role::Email => self.first_of(&[PartKind::Email]).map(Value::from),
            Role::Date => self.first_of(&[PartKind::Date]).map(Value::from),
            Role::Time => self.time(),
            Role::Statement => self.statement(),
            Role::Expression => self.expression(),
            Role::Text => self.text(parameter),
            Role::Name => self.name(parameter),
            Role::Flag => self.flag(parameter),
            Role::Other => None,
        }
    }

    fn take_word(&mut self, at: usize) -> String {
        self.take_range(at, at + 1)
    }

    fn take_range(&mut self, from: usize, to: usize) -> String {
        self.used[from..to].fill(true);
        self.request.slice(from, to)
    }

    fn free_positions(&self, kinds: &[PartKind]) -> Vec<usize> {
        let positions = 0..self.request.len();
        positions
            .filter(|at| !self.used[*at] && kinds.contains(&self.request.kind(*at)))
            .collect()
    }

    fn first_of(&mut self, kinds: &[PartKind]) -> Option<String> {
        let at = *self.free_positions(kinds).first()?;
        Some(self.take_word(at))
    }

    /// Several values of one kind: all paths, or all quoted texts and names.
    fn list(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let kinds: &[PartKind] = match parameter.role {
            Role::Path => &[PartKind::Path],
            Role::Name | Role::Text if parameter.required => {
                &[PartKind::Quoted, PartKind::Id, PartKind::Name]
            }
            _ => return None,
        };
        let positions = self.free_positions(kinds);
        let values: Vec<String> = positions.into_iter().map(|at| self.take_word(at)).collect();
        (!values.is_empty()).then(|| json!(values))
    }

    /// The longest words that are one of the choices; of several, the one in the direction of the
    /// parameter.
    fn choice(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let choices = parameter.schema["enum"].as_array()?;
        let mut found = Vec::new();
        for at in 0..self.request.len() {
            let longest = (1..=MAX_CHOICE_WORDS).rev().find_map(|length| {
                let range = at..at + length;
                let free =
                    range.end <= self.request.len() && !self.used[range.clone()].contains(&true);
                let choice = free.then(|| self.choice_in(choices, range.clone()))??;
                Some((range, choice))
            });
            found.extend(longest);
        }
        let positions: Vec<usize> = found.iter().map(|(range, _)| range.start).collect();
        let chosen = self.choose_by_direction(parameter, &positions)?;
        let (range, choice) = found.into_iter().find(|(range, _)| range.start == chosen)?;
        self.used[range].fill(true);
        Some(choice)
    }

    /// The choice that these words are, in the plural or not.
    fn choice_in(&self, choices: &[Value], range: Range<usize>) -> Option<Value> {
        let raw = self.request.slice(range.start, range.end);
        let folded: Vec<&str> = range.map(|at| self.request.folded_word(at)).collect();
        let folded = folded.join(" ");
        let same = |choice: &&Value| match choice {
            Value::String(choice) => choice.eq_ignore_ascii_case(&raw) || *choice == folded,
            other => raw.parse::<Value>().is_ok_and(|value| value == **other),
        };
        choices.iter().find(same).cloned()
    }

    /// True if the request contains all words in an optional boolean's name: `raw`, `recursive`.
    fn flag(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let positions = parameter.words.iter().map(|word| {
            let mut positions = 0..self.request.len();
            positions.find(|at| !self.used[*at] && self.request.folded_word(*at) == word)
        });
        let positions: Vec<usize> = positions.collect::<Option<_>>()?;
        positions.iter().for_each(|at| self.used[*at] = true);
        (!parameter.required && !positions.is_empty()).then_some(true.into())
    }

    /// `the last 5 commits`, and one for a singular: `the last commit`.
    fn count(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let ends: &[&str] = match () {
            () if parameter.has_word(&["head", "first", "top"]) => &["first", "top", "head"],
            () if parameter.has_word(&["tail", "last"]) => &["last", "tail", "recent"],
            () => &["first", "top", "last", "recent", "newest"],
        };
        let bounded = parameter.has_word(&["head", "tail", "first", "last"]);
        let before = |at: usize| at > 0 && ends.contains(&self.request.folded_word(at - 1));
        let numbers = self.free_positions(&[PartKind::Number]);
        let number = numbers.iter().copied().find(|at| before(*at));
        let counts = |at: &usize| {
            let next = self.request.folded_word_or_none(at + 1);
            next.is_some() && self.request.kind(at + 1) == PartKind::Plain
        };
        let plain = numbers.first().copied().filter(|at| !bounded && counts(at));
        if let Some(at) = number.or(plain) {
            return self.numeric(at, parameter);
        }
        let one = (0..self.request.len().saturating_sub(1)).find(|at| {
            ends.contains(&self.request.folded_word(*at))
                && self.request.kind(at + 1) == PartKind::Plain
                && self
                    .request
                    .raw(at + 1)
                    .eq_ignore_ascii_case(self.request.folded_word(at + 1))
        })?;
        self.used[one] = true;
        Some(1.into())
    }

    fn number(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let numbers = self.free_positions(&[PartKind::Number]);
        let nouns = nouns(parameter, self.tool);
        let beside = find_name_next_to_noun(self.request, &nouns, &self.used)
            .filter(|at| numbers.contains(at));
        let first = numbers.first().copied().filter(|_| parameter.required);
        self.numeric(beside.or(first)?, parameter)
    }

    fn numeric(&mut self, at: usize, parameter: &Parameter<'_>) -> Option<Value> {
        let raw = self.request.raw(at);
        let whole = raw.parse::<i64>().ok().map(Value::from);
        let value = match parameter.schema["type"].as_str() {
            Some("integer") => whole?,
            _ => whole.or_else(|| raw.parse::<f64>().ok().map(Value::from))?,
        };
        self.used[at] = true;
        Some(value)
    }

    fn zone(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let mut found = Vec::new();
        for at in 0..self.request.len() {
            let longest = (1..=3).rev().find_map(|length| {
                let range = at..at + length;
                let free =
                    range.end <= self.request.len() && !self.used[range.clone()].contains(&true);
                let location = free.then(|| self.request.slice(range.start, range.end))?;
                let begins = location.chars().next().is_some_and(char::is_uppercase);
                let zone = self.zones.zone(&location).filter(|_| begins || at > 0)?;
                Some((range, zone.to_owned()))
            });
            found.extend(longest);
        }
        let positions: Vec<usize> = found.iter().map(|(range, _)| range.start).collect();
        let chosen = self.choose_by_direction(parameter, &positions)?;
        let (range, zone) = found.into_iter().find(|(range, _)| range.start == chosen)?;
        self.take_range(range.start, range.end);
        Some(zone.into())
    }

    fn path(&mut self, parameter: &Parameter<'_>, all: &[Parameter<'_>]) -> Option<Value> {
        let mut positions = self.free_positions(&[PartKind::Path, PartKind::Slashed]);
        let others = all.iter().filter(|it| it.role == Role::Path && it.required);
        let several = others.count() > 1;
        if positions.is_empty() || several {
            let quoted = self.free_positions(&[PartKind::Quoted]);
            let like_path = |at: &usize| self.request.raw(*at).contains(['/', '.']);
            positions.extend(quoted.into_iter().filter(like_path));
        }
        if self.wants_folder(parameter) {
            positions.retain(|at| !is_file_name(self.request.raw(*at)));
        }
        positions.sort_unstable();
        let at = match several {
            true => self.choose_by_direction(parameter, &positions)?,
            false => *positions.first()?,
        };
        Some(self.take_word(at).into())
    }

    /// True if the tool is about folders, so that a file's name is not a value for it.
    fn wants_folder(&self, parameter: &Parameter<'_>) -> bool {
        let folders = ["directory", "folder", "dir"];
        let name = split_name(self.tool.name);
        let named = name.iter().any(|it| folders.contains(&it.as_str()));
        parameter.has_word(&folders) || named
    }

    /// Chooses the source or the destination among several values, whichever the parameter needs.
    fn choose_by_direction(&self, parameter: &Parameter<'_>, positions: &[usize]) -> Option<usize> {
        let after = |at: &usize, leads: &[&str]| {
            *at > 0 && leads.contains(&self.request.folded_word(at - 1))
        };
        let mut positions = positions.iter().copied();
        if parameter.has_word(&["destination", "dest", "target", "to", "new", "end"]) {
            let led = positions.clone().find(|at| after(at, TO));
            return led.or_else(|| positions.next_back());
        }
        if parameter.has_word(&["source", "src", "from", "old", "start", "origin"]) {
            // In `how many minutes are 2 hours`, the amount has the unit to convert from.
            let measured = |at: &usize| *at > 0 && self.request.kind(at - 1) == PartKind::Number;
            let led = positions.clone().find(|at| after(at, FROM));
            let led = led.or_else(|| positions.clone().find(measured));
            return led.or_else(|| positions.find(|at| !after(at, TO)));
        }
        positions.next()
    }

    fn glob(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let pattern = self
            .first_of(&[PartKind::Glob])
            .map(|glob| self.match_any_depth(glob));
        let pattern = pattern.or_else(|| self.first_of(&[PartKind::Quoted]));
        if pattern.is_some() || !parameter.required {
            return pattern.map(Value::from);
        }
        let leads = ["named", "called", "matching", "for", "like"];
        let (from, to) = range_after(self.request, &leads, &self.used)?;
        (to - from == 1).then(|| self.take_word(from).into())
    }

    /// Users mean any depth, even if a tool distinguishes `*.ts` here from `**/*.ts` at any depth.
    fn match_any_depth(&self, glob: String) -> String {
        let has_deep_globs = self.tool.description.contains("**/");
        match has_deep_globs && !glob.contains('/') {
            true => format!("**/{glob}"),
            false => glob,
        }
    }

    fn time(&mut self) -> Option<Value> {
        let noon = (0..self.request.len()).find(|at| {
            !self.used[*at] && matches!(self.request.folded_word(*at), "noon" | "midnight")
        });
        if let Some(at) = noon {
            let is_noon = self.take_word(at).eq_ignore_ascii_case("noon");
            return Some(if is_noon { "12:00" } else { "00:00" }.into());
        }
        let at = *self.free_positions(&[PartKind::Time]).first()?;
        Some(clock(&self.take_word(at))?.into())
    }

    /// The rest of the request from the start of a statement, as written.
    fn statement(&mut self) -> Option<Value> {
        let text = self.request.text;
        let (start, _) = statement_start(text)?;
        let statement = text[start..].trim().trim_end_matches(['"', '`']).trim();
        let before = text[..start].trim_end_matches(['"', '`', '\'', ' ']);
        let words_before = FoldedRequest::read(before).words.len();
        self.used[words_before.min(self.request.len())..].fill(true);
        Some(statement.into())
    }

    /// The longest run of numbers and operators.
    fn expression(&mut self) -> Option<Value> {
        let calculates = |word: &str| {
            let names = ["sqrt(", "sin(", "cos(", "tan(", "log(", "exp(", "abs("];
            let rest = names.iter().find_map(|name| word.strip_prefix(name));
            let letters = rest.unwrap_or(word).chars();
            letters.clone().count() > 0
                && letters
                    .clone()
                    .all(|it| "0123456789.+-*/^%(), ".contains(it))
        };
        let fits: Vec<bool> = (0..self.request.len())
            .map(|at| !self.used[at] && calculates(self.request.raw(at)))
            .collect();
        let from = fits.iter().position(|it| *it)?;
        let length = fits[from..].iter().take_while(|it| **it).count();
        let text = self.request.slice(from, from + length);
        let has_sign = text.contains(['+', '*', '/', '^', '%', '(']) || text.contains(" - ");
        has_sign.then(|| self.take_range(from, from + length).into())
    }

    /// A quoted text, or the words after one that announces it.
    fn text(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        if let Some(quoted) = self.first_of(&[PartKind::Quoted]) {
            return Some(quoted.into());
        }
        if !parameter.required && !self.filters(parameter) {
            return None;
        }
        let leads: &[&str] = match parameter.has_word(&["message", "content", "text", "body"]) {
            true => &["saying", "say"],
            false => &["for", "about", "matching", "containing", "mentioning", "on"],
        };
        let (from, to) = range_after(self.request, leads, &self.used)
            .or_else(|| self.range_after_tool_name())
            .or_else(|| self.range_after_search_verb())?;
        Some(self.take_range(from, to).into())
    }

    /// True if the request searches, and the parameter is the text to search for.
    fn filters(&self, parameter: &Parameter<'_>) -> bool {
        let sought = ["query", "q", "search", "term", "keyword", "keywords"];
        self.request.folded_word(0) == "search" && parameter.has_word(&sought)
    }

    /// The words after a search verb, unless it is the tool's own name: `find tea in memory`.
    fn range_after_search_verb(&self) -> Option<(usize, usize)> {
        let verb = self.request.folded_word(0) == "search";
        let end = end_of_text(self.request, 1, &self.used);
        let end = (1..end)
            .find(|at| self.request.kind(*at) == PartKind::Preposition)
            .unwrap_or(end);
        let plain = (1..end).all(|at| !self.is_own(at) && !is_common(self.request.folded_word(at)));
        (verb && end > 1 && plain).then_some((1, end))
    }

    /// The words after the verb, if that is the whole name of the tool: `echo hello`.
    fn range_after_tool_name(&self) -> Option<(usize, usize)> {
        let whole = self.request.folded_word(0) == self.tool.name.to_lowercase();
        let rest = (1, self.request.len());
        (whole && rest.1 > 1 && !self.used[1..].contains(&true)).then_some(rest)
    }

    fn name(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let nouns = nouns(parameter, self.tool);
        let beside = find_name_next_to_noun(self.request, &nouns, &self.used)
            .filter(|at| self.may_name(*at));
        if let Some(at) = beside {
            return Some(self.take_word(at).into());
        }
        if !parameter.required {
            return self.find_like_example(parameter);
        }
        if let Some(at) = self.directed_name(parameter) {
            return Some(self.take_word(at).into());
        }
        // A search looks for a text, which may follow the thing being searched.
        let searches = self.request.folded_word(0) == "search";
        let scope = searches && self.request.folded_word_or_none(2) == Some("for");
        if scope && !self.used[1] && self.may_name(1) && !self.is_own(1) {
            return Some(self.take_word(1).into());
        }
        let quoted = [PartKind::Quoted].into_iter().filter(|_| !searches);
        let kinds: Vec<PartKind> = quoted
            .chain([PartKind::Id, PartKind::Slashed, PartKind::Name])
            .collect();
        let labelled = |at: &usize| self.is_labelled_otherwise(*at, parameter);
        let mut positions = kinds
            .into_iter()
            .flat_map(|kind| self.free_positions(&[kind]));
        if let Some(at) = positions.find(|at| !labelled(at)) {
            return Some(self.take_word(at).into());
        }
        let leads: &[&str] = match searches {
            true => &["named", "called", "in", "from"],
            false => &[
                "named", "called", "of", "for", "about", "in", "from", "against", "with", "to",
            ],
        };
        let (from, to) = range_after(self.request, leads, &self.used)?;
        let single = to - from == 1 && self.may_name(from);
        self.used[from - 1] |= single;
        single.then(|| self.take_word(from).into())
    }

    /// True for the text behind a label that is not the parameter's: `the title "Tea"` is no id.
    fn is_labelled_otherwise(&self, at: usize, parameter: &Parameter<'_>) -> bool {
        let label = at
            .checked_sub(1)
            .map(|before| self.request.folded_word(before));
        label.is_some_and(|label| {
            LABELS.contains(&label)
                && !parameter.words.iter().any(|word| word == label)
                && !self.is_own(at - 1)
        })
    }

    /// The name for a parameter with a direction: `5 inches to yards`.
    fn directed_name(&self, parameter: &Parameter<'_>) -> Option<usize> {
        let follows =
            |at: usize, leads: &[&str]| at > 0 && leads.contains(&self.request.folded_word(at - 1));
        let mut free = (0..self.request.len())
            .filter(|at| !self.used[*at] && self.may_name(*at) && !self.is_own(*at));
        match parameter.words.first().map(String::as_str) {
            Some("to" | "target") => free.find(|at| follows(*at, TO)),
            Some("from" | "source") => free.find(|at| {
                follows(*at, &["from"]) || *at > 0 && self.request.kind(at - 1) == PartKind::Number
            }),
            _ => None,
        }
    }

    /// True for a word in the tool's own name.
    fn is_own(&self, at: usize) -> bool {
        own_stems(self.tool).contains(&stem(self.request.folded_word(at)))
    }

    /// A word in the form of an example in the parameter's description: `A1:B2` for `A1:D10`.
    fn find_like_example(&mut self, parameter: &Parameter<'_>) -> Option<Value> {
        let description = parameter.description;
        let examples = description.split(|it: char| it.is_whitespace() || "\"'`(),;".contains(it));
        let forms: Vec<String> = examples.filter(|it| it.len() > 1).map(unify_form).collect();
        let ids = self.free_positions(&[PartKind::Id]);
        let at = ids
            .into_iter()
            .find(|at| forms.contains(&unify_form(self.request.raw(*at))))?;
        Some(self.take_word(at).into())
    }

    /// True for a word that can be a name: not one that is common in requests.
    fn may_name(&self, at: usize) -> bool {
        let plain = self.request.kind(at) == PartKind::Plain;
        let word = self.request.raw(at).to_lowercase();
        !plain || at > 0 && !is_common(&word)
    }
}

/// The form of a text, with each run of letters as `a` and of digits as `9`: `a9:a9` for `A1:D10`.
fn unify_form(text: &str) -> String {
    let mut form = String::new();
    for letter in text.trim_end_matches('.').chars() {
        let sort = match letter {
            _ if letter.is_ascii_digit() => '9',
            _ if letter.is_alphabetic() => 'a',
            other => other,
        };
        if !(matches!(sort, '9' | 'a') && form.ends_with(sort)) {
            form.push(sort);
        }
    }
    form
}
