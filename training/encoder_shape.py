"""Constants on which training, export and reference.py must agree."""

HEADS = 12
NORM_EPSILON = 1e-12
MAX_TOKENS = 128
