"""Requests made out of written ones and out of names: several in one, one refused beside one
wanted, misspelt ones, and the two or three words that a hurried person types."""

import random

from clauses import VERBS
from document import action, provider_words, words

# Of this many letters a word is long enough to be recognised with one of them wrong.
MISSPELT_FROM = 5


def several(steps):
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


def refusing(wanted, refused):
    """A request that names what is not wanted as well; both begin with a verb."""
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
    """Whether a request is short and begins with a verb."""
    parts = request.split()
    return 2 <= len(parts) <= 14 and parts[0].lower() in VERBS


def misspelt(request):
    """A request with a slip of the finger in one or two of its longer words."""
    parts = request.lower().split()
    long = [at for at, word in enumerate(parts) if len(word) >= MISSPELT_FROM and word.isalpha()]
    for at in random.sample(long, min(len(long), random.choice((1, 1, 2)))):
        parts[at] = slip(parts[at])
    return " ".join(parts)


def slip(word):
    at = random.randrange(1, len(word) - 1)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return random.choice((swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]))


def terse(tool, server):
    """The object first, the verb last or left out where it only reads; nothing if the name is
    not of that form."""
    name = words(tool["name"])
    verb, thing = [word for word in name if word in VERBS], [word for word in name if word not in VERBS]
    if len(verb) != 1 or not 1 <= len(thing) <= 3:
        return None
    provider = provider_words(server)[:2] if random.random() < 0.6 else []
    verb = [] if action(tool) in ("read", "search") and random.random() < 0.7 else verb
    thing = provider + thing if random.random() < 0.7 else thing + provider
    return " ".join(dict.fromkeys(thing + verb))


def lowered(step):
    return step[0].lower() + step[1:].rstrip(".?!")
