"""Steps of optimizers over many tensors, as programs write them: in place."""

import torch

from .program import Table, normal

TABLE = Table("optimizers")
COUNT = 12  # tensors of each role


def roles(tensors, count):
    """`count` equal parts of a list."""
    size = len(tensors) // count
    return [tensors[i * size : (i + 1) * size] for i in range(count)]


def sgd(*tensors):
    for p, g, momentum in zip(*roles(tensors, 3), strict=True):
        momentum.mul_(0.9).add_(g + 1e-4 * p)
        p.sub_(1e-3 * momentum)


def adam_w(*tensors):
    for p, g, m, v in zip(*roles(tensors, 4), strict=True):
        p.mul_(1 - 1e-5)
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.addcdiv_(m, (v * 2.0).sqrt().add_(1e-8), value=-1e-3)


def adam_foreach(*tensors):
    ps, gs, ms, vs = (list(role) for role in roles(tensors, 4))
    torch._foreach_lerp_(ms, gs, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, gs, gs, 0.001)
    scale = torch._foreach_sqrt(vs)
    torch._foreach_add_(scale, 1e-8)
    torch._foreach_addcdiv_(ps, ms, scale, -1e-3)


def lion(*tensors):
    for p, g, m in zip(*roles(tensors, 3), strict=True):
        p.mul_(1 - 1e-5).sub_(1e-4 * torch.sign(0.9 * m + 0.1 * g))
        m.mul_(0.99).add_(0.01 * g)


def adafactor(*tensors):
    for p, g, row, column in zip(*roles(tensors, 4), strict=True):
        square = g * g + 1e-30
        row.lerp_(square.mean(1), 0.01)
        column.lerp_(square.mean(0), 0.01)
        scale = (row / row.mean())[:, None].rsqrt() * column[None].rsqrt()
        update = g * scale
        update = update / torch.clamp(update.square().mean().sqrt(), min=1.0)
        p.sub_(1e-3 * update)


def average_of_weights(*tensors):
    averages, weights = roles(tensors, 2)
    for average, weight in zip(averages, weights, strict=True):
        average.lerp_(weight, 0.001)


def clipped_by_global_norm(*gradients):
    norm = torch.stack([g.norm() for g in gradients]).norm()
    scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    return [g * scale for g in gradients], norm


def _tensors(count):
    """`count` roles of COUNT tensors; those that hold squares are positive."""

    def make(n, m):
        return [normal(n, m).abs() + 0.1 if role == 3 else normal(n, m) for role in range(count) for _ in range(COUNT)]

    return make


def _factors(n, m):
    parts = [normal(n, m) for _ in range(2 * COUNT)]
    return parts + [normal(n).abs() + 0.1 for _ in range(COUNT)] + [normal(m).abs() + 0.1 for _ in range(COUNT)]


SMALL, MIDDLE, LARGE = (16, 16), (128, 128), (1024, 1024)
TABLE.add("SGD", sgd, _tensors(3), SMALL, MIDDLE, LARGE)
TABLE.add("AdamW", adam_w, _tensors(4), SMALL, MIDDLE, LARGE)
TABLE.add("Adam by foreach", adam_foreach, _tensors(4), SMALL, MIDDLE, LARGE)
TABLE.add("Lion", lion, _tensors(3), SMALL, MIDDLE, LARGE, tolerance=1e-4)
TABLE.add("Adafactor", adafactor, _factors, SMALL, MIDDLE, LARGE)
TABLE.add("average of weights", average_of_weights, _tensors(2), SMALL, MIDDLE, LARGE)
TABLE.add("clipping by the global norm", clipped_by_global_norm, _tensors(4), SMALL, MIDDLE, LARGE)
