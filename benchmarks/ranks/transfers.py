"""Programs in which an exchange is a large part: products with a gathered operand or a scattered result, the gradients
of a batch that is shared, and tokens on their way to experts.
"""

import torch
import torch.nn.functional as F

from . import peers
from .program import Input, Program, Work, gradients, share_all, transposed


def gathered_product(sizes):
    def define(fd, mesh, x, weight):
        y = fd.ops.linear(x, weight)
        fd.add_output(y)
        share_all(mesh, (x, 0), (weight, 0), (y, 1))

    tokens, width, hidden = sizes.tokens, sizes.width, sizes.hidden
    return Program(
        "allgather, then a product",
        [Input((tokens, width)), Input((hidden, width), width**-0.5)],
        define,
        lambda x, weight: [F.linear(x, weight)],
        {"one after the other": peers.gathered_product, "symm_mem": peers.fused_gathered_product},
        Work(2 * tokens * width * hidden),
        pipelined=True,
    )


def scattered_product(sizes):
    def define(fd, mesh, x, weight):
        y = fd.ops.linear(x, weight)
        fd.add_output(y)
        share_all(mesh, (x, 1), (weight, 1), (y, 0))

    tokens, width, hidden = sizes.tokens, sizes.width, sizes.hidden
    return Program(
        "a product, then reduce-scatter",
        [Input((tokens, hidden)), Input((width, hidden), hidden**-0.5)],
        define,
        lambda x, weight: [F.linear(x, weight)],
        {"one after the other": peers.scattered_product, "symm_mem": peers.fused_scattered_product},
        Work(2 * tokens * width * hidden),
        pipelined=True,
    )


def shared_batch(sizes, devices):
    """As many tokens for each device; gradients of all layers are summed over them."""

    def define(fd, mesh, grad, x, *weights):
        actives, wides = [x], []
        for weight in weights:
            wides.append(fd.ops.linear(actives[-1], weight))
            actives.append(fd.ops.relu(wides[-1]))
        fd.add_output(actives[-1])
        share_all(mesh, (grad, 0), (x, 0), (actives[-1], 0), *((weight, None) for weight in weights))
        of_active, zero = grad, fd.define_scalar(0.0)
        of_weights = []
        for active, wide, weight in reversed(list(zip(actives[:-1], wides, weights, strict=True))):
            of_wide = fd.ops.where(fd.ops.gt(wide, zero), of_active, zero)
            of_weights.insert(0, fd.ops.matmul(transposed(fd, of_wide), active))
            if active is not x:
                of_active = fd.ops.matmul(of_wide, weight)
        for gradient in of_weights:
            fd.add_output(gradient)
            share_all(mesh, (gradient, None))

    def eager(grad, x, *weights):
        def forward(x, *weights):
            for weight in weights:
                x = torch.relu(F.linear(x, weight))
            return x

        y, _, *of_weights = gradients(forward, [x, *weights], grad)
        return [y, *of_weights]

    tokens, width, layers = sizes.tokens * devices, sizes.width, sizes.layers
    weight = Input((width, width), (2 / width) ** 0.5)
    return Program(
        "data-parallel step",
        [Input((tokens, width), tokens**-0.5), Input((tokens, width)), *[weight] * layers],
        define,
        eager,
        {"DDP": peers.shared_batch},
        Work((6 * layers - 2) * tokens * width * width, 6 * layers * tokens * width * sizes.bytes_each),
    )


def experts(sizes):
    """Tokens [groups, experts, places, width]: an expert takes those of all groups and gives them back."""
    count, places, width = sizes.experts, max(2, 2 * sizes.tokens // sizes.experts**2), sizes.width

    def define(fd, mesh, x, weights):
        sent = fd.ops.permute(x, [1, 0, 2, 3])
        rows = fd.ops.reshape(sent, [count, count * places, width])
        done = fd.ops.relu(fd.ops.matmul(rows, weights))
        apart = fd.ops.reshape(done, [count, count, places, width])
        back = fd.ops.permute(apart, [1, 0, 2, 3])
        fd.add_output(back)
        share_all(mesh, (sent, 0), (x, 0), (weights, 0), (back, 0))

    def eager(x, weights):
        rows = x.permute(1, 0, 2, 3).reshape(count, count * places, width)
        done = torch.relu(torch.bmm(rows, weights))
        return [done.reshape(count, count, places, width).permute(1, 0, 2, 3)]

    tokens = count * count * places
    return Program(
        "experts, by alltoall",
        [Input((count, count, places, width)), Input((count, width, width), width**-0.5)],
        define,
        eager,
        {"all_to_all_single": lambda place: peers.experts(place, count, places)},
        Work(2 * tokens * width * width, 6 * tokens * width * sizes.bytes_each),
    )
