"""Packs the input of training for the GPU machine: tokenized requests and tool texts, and base weights.

usage: prepare.py DATA BASES PACK
  DATA   folder with retrieval/{train,dev,catalogs} and real-mcp-catalog/
  BASES  folder with minilm/model.safetensors, gte/model.onnx and vocab.txt
  PACK   output folder for train.npz, eval.npz, held-out.json, minilm.npz and gte.npz

Everything is tokenized here, so training needs neither a tokenizer nor the texts. Training sees no
request for the tools of a dev set, and no tool of the servers behind dev/real_intents. Of the
servers that requests were written for, one in twenty is also held out: its requests choose the
recipe and the weight of words, and calibrate the confidence.
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
import variations
from clauses import MAX_CLAUSES, clauses
from document import collapse, document, server_words, words
from packing import QUERY_TOKENS, Texts, padded, rows
from testsets import CATALOGS, OWN, OWN_AMONG, WRITTEN
from wordpiece import WordPiece

MAX_RELEVANT = 8
COMPOSED = 12000
REFUSING = 5000
MISSPELT = 6000

LABELLED = (
    "intents intents2 metatool tldr_cli ultratool sealtools toollinkos toolbench_stable acebench apibank rotbench nestful bfcl_v4_nonlive"
).split()

PUBLIC = set(LABELLED) - set(WRITTEN)

# The tags of these sets describe how the set was made, not the tool.
MEANINGLESS_TAGS = {"nestful", "tldr_cli"}

# The share of the servers that requests were written for.
HELD_OUT_SHARE = 0.05


def main(data, base_folder, pack):
    pack.mkdir(parents=True, exist_ok=True)
    random.seed(7)
    tokenizer = WordPiece.read(base_folder / "vocab.txt")
    training = Training(Texts(tokenizer))
    collect(data, training)
    training.write(pack / "train.npz")
    held_out = training.held_out(data / "retrieval" / "train")
    held_out[OWN] = own_held_out(data, training)
    (pack / "held-out.json").write_text(json.dumps(held_out))
    write_evaluation(testsets.all_sets(data, held_out), Texts(tokenizer), pack / "eval.npz")
    for name, tensors in (("minilm", bases.minilm(base_folder)), ("gte", bases.gte(base_folder))):
        bases.write(pack / f"{name}.npz", tensors)


def collect(data, training):
    sets = data / "retrieval"
    catalog, hidden = visible_catalog(data), hidden_texts(data)
    for name in WRITTEN:
        training.leave_out(rows(sets / "train" / name / "tools.jsonl"))
    training.leave_out(catalog)
    for name in LABELLED:
        tools = {tool["id"]: tool for tool in rows(sets / "train" / name / "tools.jsonl")}
        if name in MEANINGLESS_TAGS:
            tools = {id: {**tool, "tags": None} for id, tool in tools.items()}
        for query in rows(sets / "train" / name / "queries.jsonl"):
            gold = [tools[id] for id in query["relevant"] if id in tools]
            if not any(text_key(tool) in hidden for tool in gold):
                training.add("several" if query.get("kind") == "several" else name, query["query"], gold)
    for line in own_requests(catalog):
        training.add(line["source"], line["query"], line["gold"])
    training.vary()
    for tool in catalog:
        add_weak(training, tool)


def visible_catalog(data):
    """Returns the tools of all catalogs, each text once, without the servers behind dev/real_intents
    and without listings that have the boilerplate of a web page instead of a description."""
    hidden_servers, hidden = {tool["server"] for tool in behind_real_intents(data)}, hidden_texts(data)
    found = {}
    for folder in [data / "retrieval" / "catalogs" / name for name in CATALOGS] + [data / "real-mcp-catalog"]:
        for tool in rows(folder / "tools.jsonl"):
            description = tool.get("description") or ""
            furniture = "Try in Playground" in description or "by signing in." in description
            if tool["server"] not in hidden_servers and text_key(tool) not in hidden and not furniture:
                found.setdefault((*text_key(tool), server_name(tool)), tool)
    return list(found.values())


def hidden_texts(data):
    return {text_key(tool) for tool in behind_real_intents(data) if tool.get("description")}


def behind_real_intents(data):
    return rows(data / "retrieval" / "dev" / "real_intents" / "tools.jsonl")


def text_key(tool):
    return tool["name"], collapse(tool.get("description") or "")


def own_requests(catalog):
    """Yields the requests written for this model, each with its tools as `gold`. A line only names the
    tools; their texts come from the catalog."""
    tools = {}
    for tool in catalog:
        tools.setdefault((server_name(tool), tool["name"]), tool)
    for path in sorted((pathlib.Path(__file__).parent / "data").glob("*.jsonl")):
        for line in rows(path):
            gold = [tools[server, name] for server, name in line["tools"]]
            yield {**line, "gold": gold, "source": "several" if len(gold) > 1 else path.stem}


def add_weak(training, tool):
    """Adds pairs derived from the tool itself: a sentence and the tool, a sentence and the rest of the
    description, a name and the description."""
    training.register(tool)
    if random.random() < 0.5 and (request := variations.terse_request(tool, server_name(tool))):
        training.add("terse", request, [tool])
    text = collapse(tool.get("description") or "")
    if len(text) < 25:
        return
    first, *others = re.split(r"(?<=[.!?:;])\s", text)
    rest = " ".join(others)
    if len(rest) > 40:
        training.add("weak", first[:300], [tool], document(plain({**tool, "description": rest})))
    if random.random() < 0.5:
        server = " ".join(server_words(server_name(tool)))
        where = f" {random.choice(('in', 'with', 'on', 'using'))} {server}" if server and random.random() < 0.5 else ""
        training.add("weak", " ".join(words(tool["name"])) + where, [tool], document(plain({**tool, "name": ""})))
    for sentence in [first] * (random.random() < 0.4) + others[:3]:
        if 25 <= len(sentence) <= 300:
            training.add("sentence", sentence, [tool])


def own_held_out(data, training):
    """Returns the requests written for this model that training does not see, by kind. The tools of a
    server's forks are right answers as well."""
    ids = {}
    for tool in rows(data / "retrieval" / "train" / OWN_AMONG / "tools.jsonl"):
        ids.setdefault((server_name(tool), tool["name"]), []).append(tool["id"])
    found = {}
    for line in own_requests(visible_catalog(data)):
        relevant = [id for tool in line["tools"] for id in ids.get(tuple(tool), [])]
        if relevant and training.out([training.register(tool) for tool in line["gold"]]):
            found.setdefault(line.get("kind", OWN), []).append({"query": line["query"], "relevant": relevant})
    return found


class Training:
    """Requests, the tools that answer them, and the texts of both."""

    def __init__(self, texts):
        self.texts = texts
        self.tools, self.servers = {}, {}
        self.variants, self.tool_servers, self.unseen = [], [], []
        self.unseen_texts = set()
        self.queries = []

    def leave_out(self, tools):
        """Holds out one server in twenty, and tools of other servers with the same text."""
        self.unseen_texts.update(text_key(tool) for tool in tools if is_unseen(tool))

    def register(self, tool):
        """Returns the number of a tool. Tools with the same text and server name share a number."""
        key = (*text_key(tool), server_name(tool).lower())
        if key not in self.tools:
            self.tools[key] = len(self.variants)
            self.variants.append([self.texts.add(text) for text in spellings(tool)])
            server = tool.get("server")
            self.unseen.append(is_unseen(tool) or text_key(tool) in self.unseen_texts)
            self.tool_servers.append(self.servers.setdefault(server, len(self.servers)) if server else -1)
        return self.tools[key]

    def add(self, source, query, tools, instead=None):
        """Adds a request and the tools that answer it. `instead` replaces the tool's own text."""
        query = collapse(query)[:1000]
        if not tools or not query:
            return
        relevant = list(dict.fromkeys(self.register(tool) for tool in tools))[:MAX_RELEVANT]
        text = -1 if instead is None else self.texts.add(instead)
        self.queries.append((source, query, relevant, text))

    def vary(self):
        """Adds variations of the written requests. Held-out and other requests are never mixed."""
        written = [(query, tools) for source, query, tools, _ in self.queries if source in ("intents", "intents2", "requests", "everyday")]
        for single in ([it for it in written if self.out(it[1]) == side] for side in (False, True)):
            share = len(single) / len(written)
            self.compose(single, int(COMPOSED * share))
            self.refuse(single, int(REFUSING * share))
            for query, tools in random.sample(single, int(MISSPELT * share)):
                self.queries.append(("misspelt", variations.misspell(query), tools, -1))

    def compose(self, single, count):
        """Combines single requests into multi-step ones, half of them within one server."""
        at = self.by_server(single)
        for _ in range(count):
            steps = random.choice((2, 2, 2, 3, 3, 4))
            first = random.choice(single)
            near = at[self.tool_servers[first[1][0]]]
            pool = near if random.random() < 0.5 and len(near) >= 2 * steps else single
            chosen = [first] + random.sample(pool, steps - 1)
            relevant = list(dict.fromkeys(tool for step in chosen for tool in step[1][:3]))[:MAX_RELEVANT]
            self.queries.append(("composed", variations.join_steps([step[0] for step in chosen]), relevant, -1))

    def refuse(self, single, count):
        """Adds requests that exclude another tool of the same server."""
        at = self.by_server([it for it in single if variations.is_command(it[0])])
        servers = [near for near in at.values() if len({tools[0] for _, tools in near}) > 1]
        for near in random.choices(servers, [len(near) for near in servers], k=count):
            (wanted, tools), (refused, others) = random.sample(near, 2)
            if not set(tools) & set(others):
                self.queries.append(("refusing", variations.add_exclusion(wanted, refused), tools, -1))

    def by_server(self, requests):
        found = {}
        for query, tools in requests:
            found.setdefault(self.tool_servers[tools[0]], []).append((query, tools))
        return found

    def write(self, path):
        names = sorted({source for source, *_ in self.queries})
        table = {
            "sources": np.array(names),
            "source": np.array([names.index(source) for source, *_ in self.queries], np.uint8),
            "query": np.array([self.texts.add(query, QUERY_TOKENS) for _, query, _, _ in self.queries], np.int32),
            "relevant": padded([tools for _, _, tools, _ in self.queries], MAX_RELEVANT),
            "instead": np.array([text for *_, text in self.queries], np.int32),
            "held_out": np.array([source not in PUBLIC and self.out(tools) for source, _, tools, _ in self.queries]),
            "variants": np.array(self.variants, np.int32),
            "server": np.array(self.tool_servers, np.int32),
            "unseen": np.array(self.unseen),
        }
        np.savez_compressed(path, **table, **self.texts.table())
        for name in names:
            print(f"{name:18s} {(table['source'] == names.index(name)).sum():6d} requests")
        print(f"{len(self.variants)} tools, {len(self.texts.tokens)} texts, {table['held_out'].sum()} requests held out")

    def held_out(self, folder):
        """Returns the ids of the written requests that training does not see, by set and kind."""
        found = {}
        for name in WRITTEN:
            numbers = {tool["id"]: self.register(tool) for tool in rows(folder / name / "tools.jsonl")}
            for query in rows(folder / name / "queries.jsonl"):
                if self.out([numbers[id] for id in query["relevant"] if id in numbers]):
                    found.setdefault(name, {}).setdefault(query.get("kind", name), []).append(query["id"])
        return found

    def out(self, tools):
        """True if one of the tools is held out. Servers are held out with their forks, so that training
        sees nothing about the tool."""
        return any(self.unseen[tool] for tool in tools)


def write_evaluation(sets, texts, path):
    """Writes every test set as numbers. A corpus that is used twice is stored once."""
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
    """Returns three texts of one tool: as deployed, with declared tags, and with little known about it."""
    bare = {key: tool.get(key) for key in ("name", "description")}
    noisy = {**tool, "tags": None} if tool.get("server") != server_name(tool) else bare
    return document(plain(tool)), document(declared(tool)), document(noisy)


def plain(tool):
    return {**tool, "server": server_name(tool), "tags": None}


def declared(tool):
    return {**tool, "server": server_name(tool)}


def server_name(tool):
    """Returns the server's own name. Crawled listings add a number and the owner: `cf_12.@owner_name` -> name."""
    server = re.sub(r"^[a-z]{2}_\d+\.", "", tool.get("server") or "")
    return re.sub(r"^@[^_/]+[_/]", "", server)


def is_unseen(tool):
    """Decides by the server's name, so that a server and its forks are treated alike."""
    return share(f"server {server_name(tool).lower()}") < HELD_OUT_SHARE


def share(key):
    """Returns a fixed number in 0..1 for a key."""
    return zlib.crc32(key.encode()) / 2**32


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
