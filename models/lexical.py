"""The lexical half of the search: BM25 over the fields of a tool.

A plain statement of what the Rust index computes; README.md has the formula.
"""

import collections
import math
import re

import numpy as np
from scipy.sparse import csr_matrix

from document import parameters, provider_words, words

FIELDS = {"name": 3.0, "provider": 1.5, "description": 1.0, "rest": 1.0}
LENGTH_WEIGHT = {"name": 0.3, "provider": 0.0, "description": 0.5, "rest": 0.5}
SATURATION = 1.2
DESCRIPTION_CHARS = 1000

SUFFIXES = "ations ation ings ing ies ers er ed es s".split()
STOP = set(
    "a an the of to in on for and or with by is are be this that it as at from i me my you your can could please "
    "would want need how what which do does will us we our".split()
)
RUN = re.compile(r"[^\W_]+")


def terms(text):
    """Stems of the words; a name in mixed case counts as a whole and in its parts."""
    found = []
    for run in RUN.findall(text):
        parts = words(run)
        found += [run.lower()] + (parts if len(parts) > 1 else [])
    return [stem(term) for term in found if term not in STOP]


def stem(term):
    for suffix in SUFFIXES:
        if term.endswith(suffix) and len(term) - len(suffix) >= 3:
            return term[: -len(suffix)]
    return term


def fields(tool):
    """What each field of the index holds."""
    return {
        "name": tool["name"],
        "provider": " ".join(provider_words(tool.get("server") or "")),
        "description": (tool.get("description") or "")[:DESCRIPTION_CHARS],
        "rest": " ".join(list(tool.get("tags") or []) + parameters(tool.get("schema"))),
    }


class Lexicon:
    """An index of tools that scores requests."""

    def __init__(self, tools, weights=FIELDS, length=LENGTH_WEIGHT):
        counted = {name: [] for name in FIELDS}
        for tool in tools:
            for name, text in fields(tool).items():
                counted[name].append(collections.Counter(terms(text)))
        every = [set().union(*(counted[name][row] for name in FIELDS)) for row in range(len(tools))]
        frequency = collections.Counter(term for found in every for term in found)
        self.column = {term: number for number, term in enumerate(frequency)}
        self.idf = np.array([math.log(1 + (len(tools) - n + 0.5) / (n + 0.5)) for n in frequency.values()], np.float32)
        weighted = sum(weights[name] * self.normalised(counted[name], length[name]) for name in FIELDS)
        weighted.data = weighted.data / (SATURATION + weighted.data)
        self.matrix = weighted.multiply(self.idf).tocsr().T.tocsr()

    def normalised(self, counts, length_weight):
        """Term counts of one field, divided by how long the field is beside the others."""
        sizes = np.array([sum(count.values()) for count in counts], np.float32)
        mean = sizes.mean() or 1.0
        rows = np.repeat(np.arange(len(counts)), [len(count) for count in counts])
        columns = [self.column[term] for count in counts for term in count]
        values = np.array([n for count in counts for n in count.values()], np.float32)
        values /= (1 - length_weight + length_weight * sizes / mean)[rows]
        return csr_matrix((values, (rows, columns)), shape=(len(counts), len(self.column)))

    def query(self, request):
        return sorted({self.column[term] for term in terms(request) if term in self.column})

    def scores(self, requests):
        """BM25 of every tool for every request, and the most each request could give."""
        queries = [self.query(request) for request in requests]
        rows = np.repeat(np.arange(len(queries)), [len(query) for query in queries])
        chosen = csr_matrix((np.ones(len(rows), np.float32), (rows, [c for query in queries for c in query])), shape=(len(queries), len(self.column)))
        most = np.array([self.idf[query].sum() for query in queries])
        return np.asarray((chosen @ self.matrix).todense()), most
