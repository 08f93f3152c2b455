"""The programs by torch.distributed's own means: DTensor, DDP, collectives by hand, symmetric memory.

Each takes a Place and gives what one step is.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def _linear(place, outputs, inputs):
    return nn.Linear(inputs, outputs, bias=False, device=place.device, dtype=place.sizes.dtype)


def _step(model, x, grad):
    """Forward and backward: all gradients are made anew."""
    x.requires_grad_()
    parameters = list(model.parameters())

    def step():
        x.grad = None
        for parameter in parameters:
            parameter.grad = None
        y = model(x)
        y.backward(grad)
        return y

    return step


def _tokens(place, sequences):
    return place.of(place.sizes.tokens) if sequences else place.sizes.tokens


class _Mlp(nn.Module):
    def __init__(self, place):
        super().__init__()
        self.up = _linear(place, place.sizes.hidden, place.sizes.width)
        self.down = _linear(place, place.sizes.width, place.sizes.hidden)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class _Attention(nn.Module):
    def __init__(self, place):
        super().__init__()
        width = place.sizes.width
        self.q, self.k, self.v, self.out = (_linear(place, width, width) for _ in range(4))
        self.heads = place.of(place.sizes.heads)
        self.numbers = width // place.sizes.heads

    def forward(self, x):
        def apart(rows):
            return rows.reshape(1, -1, self.heads, self.numbers).permute(0, 2, 1, 3)

        seen = F.scaled_dot_product_attention(*(apart(part(x)) for part in (self.q, self.k, self.v)), is_causal=True)
        return self.out(seen.permute(0, 2, 1, 3).reshape(-1, self.heads * self.numbers))


class _Block(nn.Module):
    def __init__(self, place):
        super().__init__()
        norm = {"eps": 1e-5, "device": place.device, "dtype": place.sizes.dtype}
        self.norm1, self.norm2 = (nn.RMSNorm(place.sizes.width, **norm) for _ in range(2))
        self.attention, self.mlp = _Attention(place), _Mlp(place)

    def forward(self, x):
        middle = x + self.attention(self.norm1(x))
        return middle + self.mlp(self.norm2(middle))


def _parallel(place, model, into, out_of, rows, gathered=()):
    """Linear layers `into` are cut by their outputs, `out_of` by their inputs; their tokens are placed `rows`, those of
    the modules `gathered` made whole once for all of its layers.
    """
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        parallelize_module,
    )

    plan = {name: ColwiseParallel(input_layouts=Replicate() if gathered else rows) for name in into}
    plan |= {name: RowwiseParallel(output_layouts=rows) for name in out_of}
    for name in gathered:
        plan[name] = PrepareModuleInput(input_layouts=(rows,), desired_input_layouts=(Replicate(),))
    return parallelize_module(model, place.mesh, plan)


def _rows(sequences):
    from torch.distributed.tensor import Replicate, Shard

    return Shard(0) if sequences else Replicate()


def mlp(place, sequences):
    model = _parallel(place, _Mlp(place), ["up"], ["down"], _rows(sequences))
    rows = _tokens(place, sequences)
    return _step(model, place.random(rows, place.sizes.width), place.random(rows, place.sizes.width))


def attention(place):
    model = _parallel(place, _Attention(place), ["q", "k", "v"], ["out"], _rows(False))
    rows = place.sizes.tokens
    return _step(model, place.random(rows, place.sizes.width), place.random(rows, place.sizes.width))


def block(place, sequences):
    from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module

    model = _parallel(
        place,
        _Block(place),
        ["attention.q", "attention.k", "attention.v", "mlp.up"],
        ["attention.out", "mlp.down"],
        _rows(sequences),
        ["attention", "mlp"] if sequences else [],
    )
    if sequences:
        norm = SequenceParallel(sequence_dim=0, use_local_output=True)
        model = parallelize_module(model, place.mesh, {"norm1": norm, "norm2": norm})
    rows = _tokens(place, sequences)
    return _step(model, place.random(rows, place.sizes.width), place.random(rows, place.sizes.width))


def shared_batch(place):
    from torch.nn.parallel import DistributedDataParallel

    width = place.sizes.width
    layers = [
        layer for _ in range(place.sizes.layers) for layer in (_linear(place, width, width), nn.ReLU(inplace=True))
    ]
    model = DistributedDataParallel(nn.Sequential(*layers), gradient_as_bucket_view=True)
    x, grad = place.random(place.sizes.tokens, width), place.random(place.sizes.tokens, width)
    parameters = list(model.parameters())

    def step():
        for parameter in parameters:
            parameter.grad = None
        model(x).backward(grad)

    return step


def _product_parts(place, gathered):
    """Own parts of x and of the weight, the weight as [summed, results]."""
    sizes = place.sizes
    if gathered:
        x = place.random(place.of(sizes.tokens), sizes.width)
        return x, place.random(place.of(sizes.hidden), sizes.width).T
    x = place.random(sizes.tokens, place.of(sizes.hidden))
    return x, place.random(sizes.width, place.of(sizes.hidden)).T


def gathered_product(place):
    x, weight = _product_parts(place, gathered=True)

    def step():
        whole = x.new_empty(place.sizes.tokens, x.shape[1])
        dist.all_gather_into_tensor(whole, x)
        return whole @ weight

    return step


def scattered_product(place):
    x, weight = _product_parts(place, gathered=False)

    def step():
        sums = x @ weight
        part = sums.new_empty(place.of(place.sizes.tokens), sums.shape[1])
        dist.reduce_scatter_tensor(part, sums)
        return part

    return step


def _symmetric_group(place):
    """Its memory is other devices' as well; multicast, which not every machine has, is off by the environment."""
    if place.device.type != "cuda":
        raise NotImplementedError("symmetric memory needs GPUs")
    from torch.distributed import _symmetric_memory

    name = place.mesh.get_group().group_name
    _symmetric_memory.enable_symm_mem_for_group(name)
    return name


def fused_gathered_product(place):
    group = _symmetric_group(place)
    x, weight = _product_parts(place, gathered=True)
    return lambda: torch.ops.symm_mem.fused_all_gather_matmul(x, [weight], 0, group)


def fused_scattered_product(place):
    group = _symmetric_group(place)
    x, weight = _product_parts(place, gathered=False)
    return lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(x, weight, "sum", 0, group)


def experts(place, count, places):
    width, here = place.sizes.width, place.of(count)
    x, weights = place.random(here, count, places, width), place.random(here, width, width)

    def step():
        sent = x.permute(1, 0, 2, 3).contiguous()
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)  # [devices, experts here, groups of one device, places, width]
        rows = received.reshape(place.size, here, here, places, width).permute(1, 0, 2, 3, 4)
        done = torch.relu_(torch.bmm(rows.reshape(here, count * places, width), weights))
        back = done.reshape(here, place.size, here, places, width).permute(1, 0, 2, 3, 4).contiguous()
        result = torch.empty_like(back)
        dist.all_to_all_single(result, back)
        return result.reshape(count, here, places, width).permute(1, 0, 2, 3).contiguous()

    return step
