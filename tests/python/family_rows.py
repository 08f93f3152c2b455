"""Families of fusions that reduce: sums, softmax, norms and their gradients, losses (see family_programs.py)."""

import torch
from family_programs import FAMILIES, FLOAT, LABELS, MASK, Family, Given, family, matrices, simple
from nvfuser_direct import DataType

EPS = 1e-5


simple(
    "sums",
    matrices(1),
    lambda ops, x: [ops.sum(x, [0]), ops.sum(x, [1]), ops.sum(x)],
    lambda x: [x.sum(0), x.sum(1), x.sum()],
)

simple(
    "sum of rows with an end",
    matrices(1),
    lambda ops, x: [ops.sqrt(ops.sum(ops.mul(x, x), [1]))],
    lambda x: [(x * x).sum(1).sqrt()],
)

simple(
    "softmax of rows",
    matrices(1),
    lambda ops, x: [ops.softmax(x, 1)],
    lambda x: [x.softmax(1)],
)

simple(
    "log softmax of rows",
    matrices(1),
    lambda ops, x: [ops.log_softmax(x, 1)],
    lambda x: [x.log_softmax(1)],
    floor=1.0,
)

simple(
    "softmax of columns",
    matrices(1),
    lambda ops, x: [ops.softmax(x, 0)],
    lambda x: [x.softmax(0)],
)

simple(
    "softmax of rows, gradient",
    matrices(2),
    lambda ops, dy, y: [ops.softmax_backward(dy, y, 1)],
    lambda dy, y: [y * (dy - (dy * y).sum(1, keepdim=True))],
)

simple(
    "softmax of columns, gradient",
    matrices(2),
    lambda ops, dy, y: [ops.softmax_backward(dy, y, 0)],
    lambda dy, y: [y * (dy - (dy * y).sum(0, keepdim=True))],
)


def statistics(x, axes):
    """Mean and 1 / sqrt(variance + eps)."""
    variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    return mean, (variance + EPS).rsqrt()


# A row of one element is its own mean: 1 / sqrt(eps) is in its errors.
@family("layer norm", matrices(1, columns=2), floor=1.0)
class LayerNorm:
    def define(ops, x, w, b):
        return ops.layer_norm(x, [-1], w, b, EPS)

    def formula(x, w, b):
        mean, invstd = statistics(x, 1)
        return [(x - mean) * invstd * w + b, mean, invstd]


@family("layer norm, gradients", matrices(2, columns=2, rows=2))
class LayerNormGradients:
    def define(ops, dy, x, w, b, mean, invstd):
        return ops.layer_norm_backward(dy, x, [-1], mean, invstd, w, b)

    def formula(dy, x, w, b, mean, invstd):
        normed, g = (x - mean) * invstd, dy * w
        dx = invstd * (g - g.mean(1, keepdim=True) - normed * (g * normed).mean(1, keepdim=True))
        return [dx, (dy * normed).sum(0), dy.sum(0)]


@family("RMS norm", matrices(1, columns=1))
class RmsNorm:
    def define(ops, x, w):
        return ops.rms_norm(x, [-1], w, EPS)

    def formula(x, w):
        invstd = (x.square().mean(1, keepdim=True) + EPS).rsqrt()
        return [x * invstd * w, invstd]


@family("RMS norm, gradients", matrices(2, columns=1, rows=1))
class RmsNormGradients:
    def define(ops, dy, x, w, invstd):
        return ops.rms_norm_backward(dy, x, [-1], invstd, w)

    def formula(dy, x, w, invstd):
        normed, g = x * invstd, dy * w
        return [invstd * (g - normed * (g * normed).mean(1, keepdim=True)), (dy * normed).sum(0)]


@family("residual and RMS norm", matrices(2, columns=1))
class ResidualRmsNorm:
    def define(ops, x, y, w):
        total = ops.add(x, y)
        return [total, ops.rms_norm(total, [-1], w, EPS)[0]]

    def formula(x, y, w):
        return [x + y, RmsNorm.formula(x + y, w)[0]]


@family("dropout and layer norm", matrices(2, columns=2), floor=1.0, from_results=True)
class DropoutLayerNorm:
    def define(ops, x, y, w, b):
        dropped, mask = ops.dropout(y, 0.2)
        total = ops.add(x, dropped)
        return [mask, total, ops.layer_norm(total, [-1], w, b, EPS)[0]]

    def formula(results, x, y, w, b):
        kept = results[0]
        if kept.numel() >= 1 << 12:  # eight deviations
            assert abs(kept.double().mean().item() - 0.8) < 8 * (0.16 / kept.numel()) ** 0.5
        total = x + kept * y / 0.8
        return [kept, total, LayerNorm.formula(total, w, b)[0]]


@family("dropout and layer norm, gradient", matrices(2, columns=1, rows=2, others=[MASK]))
class DropoutLayerNormGradient:
    def define(ops, dy, x, w, mean, invstd, kept):
        dx = ops.layer_norm_backward(dy, x, [-1], mean, invstd, w, None, [True, False, False])[0]
        return [dx, ops.dropout_backward(dx, kept, 1.25)]

    def formula(dy, x, w, mean, invstd, kept):
        dx = LayerNormGradients.formula(dy, x, w, None, mean, invstd)[0]
        return [dx, dx * kept * 1.25]


CHANNELS = 3


def of_channels(last):
    def inputs(batch, hidden):
        inner = max(hidden // CHANNELS, 1)
        sizes = (batch, inner, CHANNELS) if last else (batch, CHANNELS, inner)
        return [Given(sizes), Given((CHANNELS,), FLOAT), Given((CHANNELS,), FLOAT)]

    return inputs


def channel_norm(last, per_sample):
    def define(ops, x, w, b):
        return [(ops.instance_norm if per_sample else ops.batch_norm)(x, w, b, channels_last=last)[0]]

    def formula(x, w, b):
        x = x.movedim(-1, 1) if last else x
        mean, invstd = statistics(x, (2,) if per_sample else (0, 2))
        y = (x - mean) * invstd * w[:, None] + b[:, None]
        return [y.movedim(1, -1) if last else y]

    place = "last" if last else "first"
    name = f"{'instance' if per_sample else 'batch'} norm, channels {place}"
    FAMILIES.append(Family(name, of_channels(last), define, formula, floor=1.0))


for _last in (False, True):
    for _per_sample in (False, True):
        channel_norm(_last, _per_sample)


def of_groups(batch, hidden):
    return [Given((batch, 3, 2, max(hidden // 6, 1))), Given((3, 2)), Given((3, 2))]


@family("group norm", of_groups, floor=4.0)  # groups of two elements, which may be nearly equal
class GroupNorm:
    def define(ops, x, w, b):
        var, mean = ops.var_mean(x, [2, 3], 0, True)
        of_all = lambda v: ops.broadcast(v, [True, False, False, True])  # noqa: E731
        return [ops.add(ops.mul(ops.mul(ops.sub(x, mean), ops.rsqrt(ops.add(var, EPS))), of_all(w)), of_all(b))]

    def formula(x, w, b):
        mean, invstd = statistics(x, (2, 3))
        return [(x - mean) * invstd * w[..., None] + b[..., None]]


def of_scores(batch, hidden):
    heads = 2 if batch % 2 == 0 else 1
    return [Given((heads, batch // heads, hidden)), Given((batch // heads, hidden), MASK)]


@family("attention softmax", of_scores, from_results=True)
class AttentionSoftmax:
    def define(ops, x, seen):
        shown = ops.where(ops.broadcast(seen, [True, False, False]), ops.mul(x, 0.125), -1e30)
        dropped, mask = ops.dropout(ops.softmax(shown, 2), 0.1)
        return [mask, dropped]

    def formula(results, x, seen):
        return [results[0], (x * 0.125).masked_fill(~seen, -1e30).softmax(2) * results[0] / 0.9]


def of_loss(batch, hidden):
    return [Given((batch, hidden)), Given((batch, 1), LABELS, hidden)]


@family("cross entropy", of_loss, floor=1.0)
class CrossEntropy:
    def define(ops, x, label):
        top = ops.max(x, [1], True)
        log_total = ops.add(ops.log(ops.sum(ops.exp(ops.sub(x, top)), [1], True)), top)
        return [ops.sub(log_total, ops.take_along_axis(x, label, 1)), log_total]

    def formula(x, label):
        log_total = x.logsumexp(1, keepdim=True)
        return [log_total - x.gather(1, label), log_total]


def of_loss_gradient(batch, hidden):
    return [*of_loss(batch, hidden), Given((batch, 1), FLOAT), Given((batch, 1), FLOAT)]


@family("cross entropy, gradient", of_loss_gradient)
class CrossEntropyGradient:
    def define(ops, x, label, log_total, dloss):
        place = ops.broadcast(ops.iota(ops.size(x, 1)), [True, False])
        hit = ops.cast(ops.eq(place, label), DataType.Float)
        return [ops.mul(ops.sub(ops.exp(ops.sub(x, log_total)), hit), dloss)]

    def formula(x, label, log_total, dloss):
        return [((x - log_total).exp().scatter_add(1, label, -torch.ones_like(log_total))) * dloss]
