//! Functions: their lines, the characters of their bodies, their parameters, and the closures
//! that they give names.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, FnArg, ImplItemFn, ItemFn, Local, Pat, Signature, TraitItemFn};

use super::source::SourceFile;
use super::spread::Spread;

/// The types that hold everything the gateway has. A function that is handed one of them beside a
/// [`REQUEST`] can reach everything, and its signature says nothing.
const EVERYTHING: [&str; 4] = ["Rooms", "House", "Gateway", "GatewayHost"];

/// The type of one request of a client.
const REQUEST: &str = "Turn";

#[derive(Debug, Default)]
pub struct Functions {
    /// From the signature to the closing brace.
    pub lines: Spread,
    /// Of the body, without blanks, comments and the text between quotes.
    pub characters: Spread,
    /// `let name = |…| …`.
    pub named_closures: usize,
    /// Functions that take everything together with a request, as `path (function)`.
    pub take_everything: Vec<String>,
}

impl Functions {
    #[must_use]
    pub fn of(files: &[&SourceFile]) -> Self {
        let mut found = Collector::default();
        for file in files {
            found.path.clone_from(&file.path);
            found.visit_file(&file.syntax);
        }
        Self {
            lines: Spread::of(found.lines),
            characters: Spread::of(found.characters),
            named_closures: found.named_closures,
            take_everything: found.take_everything,
        }
    }
}

#[derive(Default)]
struct Collector {
    path: String,
    lines: Vec<usize>,
    characters: Vec<usize>,
    named_closures: usize,
    take_everything: Vec<String>,
}

impl Collector {
    fn function(&mut self, signature: &Signature, body: &Block) {
        let (first, last) = (signature.span().start().line, body.span().end().line);
        self.lines.push(last - first + 1);
        self.characters.push(characters(body));
        if takes_everything(signature) {
            let name = &signature.ident;
            self.take_everything.push(format!("{} ({name})", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let initial = local.init.as_ref().map(|initial| &*initial.expr);
        if is_name(&local.pat) && matches!(initial, Some(Expr::Closure(_))) {
            self.named_closures += 1;
        }
        visit::visit_local(self, local);
    }
}

fn is_name(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(_) => true,
        Pat::Type(typed) => is_name(&typed.pat),
        _ => false,
    }
}

fn takes_everything(signature: &Signature) -> bool {
    let mut words = Vec::new();
    for input in &signature.inputs {
        if let FnArg::Typed(parameter) = input {
            let mut types = TypeWords(&mut words);
            types.visit_type(&parameter.ty);
        }
    }
    words.iter().any(|word| word == REQUEST)
        && words.iter().any(|word| EVERYTHING.contains(&word.as_str()))
}

/// Collects the last word of each path in a type.
struct TypeWords<'a>(&'a mut Vec<String>);

impl<'ast> Visit<'ast> for TypeWords<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0
            .extend(path.segments.last().map(|last| last.ident.to_string()));
        visit::visit_path(self, path);
    }
}

/// The characters between the braces of a body, without blanks, comments and the text between
/// quotes: a long error message does not make a function dense.
fn characters(body: &Block) -> usize {
    let text = body.span().source_text().unwrap_or_default();
    let tokens: TokenStream = text.parse().unwrap_or_default();
    // The braces of the body itself are not counted.
    in_tokens(tokens).saturating_sub(2)
}

fn in_tokens(tokens: TokenStream) -> usize {
    tokens.into_iter().map(in_token).sum()
}

fn in_token(token: TokenTree) -> usize {
    match token {
        // Two for the brackets around it.
        TokenTree::Group(group) => 2 + in_tokens(group.stream()),
        TokenTree::Literal(literal) if literal.to_string().ends_with('"') => 2,
        other => other.to_string().chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::{characters, takes_everything};

    #[test]
    fn blanks_comments_and_quoted_text_are_not_characters_of_a_body() {
        let function: syn::ItemFn =
            syn::parse_str("fn a() {\n    // Why.\n    b(\"c d\", [1, 2]);\n}").unwrap();
        assert_eq!(characters(&function.block), "b(\"\",[1,2]);".len());
    }

    #[test]
    fn everything_beside_a_request_is_noticed_behind_any_pointer() {
        check("fn a(rooms: &Arc<Rooms>, turn: &Turn)", true);
        check("fn a(turn: Turn, gateway: gateway::Gateway)", true);
        check("fn a(turn: &Turn, name: &str)", false);
        check("fn a(rooms: &Rooms) -> Turn", false);
    }

    #[track_caller]
    fn check(signature: &str, expected: bool) {
        let signature: syn::Signature = syn::parse_str(signature).unwrap();
        assert_eq!(takes_everything(&signature), expected);
    }
}
