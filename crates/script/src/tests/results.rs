//! Claims about the value that a program returns.

use super::check;

#[test]
fn the_value_at_the_end_is_returned() {
    check(
        "const a = 1;\na + 1 // sum",
        "const a = 1;\nreturn (a + 1) // sum",
    );
    check("x =\n  y;", "return (x =\n  y);");
    check("(a as T)!", "return ((a     ) )");
    check("a\ntype A = B", "return (a)\n;         ");
    check("\"hello\"", "return (\"hello\")");
    check(
        "export default { a: 1 }",
        "               return ({ a: 1 })",
    );
    check(
        "(async () => { return 1 })();",
        "return ((async () => { return 1 })());",
    );
}

#[test]
fn a_program_that_returns_is_unchanged() {
    check("if (a) return 1;\nb", "if (a) return 1;\nb");
    check("const a = 1", "const a = 1");
    check("", "");
}

#[test]
fn a_function_that_is_the_whole_program_is_called() {
    check(
        "async () => { return 1 }",
        "return (async () => { return 1 })()",
    );
    check(
        "(function () { return 1 })",
        "return ((function () { return 1 }))()",
    );
    check(
        "const a = 1;\nasync () => a",
        "const a = 1;\nreturn (async () => a)()",
    );
    check(
        "export default async function () { return 1 }",
        "               return (async function () { return 1 })()",
    );
    check("(tools) => 1", "return ((tools) => 1)(tools)");
    check(
        "async ({ tools, params }, x = 1) => x",
        "return (async ({ tools, params }, x = 1) => x)({ tools, params })",
    );
}

#[test]
fn an_entry_point_is_called_once() {
    check(
        "async function main(): Promise<A> { return 1 }",
        "async function main()             { return 1 }; return main()",
    );
    check(
        "async function main() { return 1 }\nmain();",
        "async function main() { return 1 }\nreturn (main());",
    );
    check(
        "const f = x => x\nconst main = async () => f(2) // end",
        "const f = x => x\nconst main = async () => f(2); return main() // end",
    );
    check(
        "function f() {}\nfunction g() {}",
        "function f() {}\nfunction g() {}",
    );
    check(
        "const r = [];\nfor (const x of y) main(x)\nfunction main(x) {}",
        "const r = [];\nfor (const x of y) main(x)\nfunction main(x) {}",
    );
}

#[test]
fn a_fence_around_the_program_is_removed() {
    check(
        "```js\nconst a = 1;\na\n```\n",
        "     \nconst a = 1;\nreturn (a)\n   \n",
    );
    check("\n```typescript\na", "\n             \nreturn (a)");
}
