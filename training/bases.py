"""Reads the published encoders that training starts from, with uniform tensor names.

A tensor is named `word`, `position`, `norm.weight`, `0.query.weight`, `0.query.bias`,
`0.attention_norm.weight`, … `5.output.bias`: embeddings first, then layer by layer.
"""

import numpy as np

POSITIONS = 128

LAYER = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "merge",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "output",
    "output.LayerNorm": "output_norm",
}


def minilm(folder):
    """all-MiniLM-L6-v2 from its safetensors file."""
    from safetensors.numpy import load_file

    return renamed(load_file(folder / "minilm" / "model.safetensors"))


def gte(folder):
    """gte-small from its ONNX export, where only the node that uses a matrix has its name."""
    import onnx

    graph = onnx.load(folder / "gte" / "model.onnx").graph
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".") + ".weight"
            tensors[name] = tensors[node.input[1]].T
    return renamed(tensors)


def renamed(published):
    """The tensors under our names. The token type, which is always zero, is added to the positions."""
    first = "embeddings."
    kind = published[first + "token_type_embeddings.weight"][0]
    tensors = {
        "word": published[first + "word_embeddings.weight"],
        "position": published[first + "position_embeddings.weight"][:POSITIONS] + kind,
        "norm.weight": published[first + "LayerNorm.weight"],
        "norm.bias": published[first + "LayerNorm.bias"],
    }
    layers = 1 + max(int(name.split(".")[2]) for name in published if name.startswith("encoder.layer."))
    for layer in range(layers):
        for theirs, ours in LAYER.items():
            for part in ("weight", "bias"):
                tensors[f"{layer}.{ours}.{part}"] = published[f"encoder.layer.{layer}.{theirs}.{part}"]
    return {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in tensors.items()}


def write(path, tensors):
    """Writes matrices as int8 with a scale per row: small enough to copy, exact enough to start from."""
    table = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 1:
            table[name] = tensor
            continue
        scale = np.abs(tensor).max(1, keepdims=True) / 127
        table[name] = np.round(tensor / scale).astype(np.int8)
        table[f"{name} scale"] = scale[:, 0]
    np.savez_compressed(path, **table)


def read(path):
    with np.load(path) as table:
        return unpacked(dict(table))


def unpacked(table):
    """Rounded matrices multiplied by their scales; the other tensors unchanged."""
    return {
        name: table[name] * table[f"{name} scale"][:, None] if f"{name} scale" in table else table[name]
        for name in table
        if not name.endswith(" scale")
    }
