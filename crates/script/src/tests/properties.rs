//! Claims about every program.

use proptest::prelude::*;

use super::*;

/// Pieces that form programs when combined, and mistakes more often.
const PIECES: [&str; 44] = [
    "a",
    "b",
    "1",
    "'s'",
    "`t${",
    "}`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "=>",
    "=",
    "+",
    ":",
    "?",
    "!",
    ".",
    ",",
    ";",
    "\n",
    " ",
    "const ",
    "let ",
    "function f",
    "class A ",
    "async ",
    "await ",
    "return ",
    " as ",
    "type T = ",
    "interface I ",
    "private ",
    "abstract ",
    "this",
    "export ",
    "default ",
    "import ",
    "/",
    "é",
    "// c\n",
];

fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..24)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_it_panic(source in "(?s).{0,80}") {
        let _ = javascript(&source);
    }

    #[test]
    fn the_lines_stay_and_nothing_is_lost_but_types(source in program()) {
        if let Ok(code) = javascript(&source) {
            prop_assert_eq!(code.lines().count(), source.lines().count());
            prop_assert!(keeps_order(&source, &code), "{:?} became {:?}", source, code);
        }
    }

    #[test]
    fn the_shape_of_a_shape_is_itself(source in program()) {
        if let Ok(once) = shape(&source) {
            prop_assert_eq!(shape(&once.code).map(|twice| twice.code), Ok(once.code));
        }
    }
}

/// True if every character of the code that was not added comes from the source, in order.
fn keeps_order(source: &str, code: &str) -> bool {
    let mut rest = source.chars();
    code.replace("return (", "")
        .chars()
        .filter(|sign| !sign.is_whitespace() && !matches!(sign, ';' | '(' | ')'))
        .all(|sign| rest.any(|other| other == sign))
}
