"""One score out of meaning and words, and a bonus for what answers one step of several.

Fitted on requests for servers that the model has not seen (fit.py), checked on the dev sets. Plain
BM25 grows with the catalog and with how rare the shared words are, so it weighs more exactly where
words decide; stretching it per request loses that.
"""

import numpy as np

LEXICAL = 0.004
STEP_BONUS = 0.1
STEP_SHARPNESS = 20.0

# Places of an answer, half of which are kept for the first few of each step.
PLACES = 20
# Lets the best of a step pass before its second best.
STEP_APART = 1e-4


def fused(cosine, bm25):
    return cosine + LEXICAL * bm25


def with_steps(scores, step_scores):
    """`step_scores` has a row per step of the request, each scored like a request of its own: the
    best tool of a step gains the whole bonus, the others less the further behind they are. The first
    few of each step are among the places in any case."""
    behind = step_scores - step_scores.max(1, keepdims=True)
    rewarded = scores + STEP_BONUS * np.exp(STEP_SHARPNESS * behind).max(0)
    if len(rewarded) < PLACES:
        return rewarded
    bar, kept = np.sort(rewarded)[-PLACES], PLACES // 2 // len(step_scores)
    for step in step_scores:
        first = np.argsort(-step, kind="stable")[:kept]
        rewarded[first] = np.maximum(rewarded[first], bar + STEP_APART * np.arange(kept, 0, -1))
    return rewarded
