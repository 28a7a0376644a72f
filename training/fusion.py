"""Combines meaning and words into one score, with a bonus for tools that answer one of several steps.

Fitted on requests for servers that the model has not seen (fit.py), and checked on the dev sets.
Plain BM25 grows with the catalog and with the rarity of the shared words, so it weighs most when
words are decisive. Rescaling it per request would lose that.
"""

import numpy as np

LEXICAL = 0.004
STEP_BONUS = 0.1
STEP_SHARPNESS = 20.0

# Slots of an answer. Half of them are reserved for the top tools of the steps.
SLOTS = 20
# Ranks the best tool of a step before its second best.
STEP_APART = 1e-4


def fused(cosine, bm25):
    return cosine + LEXICAL * bm25


def with_steps(scores, step_scores):
    """Adds the step bonus. `step_scores` has a row per step of the request, each scored like a request
    of its own. The best tool of a step gets the full bonus, and tools further behind get less. The top
    tools of each step always get a slot."""
    behind = step_scores - step_scores.max(1, keepdims=True)
    rewarded = scores + STEP_BONUS * np.exp(STEP_SHARPNESS * behind).max(0)
    if len(rewarded) < SLOTS:
        return rewarded
    bar, kept = np.sort(rewarded)[-SLOTS], SLOTS // 2 // len(step_scores)
    for step in step_scores:
        first = np.argsort(-step, kind="stable")[:kept]
        rewarded[first] = np.maximum(rewarded[first], bar + STEP_APART * np.arange(kept, 0, -1))
    return rewarded
