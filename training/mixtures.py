"""The share of each kind of request in training, and the other mixtures that were tried."""

MIXTURE = {
    "intents": 0.28,
    "intents2": 0.476,
    "several": 0.07,
    "requests": 0.014,
    "everyday": 0.2,
    "composed": 0.06,
    "refusing": 0.02,
    "misspelt": 0.02,
    "terse": 0.02,
    "weak": 0.06,
    "sentence": 0.03,
    "metatool": 0.05,
    "tldr_cli": 0.05,
    "ultratool": 0.04,
    "sealtools": 0.03,
    "toollinkos": 0.03,
    "toolbench_stable": 0.025,
    "bfcl_v4_nonlive": 0.025,
    "acebench": 0.015,
    "apibank": 0.01,
    "nestful": 0.01,
    "rotbench": 0.005,
}

WRITTEN = "intents intents2 several requests".split()
MADE = "composed refusing misspelt terse weak sentence".split()


def scaled(factor, names):
    return {name: share * (factor if name in names else 1) for name, share in MIXTURE.items()}


# A mixture, and the number of requests of one server that are drawn together.
TRIALS = {
    "plain": (MIXTURE, 8),
    "no-variations": (scaled(0, ["refusing", "misspelt", "terse"]), 8),
    "more-written": (scaled(2, WRITTEN), 8),
    "more-made": (scaled(2, MADE), 8),
    "larger-groups": (MIXTURE, 16),
    "no-everyday": (scaled(0, ["everyday"]), 8),
    "more-everyday": (scaled(2, ["everyday"]), 8),
}
