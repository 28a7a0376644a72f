"""Writes the model file that ships: the trained student in int8, with its vocabulary.

usage: quantize.py RUN VOCABULARY FILE
  RUN   folder with student-words.npz and student-layers.npz, as written by train.py

One safetensors file. Matrices are int8 under their name with an f32 step per row under
`{name} scale`; norms and biases are f32; `vocabulary` is the text of vocab.txt.
"""

import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

from encoder_shape import HEADS


def main(run, vocabulary, file):
    tensors = {**np.load(run / "student-words.npz"), **np.load(run / "student-layers.npz")}
    tensors = {name: np.ascontiguousarray(tensor, tensor.dtype if tensor.dtype == np.int8 else np.float32) for name, tensor in tensors.items()}
    tensors["vocabulary"] = np.frombuffer(vocabulary.read_bytes(), np.uint8)
    save_file(tensors, file, metadata={"format": "kitbag-embedder-1", "heads": str(HEADS)})
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, {len(tensors)} tensors")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
