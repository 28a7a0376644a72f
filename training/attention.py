"""Attention within each of several concatenated texts.

The fast kernels only exist for bfloat16 on a GPU, and their names differ between versions of
torch. So the first kernel that agrees with the plain computation is used.
"""

import torch
import torch.nn.functional as F


def attend(query, key, value, packed):
    """Tensors are tokens × heads × width."""
    fast = fastest() if query.is_cuda and query.dtype == torch.bfloat16 else None
    return (fast or padded)(query, key, value, packed)


def padded(query, key, value, packed):
    """The plain computation: one text per row, padded to the longest."""
    rows, heads, width = len(packed.starts) - 1, query.shape[1], query.shape[2]
    spread = torch.zeros(3, rows, packed.longest, heads, width, dtype=query.dtype, device=query.device)
    spread[:, packed.owner, packed.place] = torch.stack([query, key, value])
    present = torch.zeros(rows, packed.longest, dtype=torch.bool, device=query.device)
    present[packed.owner, packed.place] = True
    query, key, value = spread.transpose(2, 3)
    mask = present[:, None, None, :].expand(rows, 1, packed.longest, packed.longest)
    found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return found.transpose(1, 2)[packed.owner, packed.place]


def varlen(query, key, value, packed):
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn(query, key, value, packed.starts, packed.starts, packed.longest, packed.longest)


def flash(query, key, value, packed):
    forward = torch.ops.aten._flash_attention_forward
    return forward(query, key, value, packed.starts, packed.starts, packed.longest, packed.longest, 0.0, False, False)[0]


CHOICE = []


def fastest():
    if not CHOICE:
        CHOICE.append(next((way for way in (varlen, flash) if agrees(way)), None))
        print("attention:", CHOICE[0].__name__ if CHOICE[0] else "padded", flush=True)
    return CHOICE[0]


@torch.enable_grad()
def agrees(way):
    """True if a kernel gives the values and gradients of the plain computation."""
    from encoder import Packed

    lengths = [5, 17, 64, 1]
    owner = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths)).cuda()
    place = torch.cat([torch.arange(length) for length in lengths]).cuda()
    starts = torch.tensor([0, 5, 22, 86, 87], dtype=torch.int32).cuda()
    packed = Packed(owner, place, owner, starts, 64)
    mixed = torch.randn(len(owner), 3, 12, 32, device="cuda", dtype=torch.bfloat16)
    results = []
    for attention in (padded, way):
        given = mixed.clone().requires_grad_()
        try:
            found = attention(*given.unbind(1), packed)
            found.float().square().sum().backward()
        except Exception as problem:
            print(f"attention: {way.__name__} does not work here: {problem}", flush=True)
            return False
        results += [(found.float(), given.grad.float())]
    return all(torch.allclose(plain, other, atol=0.05, rtol=0.05) for plain, other in zip(*results))
