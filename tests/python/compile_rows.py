"""One small program for each overload that torch.compile(backend="nvfuser") fuses, and for compositions of PyTorch's
that become several: what it is called on lies in memory in different ways (test_compile_strides.py).

A row is a function of a tensor x of floating point without zeros and ones, with at least two axes, and of a tensor w of
the same sizes and layout. Its name is the overload's.
"""

import torch
import torch._inductor.inductor_prims  # prims.fma is defined there
from torch.nn import functional as F

aten = torch.ops.aten
ROWS = {}


def row(name, function):
    assert name not in ROWS
    ROWS[name] = function


def _index(x, dim):
    """Indices of x's axis `dim`, as many as that has."""
    size = x.shape[dim]
    return torch.arange(size, device=x.device).flip(0)


def _whole(x):
    """Integers, of whatever x is: casts of what does not fit are no matter here."""
    wide = x.to(torch.float32) * 8
    return wide.nan_to_num(0.0).clamp(-100, 100).to(torch.int32)


def _scattered(x, w):
    """Each second row of x is one of w."""
    return torch.slice_scatter(x, w[: (x.shape[0] + 1) // 2], 0, 0, None, 2)


for _name in [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isinf",
    "isnan",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: f(x))
row("cumsum.default", lambda x, w: (x.cumsum(1), w.cumsum(0) * 2))
row("cumprod.default", lambda x, w: (x.cumprod(1), w.cumprod(0) * 2))
row("cummax.default", lambda x, w: (*x.cummax(1), w.cummax(0)[0] * 2))
row("cummin.default", lambda x, w: (*x.cummin(1), w.cummin(0)[0] * 2))
row("silu.default", lambda x, w: F.silu(x))
row("gelu.default", lambda x, w: (F.gelu(x), F.gelu(x, approximate="tanh")))
row("gelu_backward.default", lambda x, w: aten.gelu_backward(w, x))
row("copysign.Tensor", lambda x, w: (torch.copysign(x, w - 1), torch.copysign(x, w[0] - 1)))
row("copysign.Scalar", lambda x, w: torch.copysign(x, -1.0))
row("hypot.default", lambda x, w: (torch.hypot(x, w), torch.hypot(x, w[0])))
for _name in ["fmax", "fmin"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: (f(x, w), f(x, w[0]), f(_whole(x), _whole(w))))
row("gcd.default", lambda x, w: torch.gcd(_whole(x), _whole(w)))
for _name, _shift in (("lshift", torch.bitwise_left_shift), ("rshift", torch.bitwise_right_shift)):
    _side = "left" if _name == "lshift" else "right"
    _f = getattr(aten, f"__{_name}__")
    row(f"__{_name}__.Scalar", lambda x, w, f=_f: f(_whole(x), 2))
    row(f"__{_name}__.Tensor", lambda x, w, f=_f: f(_whole(x), _whole(w) & 3))
    row(f"bitwise_{_side}_shift.Tensor", lambda x, w, f=_shift: f(_whole(x), _whole(w) & 3))
    row(f"bitwise_{_side}_shift.Tensor_Scalar", lambda x, w, f=_shift: f(_whole(x), 2))
    row(f"bitwise_{_side}_shift.Scalar_Tensor", lambda x, w, f=_shift: f(5, _whole(x) & 3))
row("remainder.Scalar_Tensor", lambda x, w: 3.5 % x)
row("bitwise_not.default", lambda x, w: (~_whole(x), ~(x > 1)))

for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    _f = getattr(torch, _name)
    row(f"{_name}.Tensor", lambda x, w, f=_f: (f(x, w), f(x, w[0]), f(x[0], w)))
    row(f"{_name}.Scalar", lambda x, w, f=_f: f(x, 0.5))
for _name in ["add", "sub", "mul", "div", "fmod", "remainder"]:
    _f = getattr(torch, _name)
    row(f"{_name}.Tensor", lambda x, w, f=_f: (f(x, w), f(x, w[0]), f(x[0], w), f(x, w.to(torch.float64))))
    row(f"{_name}.Scalar", lambda x, w, f=_f: (f(x, 0.75), getattr(aten, f.__name__).Scalar(x, 2)))
row("true_divide.Tensor", lambda x, w: (torch.true_divide(x, w), aten.true_divide.Tensor(x, w)))
row("rsub.Tensor", lambda x, w: torch.rsub(x, w))
row("rsub.Scalar", lambda x, w: (3 - x, torch.rsub(x, 2, alpha=3)))
row("div.Tensor_mode", lambda x, w: (torch.div(x, w, rounding_mode="floor"), x // w))
row("div.Scalar_mode", lambda x, w: torch.div(x, 0.3, rounding_mode="trunc"))
for _name in ["and", "or", "xor"]:
    _f = getattr(torch, f"bitwise_{_name}")
    row(f"bitwise_{_name}.Tensor", lambda x, w, f=_f: f(_whole(x), _whole(w)))
    row(f"bitwise_{_name}.Scalar", lambda x, w, f=_f: f(_whole(x), 3))
    _f = getattr(torch, f"logical_{_name}")
    row(f"logical_{_name}.default", lambda x, w, f=_f: f(x > 1, w))
for _name in ["atan2", "maximum", "minimum", "nextafter"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: (f(x, w), f(x, w[0])))
row("pow.Tensor_Scalar", lambda x, w: (x**2, x**-0.5, x**1.5, x**1, x**4, x**5))
row("pow.Tensor_Tensor", lambda x, w: x.abs() ** w)
row("pow.Scalar", lambda x, w: 2**x)

row("where.self", lambda x, w: (torch.where(x > w, x, w), torch.where(x[0] > 1, x, w)))
row("where.ScalarSelf", lambda x, w: torch.where(x > w, 1.0, w))
row("where.ScalarOther", lambda x, w: torch.where(x > w, x, 1.0))
row("where.Scalar", lambda x, w: torch.where(x > w, 2.0, 1.0))
row("masked_fill.Scalar", lambda x, w: (x.masked_fill(w > 1, 0.5), x.masked_fill(w[0] > 1, 0.5)))
row("masked_fill.Tensor", lambda x, w: x.masked_fill(w > 1, x.sum()))
row("clamp.default", lambda x, w: x.clamp(0.5, 1.5))
row("clamp.Tensor", lambda x, w: x.clamp(w, w + 1))
for _name in ["clamp_min", "clamp_max"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: f(x, 1.0))
    row(f"{_name}.Tensor", lambda x, w, f=_f: f(x, w))
row("addcmul.default", lambda x, w: torch.addcmul(x, w, x, value=0.5))
row("addcdiv.default", lambda x, w: torch.addcdiv(x, w, x, value=0.5))
if hasattr(torch.ops.prims, "fma"):  # newer PyTorch has it
    row("prims::fma.default", lambda x, w: (torch.ops.prims.fma(x, 0.3, w), torch.ops.prims.fma(x, w, x)))
row("lerp.Scalar", lambda x, w: torch.lerp(x, w, 0.3))
row("lerp.Tensor", lambda x, w: torch.lerp(x, w, x))

row("_to_copy.default", lambda x, w: (x.double() + 1, x.half(), x.bool()))
row("prims::convert_element_type.default", lambda x, w: torch.ops.prims.convert_element_type(x, torch.float64) + 1)
row(
    "clone.default",
    lambda x, w: (x.clone() * 1, (x + 1).clone(memory_format=torch.contiguous_format), (x * 2).contiguous() * x),
)

for _name in ["sum", "mean", "prod"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: f(x))
    row(
        f"{_name}.dim_int" if _name == "prod" else f"{_name}.dim_IntList" if _name == "sum" else f"{_name}.dim",
        lambda x, w, f=_f: (f(x, 1), f(x, 0, keepdim=True), f(x, -1, keepdim=True)),
    )
for _name in ["amax", "amin"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: (f(x), f(x, 0), f(x, (0, 1), keepdim=True)))
for _name in ["max", "min"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: f(x))
for _name in ["any", "all"]:
    _f = getattr(torch, _name)
    row(f"{_name}.default", lambda x, w, f=_f: f(x > 1))
    row(f"{_name}.dim", lambda x, w, f=_f: (f(x > 1, 0), f(x, 1, keepdim=True)))
    row(f"{_name}.dims", lambda x, w, f=_f: f(x > 1, (0, 1), keepdim=True))
row("var.correction", lambda x, w: (x.var(), x.var(1), x.std(0, keepdim=True, correction=0)))
row("var_mean.correction", lambda x, w: (*torch.var_mean(x, 0), *torch.var_mean(x, -1, keepdim=True)))

row("embedding.default", lambda x, w: F.embedding(_index(x, 0), x.reshape(x.shape[0], -1)) * 2)
row("index_select.default", lambda x, w: (x.index_select(0, _index(x, 0)) + 1, x.index_select(1, _index(x, 1)) + 1))
row("index.Tensor", lambda x, w: (x[_index(x, 0)] * 2, (x * 2)[:, -_index(x, 1) - 1] + 1, x[_index(x, 0)[:1], 0] * 2))
row(
    "_unsafe_index.Tensor",
    lambda x, w: aten._unsafe_index(x, [_index(x, 0)[:, None], _index(x, 1)]) + 1,
)
_entries = lambda x: torch.stack([x[0], x[-1], x[0] + 1]).abs()  # noqa: E731
row(
    "index_add.default",
    lambda x, w: (x * 2).index_add(0, torch.tensor([0, x.shape[0] - 1, 0], device=x.device), _entries(x)) + 1,
)
row("scatter.src", lambda x, w: (x * 2).scatter(0, torch.zeros_like(x[:1], dtype=torch.int64), x[:1] + 1) + 1)
row("scatter_add.default", lambda x, w: (x * 2).scatter_add(1, (w > 1).long() * 0, x.abs()) * 2)
row("scatter_reduce.two", lambda x, w: (x + 1).scatter_reduce(1, (w > 1).long() * 0, x, "amax") * 2)
row("gather.default", lambda x, w: (x + 1).gather(1, (w > 1).long() * 0) * 2)

row("view.default", lambda x, w: (x * 2).reshape(-1) + 1)
row("_unsafe_view.default", lambda x, w: (aten._unsafe_view(x.contiguous() * 2, [-1]) + 1, x.flatten(0, 1) * 2))
row("reshape.default", lambda x, w: (x + 1).reshape(x.shape[0], -1) * 2)
row("as_strided.default", lambda x, w: (x + 1).contiguous().as_strided((x.numel(),), (1,)) * 2)
row("alias.default", lambda x, w: aten.alias(x + 1) * 2)
row("detach.default", lambda x, w: (x + 1).detach() * 2)
row("lift_fresh_copy.default", lambda x, w: aten.lift_fresh_copy((x * 2).flatten()) + 1)
row("lift_fresh.default", lambda x, w: x + torch.tensor([2.0], device=x.device))
row("permute.default", lambda x, w: (x.permute(*range(1, x.dim()), 0) * 2, (x * 2).permute(*range(1, x.dim()), 0)))
row("t.default", lambda x, w: x.flatten(1).t() * 2)
row("transpose.int", lambda x, w: (x.transpose(0, -1) + w.transpose(0, -1), (x + w).transpose(0, 1)))
row("unsqueeze.default", lambda x, w: (x.unsqueeze(1) * 2, (x * 2).unsqueeze(-1), x.unsqueeze(0) + w))
row("squeeze.default", lambda x, w: x.squeeze() * 2)
row("squeeze.dim", lambda x, w: (x.squeeze(0) * 2, x.sum(0, keepdim=True).squeeze(0) + 1))
row("squeeze.dims", lambda x, w: aten.squeeze.dims(x, [0, -1]) * 2)
row(
    "expand.default",
    lambda x, w: (x.expand(2, *x.shape) * 2, x[0].expand_as(x) + 1, x.unsqueeze(1).expand(-1, 3, *x.shape[1:]) + 1),
)
row("slice.Tensor", lambda x, w: (x[:, :1] * 2, (x * 2)[1:], (x * 2)[..., ::2] + 1))
row("select.int", lambda x, w: (x[0] * 2, (x * 2)[..., 0], (x * 2)[:, 0] + 1))
row("split.Tensor", lambda x, w: tuple(part * 2 for part in x.split(2, -1)))
row(
    "split_with_sizes.default",
    lambda x, w: tuple(part * 2 for part in x.split([1, x.shape[-1] - 1], -1)) if x.shape[-1] > 1 else x * 2,
)
row("unbind.int", lambda x, w: tuple(part * 2 for part in x.unbind(1)))
row("diagonal.default", lambda x, w: ((x * 2).diagonal() + 1, (x * 2).diagonal(1 - x.shape[0], 0, -1) + 1))
row("unfold.default", lambda x, w: ((x * 2).unfold(0, 1, 2) + 1, (x * 2).unfold(1, x.shape[1], 1) + 1))
row("view.dtype", lambda x, w: ((x * 2).view(torch.int32) + 1, (x.half() * 2).view(torch.int16) + 1))
row("repeat.default", lambda x, w: ((x * 2).repeat(2, *[1] * x.dim()) + 1, (x * 2).repeat(*[2] * x.dim()) + 1))
row("flip.default", lambda x, w: ((x * 2).flip(0) + 1, x.flip(0, -1) * 2))
row("slice_scatter.default", lambda x, w: (torch.slice_scatter(x * 2, w[:1], 0, 0, 1) + 1, _scattered(x * 2, w) + 1))
row(
    "select_scatter.default",
    lambda x, w: (torch.select_scatter(x * 2, w[0], 0, 0) + 1, torch.select_scatter(x * 2, w[:, 0], 1, -1) + 1),
)
row("copy.default", lambda x, w: (aten.copy(x * 2, w) + 1, aten.copy(x * 2, w[0]) * 2))
row("cat.default", lambda x, w: (torch.cat([x + 1, w], 0), torch.cat([x * 2, w, x], 1), torch.stack([x * 2, w], 1)))
row("constant_pad_nd.default", lambda x, w: (F.pad(x + 1, (1, 2)) * 2, F.pad(x * 2, (0, 0, 1, 0), value=3.0)))

row("full.default", lambda x, w: (torch.full(x.shape, 2.0, device=x.device) * x, x + x.new_ones(x.shape)))
row(
    "full_like.default",
    lambda x, w: (torch.full_like(x, 2.0), torch.ones_like(x) * 2, torch.zeros_like(w) + x, x.new_zeros(x.shape)),
)
row("scalar_tensor.default", lambda x, w: x * aten.scalar_tensor(2.0, device=x.device))
row("arange.start_step", lambda x, w: torch.arange(1, 2 * x.shape[-1], 2, device=x.device) + x)


def _pools(x):
    return (
        F.avg_pool2d(x, 1) + 1,
        F.avg_pool2d(x, (2, 1)) + 1,
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) + 1,
        *F.max_pool2d(x, 2, return_indices=True),
        *F.max_pool2d(x, (2, 5), return_indices=True),
        *F.max_pool2d(x, 3, 1, 1, return_indices=True),
        F.max_pool2d(x, 2, 2, 1, 2, ceil_mode=True) + 1,
        F.adaptive_avg_pool2d(x, (2, 1)) + 1,
        *F.adaptive_max_pool2d(x, (2, 1), return_indices=True),
    )


# Compositions that become other operations -----------------------------------------------------------

COMPOSITIONS = {
    "roll": lambda x, w: (x.roll(1, 1), x.roll((1, 2), (0, -1)) * 2, (x * 2).roll(3)),
    "softmax": lambda x, w: (x.softmax(1), x.log_softmax(-1), F.softmin(x, 0)),
    "logsumexp": lambda x, w: (x.logsumexp(1), x.logsumexp(0, keepdim=True)),
    "layer_norm": lambda x, w: F.layer_norm(x, x.shape[-1:], eps=1e-3) + 1,
    "norm": lambda x, w: (x.norm(dim=1), F.normalize(x, dim=0), torch.linalg.vector_norm(x, 3, dim=-1)),
    "activations": lambda x, w: (
        F.leaky_relu(x),
        F.elu(x),
        F.celu(x),
        F.selu(x),
        F.softplus(x),
        F.hardtanh(x),
        F.hardswish(x),
        F.hardsigmoid(x),
        F.relu6(x),
        F.mish(x),
        F.logsigmoid(x),
        F.threshold(x, 0.5, 0.25),
        F.hardshrink(x),
        F.softshrink(x),
        F.tanhshrink(x),
        F.softsign(x),
    ),
    "prelu": lambda x, w: F.prelu(x, torch.full((1,), 0.25, device=x.device)),
    "glu": lambda x, w: F.glu(torch.cat([x, w], 1), 1),
    "losses": lambda x, w: (
        F.mse_loss(x, w, reduction="none"),
        F.l1_loss(x, w, reduction="none"),
        F.smooth_l1_loss(x, w, reduction="none"),
        F.huber_loss(x, w, reduction="none"),
        F.binary_cross_entropy_with_logits(x, w, reduction="none"),
        F.soft_margin_loss(x, w, reduction="none"),
    ),
    "nan_to_num": lambda x, w: (
        x.nan_to_num(),
        torch.xlogy(x, w),
        torch.logit(x, eps=0.25),
        torch.hypot(x, w),
        x.frac(),
    ),
    "comparisons": lambda x, w: (torch.isclose(x, w), x.isfinite(), torch.isposinf(x), torch.heaviside(x, w)),
    "triangles": lambda x, w: (x.tril(), (x * 2).triu(1), x.diagonal() * 2),
    "parts": lambda x, w: (x.narrow(1, 0, 1) + 1, x.unfold(1, 1, 1) * 2, torch.diff(x, dim=0), x.movedim(0, -1) * 2),
    "repeats": lambda x, w: (x.repeat(2, *[1] * (x.dim() - 1)) * 2, x.repeat_interleave(2, 1) + 1, torch.tile(x, (2,))),
    "joins": lambda x, w: (
        torch.hstack([x, w]),
        torch.vstack([x * 2, w]),
        torch.dstack([x, w]) if x.dim() > 2 else x * 2,
    ),
    "cumulative": lambda x, w: (x.cumsum(1) * 2, x.cumprod(0) + 1),
    "extremes": lambda x, w: (x.argmax(1), x.max(1).values * 2, x.min(0, keepdim=True).values, x.sort(1).values + 1),
    "casts": lambda x, w: (x.type(torch.int16), x.to(torch.float64).to(torch.float32) + 1, x.to(torch.bfloat16)),
    "copies": lambda x, w: (torch.empty_like(x).copy_(w) + 1, x.clone(memory_format=torch.preserve_format) * 2),
    "updates": lambda x, w: ((x * 2).add_(w), (x + 1).mul_(2).clamp_(max=3), (x * 2).masked_fill_(w > 1, 0)),
    "where of rows": lambda x, w: torch.where(x[:1] > 1, x, 0.0),
    "new axes": lambda x, w: (x[None] * 2, x[:, None] + 1, (x * 2)[..., None] + 1),
    "views of results": lambda x, w: ((x * 2).flatten(), (x * 2).transpose(0, 1), (x + w).view(x.dtype), (x + 1).mT),
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x, w: F.group_norm(x, 1) * 2,
    "pools": lambda x, w: _pools(x * 2) if x.dim() == 4 else x * 2,
    "upsample": lambda x, w: (
        (F.interpolate(x, scale_factor=2) * 2, F.interpolate(x, size=(7, 3), mode="bilinear") + 1)
        if x.dim() == 4
        else x * 2
    ),
    "lists": lambda x, w: (
        *torch._foreach_add([x * 2, w], [w, x], alpha=2),
        *torch._foreach_addcdiv([x, w], [w, x], [x + 2, w + 2], 0.5),
        *torch._foreach_lerp([x, w], [w, x], 0.25),
        *torch._foreach_pow([x, w], 2),
        *torch._foreach_norm([x * 2, w]),
    ),
    "decimals": lambda x, w: (torch.round(x * 2, decimals=1), torch.ldexp(x, _whole(w))),
    "pixel_shuffle": lambda x, w: (F.pixel_unshuffle(x, 1) + 1, F.channel_shuffle(x, 1) + 1) if x.dim() == 4 else x * 2,
}
