"""The lexical half of the search: BM25 over the fields of a tool.

Reimplements the rules of crates/relevance, so that figures measured here hold for the product.
"""

import collections
import math

import numpy as np
from scipy.sparse import csr_matrix

from document import derived_scopes, derived_tags, parameters, words

WEIGHT = {"name": 2.5, "description": 1.0, "server": 1.5, "parameters": 0.4, "tags": 0.7}
LENGTH_PENALTY = {"name": 0.3, "description": 0.5, "server": 0.3, "parameters": 0.6, "tags": 0.6}
K1 = 1.2

MAX_TERMS = 2000
LONGEST_WORD = 40
SMALL_WORDS = set(
    "a an and any are as at be been but by can could do does for from had has have how i if in into is it its let me my "
    "need of on or our please should so some that the their them then there this to up us want was we what when which "
    "will with would you your all".split()
)


def fields(tool):
    """Returns the text of each field of the index."""
    tags = tool.get("tags") or derived_tags(tool)
    scopes = tool.get("scopes") or derived_scopes(tool)
    return {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "server": tool.get("server") or "",
        "parameters": " ".join(parameters(tool.get("schema"))),
        "tags": " ".join(list(tags) + list(scopes)),
    }


class Lexicon:
    """An index of tools that scores requests."""

    def __init__(self, tools, weight=WEIGHT, length_penalty=LENGTH_PENALTY):
        counted = {name: [] for name in weight}
        for tool in tools:
            for name, text in fields(tool).items():
                counted[name].append(collections.Counter(terms(text)))
        every = [set().union(*(counted[name][row] for name in weight)) for row in range(len(tools))]
        frequency = collections.Counter(term for found in every for term in found)
        self.column = {term: number for number, term in enumerate(frequency)}
        idf = np.array([math.log(1 + (len(tools) - n + 0.5) / (n + 0.5)) for n in frequency.values()], np.float32)
        found = sum(weight[name] * self.normalized(counted[name], length_penalty[name]) for name in weight).tocsr()
        found.data = found.data * (K1 + 1) / (found.data + K1)
        self.worth = found.multiply(idf).tocsr().T.tocsr()

    def normalized(self, counts, penalty):
        """Returns the term counts of one field, normalized by its length relative to the average."""
        sizes = np.array([sum(count.values()) for count in counts], np.float32)
        rows = np.repeat(np.arange(len(counts)), [len(count) for count in counts])
        columns = [self.column[term] for count in counts for term in count]
        values = np.array([n for count in counts for n in count.values()], np.float32)
        values /= (1 - penalty + penalty * sizes / max(sizes.mean(), 1))[rows]
        return csr_matrix((values, (rows, columns)), shape=(len(counts), len(self.column)))

    def scores(self, requests):
        """Returns the BM25 score of every tool for every request. Repeated words count once."""
        asked = [sorted({self.column[term] for term in terms(request) if term in self.column}) for request in requests]
        rows = np.repeat(np.arange(len(asked)), [len(columns) for columns in asked])
        columns = [column for row in asked for column in row]
        chosen = csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(asked), len(self.column)))
        return np.asarray((chosen @ self.worth).todense())


def terms(text):
    found = [unit for word in words(text) for unit in units(word) if unit not in SMALL_WORDS]
    return [stem(word) for word in found[:MAX_TERMS]]


def units(word):
    """Truncates long words, and splits words in scripts without spaces into characters."""
    return list(word) if any(is_ideograph(char) for char in word) else [word[:LONGEST_WORD]]


def is_ideograph(char):
    blocks = (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFF)
    return any(first <= ord(char) <= last for first, last in blocks)


def stem(word):
    """Removes endings of number and tense, and a final `e`."""
    if not word.isascii() or len(word) < 4 or word[-1].isdigit():
        return word
    if len(word) > 4 and word.endswith(("ies", "ied")):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = undouble(word.removesuffix(ending))
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def undouble(word):
    return word[:-1] if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "lsz" else word
