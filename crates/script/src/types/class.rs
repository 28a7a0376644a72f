//! The types in a class: its head, and the modifiers and marks of its elements.

use oxc_ast::ast::{Class, ClassElement, PropertyDefinition};
use oxc_parser::Kind;
use oxc_span::{GetSpan as _, Span};

use super::Blanking;

impl<'a> Blanking<'_, 'a> {
    /// Blanks `abstract` and `implements A, B`.
    pub(super) fn blank_class_head(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            self.blank_mark(it.span.start, Kind::Abstract);
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last())
            && let Some(keyword) = self.parsed.last_before(first.span.start)
        {
            self.edits.blank(keyword.start(), last.span.end);
        }
    }

    /// Blanks everything without a counterpart in JavaScript, and returns true if some of the
    /// element remains.
    pub(super) fn blank_class_element(&mut self, it: &ClassElement<'a>) -> bool {
        if is_only_type(it) {
            self.blank_whole(it.span());
            return false;
        }
        if let Some(key) = it.property_key() {
            self.blank_modifiers(it.span().start, key.span().start);
            self.blank_marks(it, key.span().end);
        }
        if let ClassElement::PropertyDefinition(property) = it {
            self.end_property(property);
        }
        true
    }

    fn blank_modifiers(&mut self, start: u32, key: u32) {
        let tokens = self.parsed.tokens_within(start, key);
        let modifiers = tokens.iter().filter(|token| is_modifier(token.kind()));
        for modifier in modifiers {
            self.blank(modifier.span());
        }
        // Without its modifier, `[name]` or `*name` would continue the previous line.
        if tokens
            .first()
            .is_some_and(|first| is_modifier(first.kind()))
        {
            self.edits.put(start, ';');
        }
    }

    fn blank_marks(&mut self, it: &ClassElement<'a>, name_end: u32) {
        let (is_optional, is_definite) = match it {
            ClassElement::MethodDefinition(it) => (it.optional, false),
            ClassElement::PropertyDefinition(it) => (it.optional, it.definite),
            ClassElement::AccessorProperty(it) => (false, it.definite),
            ClassElement::StaticBlock(_) | ClassElement::TSIndexSignature(_) => (false, false),
        };
        if is_optional {
            self.blank_mark(name_end, Kind::Question);
        }
        if is_definite {
            self.blank_mark(name_end, Kind::Bang);
        }
    }

    /// Ends a property without a value with a semicolon: `get: T` would become the `get` of the
    /// next element.
    fn end_property(&mut self, it: &PropertyDefinition<'a>) {
        if let (Some(types), None) = (&it.type_annotation, &it.value) {
            let Span { start, .. } = types.span;
            self.edits.put(start, ';');
        }
    }
}

fn is_only_type(it: &ClassElement<'_>) -> bool {
    match it {
        ClassElement::TSIndexSignature(_) => true,
        ClassElement::MethodDefinition(it) => it.value.body.is_none(),
        ClassElement::PropertyDefinition(it) => it.declare || it.r#type.is_abstract(),
        ClassElement::AccessorProperty(it) => it.r#type.is_abstract(),
        ClassElement::StaticBlock(_) => false,
    }
}

fn is_modifier(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Public
            | Kind::Private
            | Kind::Protected
            | Kind::Readonly
            | Kind::Abstract
            | Kind::Override
            | Kind::Declare
    )
}
