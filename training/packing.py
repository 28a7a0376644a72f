"""Helpers of both packs: reads rows of JSON, and tokenizes each distinct text once."""

import json

import numpy as np

QUERY_TOKENS = 64
TEXT_TOKENS = 128


class Texts:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.numbers, self.tokens = {}, []

    def add(self, text, limit=TEXT_TOKENS):
        key = (text, limit)
        if key not in self.numbers:
            self.numbers[key] = len(self.tokens)
            self.tokens.append(np.array(self.tokenizer.encode(text, limit), np.uint16))
        return self.numbers[key]

    def table(self):
        lengths = np.array([len(tokens) for tokens in self.tokens])
        return {"tokens": np.concatenate(self.tokens), "ends": np.cumsum(lengths).astype(np.int32)}


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def padded(lists, width):
    """Returns lists of numbers as one table, padded with -1."""
    table = np.full((len(lists), width), -1, np.int32)
    for row, numbers in enumerate(lists):
        table[row, : len(numbers)] = numbers[:width]
    return table
