"""Fits the probability that the first tool is right, and that one of the first five is.

usage: confidence.py DATA PACK VECTORS
  VECTORS  the output folder of a training run

Uses the requests for servers that training left out. Each is searched in catalogs of several
sizes: unchanged, without the right tools and their equivalents, and without the whole server.
Prints the weights for crates/relevance/src/confidence.rs, and their quality on servers that the
fit did not use.
"""

import json
import pathlib
import sys

import numpy as np
from scipy.optimize import minimize

from document import collapse
from evaluate import Vectors
from fusion import fused
from lexical import Lexicon
from packing import rows
from testsets import WRITTEN

SIZES = 30, 100, 300, 1000, 3000
# Tools with this similarity do the same, whatever their servers.
EQUAL = 0.85
SHOWN = 5
WHOLE, WITHOUT_TOOL, WITHOUT_SERVER = range(3)
# Half of the requests are possible.
WEIGHT = {WHOLE: 0.5, WITHOUT_TOOL: 0.25, WITHOUT_SERVER: 0.25}
FALSE_ALARMS = 0.05
FEATURES = "score", "lead over the second", "lead over the fifth", "size"


def main(data, pack, vectors):
    samples = Samples()
    table = dict(np.load(pack / "eval.npz"))
    vectors = Vectors(table, vectors)
    held_out = json.loads((pack / "held-out.json").read_text())
    for corpus in WRITTEN:
        folder = data / "retrieval" / "train" / corpus
        written = Written(corpus, held_out[corpus], rows(folder / "tools.jsonl"), rows(folder / "queries.jsonl"), table, vectors)
        for size in SIZES:
            for catalog in written.catalogs(size):
                written.add_samples(catalog, samples)
    samples = samples.arrays()
    for number, name in enumerate(("first", "any")):
        fit_and_print(name, samples, samples["right"][:, number].astype(float))


class Written:
    """The requests of one set for servers that training left out."""

    def __init__(self, corpus, kinds, tools, queries, table, vectors):
        self.tools = tools
        self.server = np.array([str(tool.get("server")) for tool in tools])
        self.tool_vectors = vectors[table[f"corpus {corpus}"]]
        known = {tool["id"]: number for number, tool in enumerate(tools)}
        self.requests = []
        for kind, ids in kinds.items():
            chosen = [query for query in queries if query["id"] in set(ids) and known.keys() & set(query["relevant"])]
            numbers = vectors[table[f"query unseen-{kind} @ {corpus}"]]
            for query, vector in zip(chosen, numbers, strict=True):
                right = [known[name] for name in query["relevant"] if name in known]
                self.requests.append((collapse(query["query"]), vector, right))

    def catalogs(self, size):
        """Yields catalogs that together contain every requested server. Half of each is other servers."""
        chance = np.random.default_rng(size)
        asked = {self.server[tool] for _, _, right in self.requests for tool in right}
        others = [server for server in np.unique(self.server) if server not in asked]
        catalog = []
        for server in chance.permutation(sorted(asked)):
            catalog.extend(np.flatnonzero(self.server == server))
            if len(catalog) >= size / 2:
                yield self.filled(catalog, others, size, chance)
                catalog = []
        yield self.filled(catalog, others, size, chance)

    def filled(self, catalog, others, size, chance):
        for server in chance.permutation(others):
            if len(catalog) >= size:
                break
            catalog.extend(np.flatnonzero(self.server == server))
        return np.array(sorted(catalog), int)

    def add_samples(self, catalog, samples):
        here = set(catalog.tolist())
        asked = [request for request in self.requests if here.issuperset(request[2])]
        if not asked:
            return
        vectors = self.tool_vectors[catalog]
        words = Lexicon([self.tools[tool] for tool in catalog]).scores([text for text, _, _ in asked])
        for (_, vector, right), words_row in zip(asked, words, strict=True):
            equal = (vectors @ self.tool_vectors[right].T).max(1) > EQUAL
            same_server = np.isin(self.server[catalog], self.server[right])
            score = fused(vectors @ vector, words_row)
            is_right = np.isin(catalog, right) | equal
            for kind, out in ((WHOLE, np.zeros_like(equal)), (WITHOUT_TOOL, is_right), (WITHOUT_SERVER, is_right | same_server)):
                if (~out).sum() > SHOWN:
                    samples.add(kind, self.server[right[0]], score[~out], is_right[~out], len(catalog))


class Samples:
    def __init__(self):
        self.rows = {"kind": [], "server": [], "features": [], "right": []}

    def add(self, kind, server, score, is_right, size):
        first = np.argsort(-score, kind="stable")[:SHOWN]
        best = score[first]
        features = [best[0], best[0] - best[1], best[0] - best[-1], np.log(size)]
        row = {"kind": kind, "server": server, "features": features, "right": [is_right[first[0]], is_right[first].any()]}
        for name, value in row.items():
            self.rows[name].append(value)

    def arrays(self):
        return {name: np.array(values) for name, values in self.rows.items()}


def fit_and_print(name, samples, right):
    weight = np.array([WEIGHT[kind] / (samples["kind"] == kind).sum() for kind in samples["kind"]])
    servers = np.random.default_rng(0).permutation(np.unique(samples["server"]))
    tested = np.isin(samples["server"], servers[: len(servers) // 3])
    fitted = logistic(samples["features"][~tested], right[~tested], weight[~tested])
    chance = probability(fitted, samples["features"])
    error = calibration_error(chance[tested], right[tested], weight[tested])
    print(f"{name}: calibration error {error:.3f} on {tested.sum()} samples of servers that the fit did not use")
    answered = tested & (samples["kind"] == WHOLE) & samples["right"][:, 1]
    bar = np.quantile(chance[answered], FALSE_ALARMS)
    for kind, what in ((WITHOUT_TOOL, "without the tool"), (WITHOUT_SERVER, "without the server")):
        print(f"  {what}: {(chance[tested & (samples['kind'] == kind)] < bar).mean():.3f} recognized below {bar:.3f}")
    final = logistic(samples["features"], right, weight)
    print("  constant", f"{final[-1]:.3f}", *(f"{part} {value:.3f}" for part, value in zip(FEATURES, final, strict=False)))


def logistic(features, right, weight):
    """Returns the weights of the features, and a constant."""
    middle, spread = features.mean(0), features.std(0)
    scaled = np.c_[(features - middle) / spread, np.ones(len(features))]
    weight = weight / weight.sum()

    def loss(values):
        z = scaled @ values
        slope = scaled.T @ (weight * (1 / (1 + np.exp(-z)) - right))
        return (weight * (np.logaddexp(0, z) - right * z)).sum(), slope

    found = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B").x
    plain = found[:-1] / spread
    return np.append(plain, found[-1] - plain @ middle)


def probability(values, features):
    return 1 / (1 + np.exp(-(features @ values[:-1] + values[-1])))


def calibration_error(chance, right, weight):
    """Returns the mean distance between probability and outcome over ten bins."""
    bins = np.minimum((chance * 10).astype(int), 9)
    weight = weight / weight.sum()
    gaps = [abs((weight * (chance - right))[bins == number].sum()) for number in range(10)]
    return sum(gaps)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
