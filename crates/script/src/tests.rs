//! Claims about the output of `javascript`.

mod mistakes;
mod properties;
mod results;
mod shapes;

use super::*;

/// Checks the resulting body of a program. The program itself has a `return`, so that none is
/// added.
#[track_caller]
fn check_types(source: &str, expect: &str) {
    let program = format!("{source}\nreturn");
    check(&program, &format!("{expect}\nreturn"));
}

#[track_caller]
fn check(source: &str, expect: &str) {
    let result = javascript(source).map_err(|mistake| mistake.to_string());
    assert_eq!(result.as_deref(), Ok(expect), "{source}");
}

#[test]
fn types_become_spaces() {
    for (source, expect) in [
        (
            "let x: string | null = null, y!: number;",
            "let x                = null, y         ;",
        ),
        (
            "function f<T>(this: A, a: T, b?: B, ...c: string[]): asserts a is T {}",
            "function f   (         a   , b    , ...c          )                 {}",
        ),
        (
            "const q = <T,>(a: T): a is string => true;",
            "const q =     (a   )              => true;",
        ),
        (
            "var a = x as any as T, b = (y as T).z, c = y! + 1, d = e satisfies F",
            "var a = x            , b = (y     ).z, c = y  + 1, d = e            ",
        ),
        (
            "new Map<string, A>(); f<B>('a'); p?.get<C>('x'); const g = f<D>;",
            "new Map           (); f   ('a'); p?.get   ('x'); const g = f   ;",
        ),
        (
            "for (const x of xs as A[]) try {} catch (e: unknown) {}",
            "for (const x of xs       ) try {} catch (e         ) {}",
        ),
        (
            "const t = `a${b as string}c`",
            "const t = `a${b          }c`",
        ),
        ("const ä: Größe = \"ü\"; ä", "const ä        = \"ü\"; ä"),
        ("#!/usr/bin/env node\n1", "                   \n1"),
    ] {
        check_types(source, expect);
    }
}

#[test]
fn a_cast_in_front_of_a_value_keeps_the_value_together() {
    check_types("x = <T>y.z", "x = (  y.z)");
    check_types("f = () => <T>{ a: 1 }", "f = () => (  { a: 1 })");
    check_types(
        "g = () => { return <\nT>x }",
        "g = () => { return (\n  x) }",
    );
}

#[test]
fn statements_that_are_only_types_vanish() {
    for source in [
        "interface A { x: number }",
        "type A = { b: string }",
        "declare const tools: any",
        "declare function foo(): void;",
        "declare enum E { A }",
        "declare module 'x' { }",
        "declare global { }",
        "namespace N { export type A = 1 }",
        "import type { X } from 'y'",
        "export type { X }",
        "export interface A {}",
        "export { a }",
        "function overloaded(a: string): void",
    ] {
        let blank = format!(";{}", " ".repeat(source.chars().count() - 1));
        check_types(source, &blank);
    }
    check_types("export const a = 1", "       const a = 1");
    check_types("type A = {\n  b: 1\n}", ";         \n      \n ");
}

#[test]
fn a_statement_that_loses_its_type_does_not_swallow_the_next_line() {
    check_types("a\ntype A = B\n(c)", "a\n;         \n(c)");
    check_types("a = b as T\n[1].map(f)", "a = b;    \n[1].map(f)");
    check_types("a = b satisfies T\n`c`", "a = b;           \n`c`");
    check_types("a = (b as T)\nc", "a = (b     )\nc");
}

#[test]
fn an_arrow_stays_on_the_line_of_its_bracket() {
    check_types("f = (a): {\n  x: A\n} => a", "f = (a    \n      \n) => a");
    check_types(
        "f = async <\n  T\n>(x: T) => x",
        "f = async (\n   \n  x   ) => x",
    );
}

#[test]
fn a_class_keeps_its_behaviour_and_loses_its_types() {
    check_types(
        "abstract class A<T> extends B<T> implements C, D<E> {
  private readonly x: number = 1;
  declare y: string;
  static z?: T
  get: string
  foo(): void
  foo(a?: T): void {}
  abstract bar(): void;
  [key: string]: any
  protected ['baz']?(): void {}
  public async *gen<T>(): AsyncGenerator<T> {}
  override q!: T;
  a = 1
  private ['x'] = 2
}",
        "         class A    extends B                       {
  ;                x         = 1;
  ;                 
  static z ;  
  get;       
  ;          
  foo(a    )       {}
  ;                    
  ;                 
  ;         ['baz'] ()       {}
  ;      async *gen   ()                    {}
  ;        q ;  ;
  a = 1
  ;       ['x'] = 2
}",
    );
}

#[test]
fn javascript_stays_as_it_is() {
    for source in [
        "const y = a ? (b) : c => d",
        "label: for (const a of b) { continue label }",
        "for await (const x of y) { if (x?.z ?? 1) break }",
        "const { a, b: [c = 1] } = d; x = /[/\"]/.test(a) ? `${b}` : 1n ** 2n",
        "class A { #x = 1; static { this.y = 2 } get z() { return this.#x } }",
    ] {
        check_types(source, source);
    }
}
