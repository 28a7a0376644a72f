"""Splits a request for several steps into its steps."""

import re

from document import ACTION_OF

MAX_CLAUSES = 6
MIN_WORDS = 3

# More verbs that begin requests in the training data and are rarely nouns.
MORE_VERBS = (
    "activate adjust append apply approve archive arrange ask assess attach automate book bring buy choose clean click clone close "
    "commit compare compile complete compress compute conduct confirm connect copy detect determine draw dump duplicate email ensure "
    "estimate evaluate explain extract fill filter finalize fix gather give grab identify improve inform install kill launch leave "
    "locate lock log look manage mark measure merge message monitor notify obtain open optimize order organize paraphrase parse pause "
    "pay pick ping play plot populate post predict prepare print provide provision pull purchase push put rank recommend remind "
    "rephrase reply reschedule research reserve reset resize restart return review rewrite rotate save scan schedule scrape select "
    "sell simplify solve sort split store suggest summarise summarize swap switch tag take tell toggle track transcribe transfer "
    "transform translate turn upgrade use verify visualize watch wipe"
)
VERBS = set(ACTION_OF) | set(MORE_VERBS.split())

CONNECTORS = {"then", "afterwards", "finally", "also"}
OPENINGS = CONNECTORS | {"next", "and", "please", "first", "firstly", "second", "secondly", "third", "lastly", "additionally", "furthermore", "moreover"}
BETWEEN_SENTENCES = re.compile(r"[.?!;]$")
NUMBERED = re.compile(r"^\d+[.)]$")
MARKS = " ,.;:!?"


def clauses(request):
    """Returns the steps of a request as parts of its text; empty if there is only one."""
    steps = []
    for line in request.splitlines():
        words, start = line.split(), 0
        for at in range(1, len(words)):
            if begins(words, at):
                steps.append(words[start:at])
                start = at
        steps.append(words[start:])
    steps = [step for step in map(trimmed, steps) if is_whole(step.split())][:MAX_CLAUSES]
    return steps if len(steps) > 1 else []


def is_whole(words):
    """True for a step rather than a fragment."""
    return len(words) >= MIN_WORDS or len(words) == 2 and words[0].lower() in VERBS


def begins(words, at):
    """True if a step begins at this word, which is not the first."""
    before, word, after = words[at - 1], bare(words[at]), words[at + 1 : at + 2]
    if BETWEEN_SENTENCES.search(before) or NUMBERED.match(words[at]):
        return True
    if word in CONNECTORS or (word == "after" and after and bare(after[0]) == "that"):
        return True
    # `list the users and email them` is two steps, `cats and dogs` one.
    if word == "and":
        return bool(after) and after[0].lower() in VERBS
    return before.endswith(",") and words[at].lower() in VERBS


def trimmed(words):
    while words and (bare(words[0]) in OPENINGS or NUMBERED.match(words[0])):
        words = words[1:]
    if [bare(word) for word in words[:2]] == ["after", "that"]:
        words = words[2:]
    while words and bare(words[-1]) == "and":
        words = words[:-1]
    return " ".join(words).strip(MARKS)


def bare(word):
    return word.strip(MARKS).lower()
