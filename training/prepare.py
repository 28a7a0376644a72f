"""Packs what the GPU machine needs: tokenised requests and tool texts, and the base weights.

usage: prepare.py DATA BASES PACK
  DATA   folder with retrieval/{train,dev,catalogs} and real-mcp-catalog/
  BASES  folder with minilm/model.safetensors, gte/model.onnx and vocab.txt
  PACK   where train.npz, eval.npz, held-out.json, minilm.npz and gte.npz go

Everything is tokenised here, so training needs neither a tokenizer nor the texts. Requests
for the tools of a dev set, and the tools of the servers behind dev/real_intents, stay out of
training altogether.
"""

import json
import pathlib
import random
import re
import sys
import zlib

import numpy as np

import bases
import testsets
from clauses import MAX_CLAUSES, clauses
from document import collapse, document, provider_words, words
from packing import QUERY_TOKENS, Texts, padded, rows
from testsets import CATALOGS, HELD_OUT_SETS
from wordpiece import WordPiece

MAX_RELEVANT = 8
COMPOSED = 9000

LABELLED = (
    "intents metatool tldr_cli ultratool sealtools toollinkos toolbench_stable acebench apibank rotbench nestful bfcl_v4_nonlive"
).split()

# Tags of these sets say how the set was made, not what the tool does.
MEANINGLESS_TAGS = {"nestful", "tldr_cli"}

# Of the servers, left out of a run that is to fit or choose something on unseen requests.
HELD_OUT_SHARE = 0.12


def main(data, base_folder, pack):
    pack.mkdir(parents=True, exist_ok=True)
    random.seed(7)
    tokenizer = WordPiece.read(base_folder / "vocab.txt")
    training = Training(Texts(tokenizer))
    collect(data, training)
    training.write(pack / "train.npz")
    held_out = training.held_out(data / "retrieval" / "train")
    (pack / "held-out.json").write_text(json.dumps(held_out))
    write_evaluation(testsets.every(data, held_out), Texts(tokenizer), pack / "eval.npz")
    for name, tensors in (("minilm", bases.minilm(base_folder)), ("gte", bases.gte(base_folder))):
        bases.write(pack / f"{name}.npz", tensors)


def collect(data, training):
    sets = data / "retrieval"
    catalog = visible_catalog(data)
    for name in LABELLED:
        tools = {tool["id"]: tool for tool in rows(sets / "train" / name / "tools.jsonl")}
        if name in MEANINGLESS_TAGS:
            tools = {id: {**tool, "tags": None} for id, tool in tools.items()}
        for query in rows(sets / "train" / name / "queries.jsonl"):
            gold = [tools[id] for id in query["relevant"] if id in tools]
            training.add(name, query["query"], gold)
    for query, tool in own_requests(catalog):
        training.add("requests", query, [tool])
    training.compose()
    for tool in catalog:
        add_weak(training, tool)


def visible_catalog(data):
    """Tools of all catalogs, each text once, without those of the servers behind dev/real_intents
    and without listings that hold a web page's furniture instead of a description."""
    dev = rows(data / "retrieval" / "dev" / "real_intents" / "tools.jsonl")
    hidden_servers, hidden_texts = {tool["server"] for tool in dev}, {text_key(tool) for tool in dev}
    found = {}
    for folder in [data / "retrieval" / "catalogs" / name for name in CATALOGS] + [data / "real-mcp-catalog"]:
        for tool in rows(folder / "tools.jsonl"):
            description = tool.get("description") or ""
            furniture = "Try in Playground" in description or "by signing in." in description
            if tool["server"] not in hidden_servers and text_key(tool) not in hidden_texts and not furniture:
                found.setdefault((*text_key(tool), server_name(tool)), tool)
    return list(found.values())


def text_key(tool):
    return tool["name"], collapse(tool.get("description") or "")


def own_requests(catalog):
    """Requests written for this model. A line names the tool it asks for; its text stays in
    the catalog it came from."""
    tools = {}
    for tool in catalog:
        tools.setdefault((server_name(tool), tool["name"]), tool)
    for path in sorted((pathlib.Path(__file__).parent / "data").glob("*.jsonl")):
        for line in rows(path):
            yield line["query"], tools[line["server"], line["name"]]


def add_weak(training, tool):
    """Pairs nobody wrote: a sentence and its tool, a sentence and the rest, a name and what it
    describes."""
    training.register(tool)
    text = collapse(tool.get("description") or "")
    if len(text) < 25:
        return
    first, *others = re.split(r"(?<=[.!?:;])\s", text)
    rest = " ".join(others)
    if len(rest) > 40:
        training.add("weak", first[:300], [tool], document(plain({**tool, "description": rest})))
    if random.random() < 0.5:
        provider = " ".join(provider_words(server_name(tool)))
        where = f" {random.choice(('in', 'with', 'on', 'using'))} {provider}" if provider and random.random() < 0.5 else ""
        training.add("weak", " ".join(words(tool["name"])) + where, [tool], document(plain({**tool, "name": ""})))
    for sentence in [first] * (random.random() < 0.4) + others[:3]:
        if 25 <= len(sentence) <= 300:
            training.add("sentence", sentence, [tool])


class Training:
    """Requests, the tools they ask for, and the texts of both."""

    def __init__(self, texts):
        self.texts = texts
        self.tools, self.servers = {}, {}
        self.variants, self.tool_servers = [], []
        self.queries = []

    def register(self, tool):
        """The number of a tool. Tools that say the same are the same."""
        key = (*text_key(tool), server_name(tool).lower())
        if key not in self.tools:
            self.tools[key] = len(self.variants)
            self.variants.append([self.texts.add(text) for text in spellings(tool)])
            server = tool.get("server")
            self.tool_servers.append(self.servers.setdefault(server, len(self.servers)) if server else -1)
        return self.tools[key]

    def add(self, source, query, tools, instead=None):
        """A request and the tools that answer it; `instead` replaces the tool's own text."""
        query = collapse(query)[:1000]
        if not tools or not query:
            return
        relevant = list(dict.fromkeys(self.register(tool) for tool in tools))[:MAX_RELEVANT]
        text = -1 if instead is None else self.texts.add(instead)
        self.queries.append((source, query, relevant, text))

    def compose(self):
        """Multi-step requests out of single ones, half of them within one server."""
        single = [(query, relevant) for source, query, relevant, _ in self.queries if source in ("intents", "requests")]
        at = {}
        for query, relevant in single:
            at.setdefault(self.tool_servers[relevant[0]], []).append((query, relevant))
        for _ in range(COMPOSED):
            count = random.choice((2, 2, 2, 3, 3, 4))
            first = random.choice(single)
            near = at[self.tool_servers[first[1][0]]]
            pool = near if random.random() < 0.5 and len(near) >= 2 * count else single
            steps = [first] + random.sample(pool, count - 1)
            relevant = list(dict.fromkeys(tool for step in steps for tool in step[1][:3]))[:MAX_RELEVANT]
            self.queries.append(("composed", sentence([step[0] for step in steps]), relevant, -1))

    def write(self, path):
        names = sorted({source for source, *_ in self.queries})
        table = {
            "sources": np.array(names),
            "source": np.array([names.index(source) for source, *_ in self.queries], np.uint8),
            "query": np.array([self.texts.add(query, QUERY_TOKENS) for _, query, _, _ in self.queries], np.int32),
            "relevant": padded([tools for _, _, tools, _ in self.queries], MAX_RELEVANT),
            "instead": np.array([text for *_, text in self.queries], np.int32),
            "held_out": np.array([self.out(source, tools) for source, _, tools, _ in self.queries]),
            "variants": np.array(self.variants, np.int32),
            "server": np.array(self.tool_servers, np.int32),
        }
        np.savez_compressed(path, **table, **self.texts.table())
        for name in names:
            print(f"{name:18s} {(table['source'] == names.index(name)).sum():6d} requests")
        print(f"{len(self.variants)} tools, {len(self.texts.tokens)} texts, {table['held_out'].sum()} requests can be held out")

    def held_out(self, folder):
        """The ids of the requests a run can leave out, by set."""
        found = {}
        for name in ["intents"] + HELD_OUT_SETS:
            numbers = {tool["id"]: self.register(tool) for tool in rows(folder / name / "tools.jsonl")}
            queries = rows(folder / name / "queries.jsonl")
            found[name] = [q["id"] for q in queries if self.out(name, [numbers[id] for id in q["relevant"] if id in numbers])]
        return found

    def out(self, source, tools):
        """Whole servers and whole sets, so that nothing about the tool was seen either."""
        if source in HELD_OUT_SETS:
            return True
        if source in LABELLED and source != "intents":
            return False
        servers = {self.tool_servers[tool] for tool in tools} - {-1}
        return any(share(f"server {server}") < HELD_OUT_SHARE for server in servers)


def write_evaluation(sets, texts, path):
    """Every test set as numbers; a corpus used twice is stored once."""
    table = {}
    for name, tools, queries in sets:
        index = {tool["id"]: row for row, tool in enumerate(tools)}
        queries = [q for q in queries if any(id in index for id in q["relevant"])]
        corpus = name.split(" @ ")[1]
        table[f"corpus {corpus}"] = np.array([texts.add(document(tool)) for tool in tools], np.int32)
        table[f"query {name}"] = np.array([texts.add(collapse(q["query"])) for q in queries], np.int32)
        table[f"relevant {name}"] = padded([[index[id] for id in q["relevant"] if id in index] for q in queries], 2 * MAX_RELEVANT)
        table[f"clauses {name}"] = padded([[texts.add(step) for step in clauses(collapse(q["query"]))] for q in queries], MAX_CLAUSES)
        print(f"{name:32s} {len(tools):6d} tools {len(queries):6d} requests")
    np.savez_compressed(path, **table, **texts.table())


def spellings(tool):
    """Three texts of one tool: as deployed, with what was declared, and with little known."""
    bare = {key: tool.get(key) for key in ("name", "description")}
    noisy = {**tool, "tags": None} if tool.get("server") != server_name(tool) else bare
    return document(plain(tool)), document(declared(tool)), document(noisy)


def plain(tool):
    return {**tool, "server": server_name(tool), "tags": None}


def declared(tool):
    return {**tool, "server": server_name(tool)}


def server_name(tool):
    """Crawled listings number their servers and fold the owner in: `cf_12.@owner_name` -> name."""
    server = re.sub(r"^[a-z]{2}_\d+\.", "", tool.get("server") or "")
    return re.sub(r"^@[^_/]+[_/]", "", server)


def sentence(steps):
    """One request out of several."""
    style = random.random()
    if style < 0.35:
        text = steps[0].rstrip(".?!")
        for step in steps[1:]:
            text += random.choice((", then ", " and then ", " and ", ", and also ", "; afterwards ", ", next ")) + lowered(step)
        return text
    if style < 0.75:
        return " ".join(random.choice(("", "", "Then ", "Also, ", "After that, ")) + step.rstrip(".") + "." for step in steps)
    return "; ".join(steps) if style < 0.9 else " ".join(f"{n}. {step}" for n, step in enumerate(steps, 1))


def lowered(step):
    return step[0].lower() + step[1:].rstrip(".")


def share(key):
    """A fixed number in 0..1 for a key."""
    return zlib.crc32(key.encode()) / 2**32


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
