//! TypeScript types, composed of smaller ones.

/// The text of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeText {
    pub(super) text: String,
    /// The type is a union or an intersection, which needs parentheses within another type.
    is_compound: bool,
    /// The types of a union.
    alternatives: Vec<String>,
}

const ANY: &str = "any";
const NULL: &str = "null";
/// An object of which nothing more is known or shown.
const OBJECT: &str = "object";

impl TypeText {
    pub(super) fn one(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_compound: false,
            alternatives: Vec::new(),
        }
    }

    pub(super) fn any() -> Self {
        Self::one(ANY)
    }

    /// The result of a tool that declares none: usually text, otherwise anything.
    pub(super) fn unknown_result() -> Self {
        Self::one("string | any")
    }

    pub(super) fn object() -> Self {
        Self::one(OBJECT)
    }

    pub(super) fn is_plain_object(&self) -> bool {
        self.text == OBJECT
    }

    /// A value of one of several types.
    pub(super) fn union(types: Vec<Self>) -> Self {
        if types.iter().any(Self::is_any) {
            return Self::any();
        }
        // A union within a union is flattened.
        let texts = types
            .into_iter()
            .flat_map(|it| match it.alternatives.is_empty() {
                true => vec![it.text],
                false => it.alternatives,
            });
        Self::from_alternatives(distinct(texts))
    }

    fn from_alternatives(texts: Vec<String>) -> Self {
        let joined = Self::join_types(&texts, " | ", "never");
        let alternatives = if texts.len() > 1 { texts } else { Vec::new() };
        Self {
            alternatives,
            ..joined
        }
    }

    /// The same type for a value that is never null.
    pub(super) fn without_null(mut self) -> Self {
        self.alternatives.retain(|it| it != NULL);
        match self.alternatives.is_empty() {
            true => self,
            false => Self::from_alternatives(self.alternatives),
        }
    }

    /// A value of several types at once. A type that allows anything is omitted.
    pub(super) fn intersection(mut types: Vec<Self>) -> Self {
        types.retain(|it| !it.is_any());
        if types.len() > 1 {
            types.retain(|it| !it.is_plain_object());
        }
        match types.as_slice() {
            [] => Self::any(),
            [one] => one.clone(),
            several => Self::join_types(&distinct(several.iter().map(Self::element)), " & ", ANY),
        }
    }

    pub(super) fn array(&self) -> Self {
        Self::one(format!("{}[]", self.element()))
    }

    /// The text of the type as a part of another.
    fn element(&self) -> String {
        if self.is_compound {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    fn is_any(&self) -> bool {
        self.text == ANY
    }

    fn join_types(texts: &[String], sign: &str, empty: &str) -> Self {
        match texts {
            [] => Self::one(empty),
            [one] => Self::one(one.clone()),
            several => Self {
                text: several.join(sign),
                is_compound: true,
                alternatives: Vec::new(),
            },
        }
    }
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
