"""Turns text into token numbers, with BERT's uncased vocabulary.

A simple version of the Rust tokenizer: clean, lower-case, strip accents, split at white space and
punctuation, then take the longest known piece from the left.
"""

import unicodedata

UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
MAX_WORD_CHARS = 100


class WordPiece:
    def __init__(self, pieces):
        self.numbers = {piece: number for number, piece in enumerate(pieces)}
        self.known = {}

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8") as lines:
            return cls([line.rstrip("\n") for line in lines])

    def encode(self, text, limit):
        """Returns token numbers between the start and end tokens, at most `limit` including both."""
        numbers = [number for word in split(text) for number in self.pieces(word)]
        return [self.numbers[START]] + numbers[: limit - 2] + [self.numbers[END]]

    def pieces(self, word):
        if word not in self.known:
            self.known[word] = self.longest_first(word)
        return self.known[word]

    def longest_first(self, word):
        if len(word) > MAX_WORD_CHARS:
            return [self.numbers[UNKNOWN]]
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None:
                return [self.numbers[UNKNOWN]]
            found.append(self.numbers[prefix + word[start:end]])
            start = end
        return found


def split(text):
    """Returns lower-case words without accents. Every punctuation mark and Chinese character is a word."""
    spaced = "".join(spread(char) for char in text)
    plain = unicodedata.normalize("NFD", spaced.lower())
    plain = "".join(char for char in plain if unicodedata.category(char) != "Mn")
    return "".join(f" {char} " if is_punctuation(char) else char for char in plain).split()


def spread(char):
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if char in "\0\ufffd" or unicodedata.category(char).startswith("C"):
        return ""
    return f" {char} " if is_chinese(char) else char


def is_punctuation(char):
    ascii_mark = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return ascii_mark or unicodedata.category(char).startswith("P")


def is_chinese(char):
    blocks = (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)
    return any(first <= ord(char) <= last for first, last in blocks)
