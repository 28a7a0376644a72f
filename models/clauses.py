"""Splits a request for several steps into its steps."""

import re

from document import ACTION_OF

MAX_CLAUSES = 6
MIN_WORDS = 3

MORE_VERBS = (
    "append ask attach book buy close compare compile confirm email extract give look log mark merge message notify order pay "
    "play plot populate pull put rank remind reply return save schedule sort store summarize tag take tell transcribe transfer "
    "translate turn use verify"
)
VERBS = set(ACTION_OF) | set(MORE_VERBS.split())

SENTENCE_END = re.compile(r"(?<=[.?!;])\s+|\n+|(?:^|\s)\d+[.)]\s+")
CONNECTOR = re.compile(r",?\s+(?:and\s+then|then|and\s+also|after\s+that|afterwards|next|finally|also)\s*,?\s+|;\s*", re.IGNORECASE)
AND = re.compile(r",?\s+and\s+(?=(\w+))", re.IGNORECASE)
OPENING = re.compile(r"^(?:and|then|also|next|finally|afterwards|after that|please|first|secondly)\b[\s,]*", re.IGNORECASE)


def clauses(request):
    """The steps of a request in its own words; empty when there is only one."""
    parts = [part for sentence in SENTENCE_END.split(request) for part in CONNECTOR.split(sentence)]
    parts = [step for part in parts for step in at_verbs(part)]
    steps = [OPENING.sub("", part.strip(" ,.;")) for part in parts]
    steps = [step for step in steps if len(step.split()) >= MIN_WORDS][:MAX_CLAUSES]
    return steps if len(steps) > 1 else []


def at_verbs(part):
    """`list the users and email them` -> two steps; `cats and dogs` stays one."""
    steps, start = [], 0
    for match in AND.finditer(part):
        if match.group(1).lower() in VERBS:
            steps.append(part[start : match.start()])
            start = match.end()
    return steps + [part[start:]]
