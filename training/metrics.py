"""Recall, hits and nDCG of ranked lists."""

import numpy as np


def measure(ranked, relevant):
    """Takes the best tools for each request in `ranked`, and the right ones, padded with -1, in `relevant`."""
    right = (ranked[:, :, None] == relevant[:, None, :]).any(2)
    count = (relevant >= 0).sum(1)
    discount = 1 / np.log2(np.arange(10) + 2)
    ideal = np.cumsum(discount)[np.minimum(count, 10) - 1]
    gain = (right[:, :10] * discount[: right[:, :10].shape[1]]).sum(1)
    recall = {f"r{k}": float((right[:, :k].sum(1) / count).mean()) for k in (1, 3, 5, 10, 20)}
    return {"requests": len(relevant), **recall, "hit3": float(right[:, :3].any(1).mean()), "ndcg10": float((gain / ideal).mean())}


DEV = "azure_mcp pagerduty_mcp toolalpaca_eval workbench tooltalk real_intents".split()
SHOWN = "r1 r5 r20 hit3 ndcg10".split()


def summary(results):
    """Formats one line per set, then the means over the dev sets and over the unseen servers."""
    lines = [line(f"{key} ({row['tools']})", row) for key, row in results.items()]
    for name, keys in (
        ("mean of dev", [f"{name} @ {name}" for name in DEV]),
        ("mean of unseen servers", [key for key in results if key.startswith("unseen-")]),
        ("azure + pagerduty @ all", ["azure_mcp @ all", "pagerduty_mcp @ all"]),
    ):
        rows = [results[key] for key in keys if key in results]
        if rows:
            lines.append(line(name, {metric: np.mean([row[metric] for row in rows]) for metric in SHOWN}))
    return "\n".join(lines)


def line(name, row):
    return f"  {name:38s} " + " ".join(f"{metric} {row[metric]:.3f}" for metric in SHOWN)
