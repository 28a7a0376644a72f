#!/usr/bin/env python3
"""Measures names, prose and size of a Rust workspace. Informs; no test reads it.

    python3 dev/xtask/measure.py [--names] [DIR]

Only production code counts, without the folders `tests`, `benches` and `examples`, and items
and modules under `#[cfg(test)]`. `--names` lists the most frequent function names.
"""

import re
import statistics
import sys
from collections import Counter
from pathlib import Path

# Crates for development. Their lines are counted separately.
DEVELOPMENT = {"bench", "testbed", "testkit", "xtask"}

# Words that this code base once used far more often than others do, per 10,000 words of comments.
DIALECT = {
    "what (free relative)": r"(?<![.?!:] )(?<!^)\bwhat\b(?! if\b)",
    "those of / those that": r"\bthose (?:of|that|which|who)\b",
    "stand(s)": r"\b(?:stands?|stood)\b",
    "told, tell(s)": r"\b(?:told|tells?)\b",
    "place(s)": r"\bplaces?\b",
    "alone": r"\balone\b",
    "beside": r"\bbesides?\b",
    "words of": r"\bwords? of\b",
    "anew": r"\banew\b",
    "in force": r"\bin force\b",
    "handed": r"\bhanded\b",
    "meanwhile": r"\bmeanwhile\b",
    "is none": r"\b(?:is|are) none\b",
}

IRREGULAR_PARTICIPLES = set(
    """asked begun bound bought brought built chosen come cut done drawn driven fallen felt found
    given gone grown heard held hidden kept known laid led left lent lost made meant met paid put
    ran read said seen sent set shown shut spent split spoken stood sunk taken taught told
    thought understood woken won written""".split()
)
# Words with a participle's ending, or spelt like one, that are verbs or nouns in their own right.
NO_PARTICIPLES = set(
    """bring embed encoding feed heading listing logging need ping pricing proceed put read reading
    ring run schooling seed set sibling speed spelling split spring string thing timing warning
    wording rating ranking cut setting""".split()
)

TOKEN = re.compile(
    r"""(?P<doc>//[/!][^\n]*)|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)"""
    r"""|(?P<raw>b?r(?P<hash>\#*)".*?"(?P=hash))|(?P<text>b?"(?:\\.|[^"\\])*")|(?P<char>'(?:\\[^']+|[^'\\])')""",
    re.DOTALL,
)


def main():
    words = sys.argv[1:]
    folders = [word for word in words if not word.startswith("--")]
    root = Path(folders[0]).resolve() if folders else Path(__file__).resolve().parents[2]
    base = next((folder for folder in [root, *root.parents] if (folder / "Cargo.lock").exists()), root)
    files = [SourceFile(base, path) for path in production_files(root, base)]
    names = [name for file in files for name in file.function_names()]
    print_size(root, files)
    print_names(names)
    print_prose(files)
    if "--names" in words:
        for name, count in Counter(names).most_common(60):
            print(f"{count:6}  {name}")


def production_files(root, base):
    apart = {"tests", "benches", "examples", "target", "fuzz", "node_modules"}
    test_modules = set()
    paths = []
    for path in sorted(root.rglob("*.rs")):
        parts = path.relative_to(base).parts
        if apart.isdisjoint(parts) and parts[-1] not in {"tests.rs", "build.rs"} and "src" in parts:
            folder = path.parent if path.stem in {"mod", "lib", "main"} else path.with_suffix("")
            modules = re.findall(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod (\w+);", path.read_text())
            test_modules |= {folder / module for module in modules}
            paths.append(path)
    for path in paths:
        if not any(folder in test_modules for folder in [path.with_suffix(""), *path.parents]):
            yield path


class SourceFile:
    def __init__(self, base, path):
        self.parts = path.relative_to(base).parts
        text = path.read_text(errors="replace")
        self.comments = []
        self.code = without_tests(TOKEN.sub(self.blank, text))
        self.lines = sum(1 for line in self.code.split("\n") if line.strip())
        self.lines += sum(1 for line in text.split("\n") if line.lstrip().startswith("//"))

    def blank(self, token):
        """Collects comments, and blanks out comments and literals so that braces in them do not count."""
        text = token.group(0)
        if token.group("doc") or token.group("line"):
            self.comments.append(text.lstrip("/!").strip())
        return "\n" * text.count("\n")

    def function_names(self):
        return re.findall(r"\bfn\s+([a-z_][a-z0-9_]*)", self.code)

    def is_development(self):
        return not DEVELOPMENT.isdisjoint(self.parts)


def without_tests(code):
    """Removes each item under `#[cfg(test)]`, by matching its braces."""
    while (at := code.find("#[cfg(test)]")) >= 0:
        end = at
        depth = 0
        for end in range(at, len(code)):
            if code[end] == "{":
                depth += 1
            elif code[end] == "}":
                depth -= 1
            if (code[end] == "}" and depth == 0) or (code[end] == ";" and depth == 0):
                break
        code = code[:at] + code[end + 1 :]
    return code


def print_size(root, files):
    product = sum(file.lines for file in files if not file.is_development())
    development = sum(file.lines for file in files if file.is_development())
    print(f"{product:8,}  production lines in {len(files):,} files")
    print(f"{development:8,}  lines of crates for development")
    crates = Counter()
    for file in files:
        crates[file.parts[file.parts.index("src") - 1]] += file.lines
    name, lines = crates.most_common(1)[0]
    print(f"{lines / (product + development):8.0%}  largest crate ({name}) of {len(crates)}")
    print(f"{statistics.median(file.lines for file in files):8.0f}  median lines of a file")
    gateway = next(root.glob("crates/**/gateway/src/lib.rs"), None)
    if gateway:
        modules = re.findall(r"^(?:pub )?(?:pub\(crate\) )?mod \w+;", gateway.read_text(), re.MULTILINE)
        print(f"{len(modules):8}  top-level modules of the gateway")
    sqlite = {path.parent for path in root.glob("crates/**/store/src/**/sqlite.rs")}
    postgres = {path.parent for path in root.glob("crates/**/store/src/**/postgres.rs")}
    print(f"{len(sqlite & postgres):8}  tables of the store with statements for each engine")
    if (root / "ARCHITECTURE.md").exists():
        print(f"{(root / 'ARCHITECTURE.md').stat().st_size / 1024:8.1f}  KB of ARCHITECTURE.md")


def print_names(names):
    one_word = [name for name in names if "_" not in name.strip("_")]
    participles = [name for name in one_word if is_participle(name)]
    print(f"{len(one_word) / len(names):8.0%}  function names of one word, of {len(names):,}")
    print(f"{1000 * len(participles) / len(names):8.1f}  bare participles per 1,000 function names")


def is_participle(name):
    regular = re.fullmatch(r"\w{2,}(?:ed|ing)", name) is not None
    return (regular or name in IRREGULAR_PARTICIPLES) and name not in NO_PARTICIPLES


def print_prose(files):
    comments = [comment for file in files for comment in file.comments]
    words = sum(len(re.findall(r"\w+", comment)) for comment in comments)
    for name, pattern in DIALECT.items():
        found = sum(len(re.findall(pattern, comment, re.IGNORECASE)) for comment in comments)
        print(f"{10_000 * found / words:8.1f}  per 10,000 words of comments: {name}")


main()
