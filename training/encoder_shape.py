"""What training, export and the plain reference must agree on."""

HEADS = 12
NORM_EPSILON = 1e-12
MAX_TOKENS = 128
