"""The text that is embedded for a tool.

`{tool_name} | {description} | scopes: {scopes} | tags: {tags}`, at most `TEXT_BYTES` long.
Scopes and tags are used as declared, else derived from the server, the name and the parameters,
so that the text has the words that requests mention. crates/relevance/src/tool_text.rs must
produce the same text; fixtures/documents.jsonl tests it.
"""

TEXT_BYTES = 448
NAME_BYTES = 96
SCOPES_BYTES = 64
TAGS_BYTES = 128
MAX_PARAMETERS = 8
MAX_SERVER_WORDS = 6

# Words that do not distinguish servers.
SERVER_NOISE = {"mcp", "server", "servers"}

ACTIONS = {
    "read": "get list show read fetch view describe retrieve check count inspect download export display",
    "search": "search find query lookup browse discover explore",
    "create": "create add insert new make generate build register import upload write draft start",
    "update": "update edit set modify patch change rename move assign configure enable disable replace",
    "delete": "delete remove drop clear destroy cancel purge revoke unassign stop",
    "send": "send publish reply forward notify share invite submit",
    "run": "run execute call invoke trigger deploy analyze validate convert calculate",
}
ACTION_OF = {verb: action for action, verbs in ACTIONS.items() for verb in verbs.split()}


def document(tool):
    """Returns the text for a tool, a dict with `name` and, if known, `description`, `server`,
    `group`, `schema`, `scopes` and `tags`."""
    name = cut(collapse(tool["name"]), NAME_BYTES)
    description = collapse(tool.get("description") or "")
    scopes = joined(tool.get("scopes") or derived_scopes(tool), SCOPES_BYTES)
    tags = joined(tool.get("tags") or derived_tags(tool), TAGS_BYTES)
    tail = f" | scopes: {scopes} | tags: {tags}"
    room = TEXT_BYTES - size(name) - size(" | ") - size(tail)
    return f"{name} | {cut(description, room)}{tail}"


def derived_scopes(tool):
    """Returns the server, the group and the kind of action."""
    server = " ".join(server_words(tool.get("server") or ""))
    group = " ".join(words(tool.get("group") or ""))
    return [scope for scope in (server, group, action(tool)) if scope]


def derived_tags(tool):
    """Returns the name as words, then the parameters that add a word to it."""
    name = words(tool["name"])
    tags, seen = [" ".join(name)], set(name)
    for parameter in parameters(tool.get("schema"))[:MAX_PARAMETERS]:
        parts = words(parameter)
        if not seen.issuperset(parts):
            tags.append(" ".join(parts))
            seen.update(parts)
    return [tag for tag in tags if tag]


def server_words(server):
    """`@acme/weather-mcp-server` -> weather."""
    kept = meaningful(words(server.rsplit("/", 1)[-1])) or meaningful(words(server)) or words(server)
    return list(dict.fromkeys(kept))[:MAX_SERVER_WORDS]


def meaningful(server):
    return [word for word in server if word not in SERVER_NOISE and not word.isdigit()]


def action(tool):
    """Returns the action of the first verb in the name, else of the description's first word (`Lists` -> list)."""
    for word in words(tool["name"]):
        if word in ACTION_OF:
            return ACTION_OF[word]
    first = words(collapse(tool.get("description") or "").split(" ", 1)[0])
    verb = first[0] if first else ""
    return ACTION_OF.get(verb) or ACTION_OF.get(verb.removesuffix("s")) or ""


def parameters(schema):
    """Returns the parameter names, required ones first. Takes JSON Schema and the other forms in the data sets."""
    if isinstance(schema, list):
        return [entry["name"] for entry in schema if isinstance(entry, dict) and isinstance(entry.get("name"), str)]
    if not isinstance(schema, dict):
        return []
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        first = [name for name in required if name in properties] if isinstance(required, list) else []
        return list(dict.fromkeys(first + list(properties)))
    if isinstance(required, list):
        return parameters(required) + parameters(schema.get("optional"))
    return [name for name, value in schema.items() if isinstance(value, dict)]


def words(identifier):
    """`createIssue_v2` -> create issue v2, `HTTPServer` -> http server."""
    found, current = [], ""
    for index, char in enumerate(identifier):
        if not char.isalnum():
            found, current = found + [current], ""
            continue
        before = identifier[index - 1] if current else ""
        after = identifier[index + 1 : index + 2]
        if char.isupper() and before and (not before.isupper() or after.islower()):
            found, current = found + [current], ""
        current += char
    return [word.lower() for word in found + [current] if word]


def joined(items, limit):
    """Joins as many whole items as fit. A first item that is too long is truncated."""
    text = ""
    for item in map(collapse, items):
        longer = f"{text}, {item}" if text else cut(item, limit)
        if size(longer) > limit:
            break
        text = longer
    return text


def collapse(text):
    return " ".join(text.split())


def cut(text, limit):
    """Returns the text, or its longest prefix of whole words within `limit` bytes. If the first word
    is longer, it is cut at a character."""
    if size(text) <= limit:
        return text
    kept = text.encode()[: max(limit, 0)].decode(errors="ignore")
    at_word_end = text[len(kept)] == " "
    return kept if at_word_end or " " not in kept else kept.rsplit(" ", 1)[0]


def size(text):
    return len(text.encode())
