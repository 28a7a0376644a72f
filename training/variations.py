"""Derives requests from written ones and from names: several in one, with an exclusion, misspelt, and
reduced to the two or three words that a person in a hurry types."""

import random

from clauses import VERBS
from document import action, server_words, words

# A word with this many letters can be recognized with one of them wrong.
MISSPELT_FROM = 5


def join_steps(steps):
    """Returns one request with all these steps."""
    style = random.random()
    if style < 0.35:
        text = steps[0].rstrip(".?!")
        for step in steps[1:]:
            text += random.choice((", then ", " and then ", " and ", ", and also ", "; afterwards ", ", next ")) + lowered(step)
        return text
    if style < 0.75:
        return " ".join(random.choice(("", "", "Then ", "Also, ", "After that, ")) + step.rstrip(".") + "." for step in steps)
    return "; ".join(steps) if style < 0.9 else " ".join(f"{n}. {step}" for n, step in enumerate(steps, 1))


def add_exclusion(wanted, refused):
    """Returns a request that also says what not to do. Both parts begin with a verb."""
    wanted, refused = wanted.rstrip(".?!"), lowered(refused)
    return random.choice(
        (
            f"don't {refused}, just {lowered(wanted)}",
            f"{wanted}, but don't {refused}",
            f"{wanted}. No need to {refused}.",
            f"not to {refused} but to {lowered(wanted)}",
            f"I don't want to {refused}, only {lowered(wanted)}",
        )
    )


def is_command(request):
    """True if a request is short and begins with a verb."""
    parts = request.split()
    return 2 <= len(parts) <= 14 and parts[0].lower() in VERBS


def misspell(request):
    """Returns the request with a typing error in one or two of its longer words."""
    parts = request.lower().split()
    long = [at for at, word in enumerate(parts) if len(word) >= MISSPELT_FROM and word.isalpha()]
    for at in random.sample(long, min(len(long), random.choice((1, 1, 2)))):
        parts[at] = add_typo(parts[at])
    return " ".join(parts)


def add_typo(word):
    at = random.randrange(1, len(word) - 1)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return random.choice((swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]))


def terse_request(tool, server):
    """Returns the object, and then the verb unless it only reads; `None` if the name has another
    form."""
    name = words(tool["name"])
    verb, thing = [word for word in name if word in VERBS], [word for word in name if word not in VERBS]
    if len(verb) != 1 or not 1 <= len(thing) <= 3:
        return None
    server = server_words(server)[:2] if random.random() < 0.6 else []
    verb = [] if action(tool) in ("read", "search") and random.random() < 0.7 else verb
    thing = server + thing if random.random() < 0.7 else thing + server
    return " ".join(dict.fromkeys(thing + verb))


def lowered(step):
    return step[0].lower() + step[1:].rstrip(".?!")
