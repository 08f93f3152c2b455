"""Operations of a library: products of matrices, scans, sorting, tables of rows. They extend `CASES`."""

import pytest
import torch
from nvf import TORCH_DTYPES, DType, Failed
from operation_cases import case, simple
from operation_dtypes import COMPLEX, SIGNED, WIDE, in_full, sample

PRODUCTS = (DType.Half, DType.BFloat16, *WIDE, *COMPLEX, *SIGNED, DType.Byte)
ORDERED = (DType.Half, DType.BFloat16, *WIDE, *SIGNED, DType.Byte)
SCANNED = (*WIDE, *COMPLEX, DType.Int)


@case("matmul", PRODUCTS)
def matmul_(b, dtype):
    x, y = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
    pairs = [(x, y.T.contiguous()), (x[0].contiguous(), y[1].contiguous()), (x, y[0].contiguous())]
    pairs.append((x.reshape(2, 1, 2, 6), y.reshape(2, 6, 2)))
    for left, right in pairs:
        expected = torch.matmul(in_full(left), in_full(right)).to(left.dtype)
        b.expect(b.op("matmul", b.input(left), b.input(right)), expected)


@case("linear", PRODUCTS)
def linear_(b, dtype):
    x, w, bias = (sample(dtype, "finite", i) for i in range(3))
    bias = bias[0, :4].contiguous()
    expected = in_full(x) @ in_full(w).T
    b.expect(b.op("linear", b.input(x), b.input(w)), expected.to(x.dtype))
    b.expect(b.op("linear", b.input(x), b.input(w), b.input(bias)), (expected + in_full(bias)).to(x.dtype))


simple("cumsum", lambda b, t: b.op("cumsum", t, 1), lambda x: x.cumsum(1), dtypes=SCANNED)
simple("cumsum", lambda b, t: b.op("cumsum", t, -2, 2.0), lambda x: x.cumsum(0) + 2)
simple("cumprod", lambda b, t: b.op("cumprod", t, 0), lambda x: x.cumprod(0), dtypes=SCANNED)
simple("cummax", lambda b, t: b.op("cummax", t, 1), lambda x: x.cummax(1).values, domain="any")
simple("cummin", lambda b, t: b.op("cummin", t, 0), lambda x: x.cummin(0).values, domain="any")


@case("argsort", ORDERED)
def argsort_(b, dtype):
    x = sample(dtype, "any", 0)
    for dim, descending in ((0, False), (1, True)):
        expected = torch.argsort(x, dim=dim, descending=descending, stable=True)
        b.expect(b.op("argsort", b.input(x), dim, descending), expected)


@case("topk", ORDERED)
def topk_(b, dtype):
    x = sample(dtype, "any", 0)
    for dim, largest in ((0, False), (1, True)):
        order = torch.argsort(x, dim=dim, descending=largest, stable=True).narrow(dim, 0, 3)
        values, indices = b.fusion.ops("topk", b.input(x), 3, dim, largest)
        b.expect(values, x.gather(dim, order))
        b.expect(indices, order)


@case("embedding_fwd")
def embedding_fwd_(b, dtype):
    table = sample(dtype, "finite", 0)
    index = torch.tensor([[3, 0, 1], [2, 1, 0]])
    b.expect(b.op("embedding_fwd", b.input(index), b.input(table)), torch.nn.functional.embedding(index, table))
    for order in (2.0, 1.0):
        limited = torch.nn.functional.embedding(index, table.clone(), max_norm=1.5, norm_type=order)
        b.expect(
            b.op("embedding_fwd", b.input(index), b.input(table), max_norm=1.5, norm_type=order),
            limited,
        )


ATTENTION = (DType.Half, DType.BFloat16, DType.Float)
SETTINGS = ({}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.5, "is_causal": True})


def heads(dtype, *sizes):
    """Query, key, value and a gradient of the output."""
    generator = torch.Generator().manual_seed(len(sizes))
    return [torch.randn(2, 3, *size, generator=generator).to(TORCH_DTYPES[dtype]) for size in sizes]


def attention(q, k, v, **settings):
    return torch.nn.functional.scaled_dot_product_attention(in_full(q), in_full(k), in_full(v), **settings)


def log_sum_exp(q, k, scale=None, is_causal=False):
    scores = in_full(q) @ in_full(k).mT * (scale or q.shape[-1] ** -0.5)
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores).tril().bool(), -torch.inf)
    return scores.logsumexp(-1).float()


@case("sdpfa_fwd", ATTENTION)
def sdpfa_fwd_(b, dtype):
    q, k, v, bias = heads(dtype, (5, 8), (7, 8), (7, 4), (5, 7))
    mask = torch.arange(7) % 3 != 1
    for settings in SETTINGS:
        output, lse, _, _ = b.fusion.ops("sdpfa_fwd", b.input(q), b.input(k), b.input(v), **settings)
        b.expect(output, attention(q, k, v, **settings).to(q.dtype))
        b.expect(lse, log_sum_exp(q, k, **settings))
    for extra in (bias, bias[:1, :, :1].contiguous(), mask):
        name = "mask" if extra is mask else "bias"
        output = b.fusion.ops("sdpfa_fwd", b.input(q), b.input(k), b.input(v), **{name: b.input(extra)})[0]
        added = extra.expand(5, 7) if extra is mask else in_full(extra)
        b.expect(output, attention(q, k, v, attn_mask=added).to(q.dtype), (1.6e-2, 1e-3))


@case("sdpfa_bwd", ATTENTION)
def sdpfa_bwd_(b, dtype):
    q, k, v, grad = heads(dtype, (5, 8), (7, 8), (7, 4), (5, 4))
    state = [torch.zeros(2, dtype=torch.uint64), torch.zeros((), dtype=torch.uint64)]
    for settings in SETTINGS:
        leaves = [in_full(x).clone().requires_grad_() for x in (q, k, v)]
        output = torch.nn.functional.scaled_dot_product_attention(*leaves, **settings)
        output.backward(in_full(grad))
        operands = [grad, q, k, v, output.detach().to(q.dtype), log_sum_exp(q, k, **settings)]
        causal = settings.get("is_causal", False)
        grads = b.fusion.ops(
            "sdpfa_bwd",
            *(b.input(x) for x in operands),
            0.0,
            causal,
            *(b.input(x) for x in state),
            settings.get("scale"),
        )
        tolerance = (1e-4, 1e-5) if dtype == DType.Float else (2e-2, 2e-2)  # the output is rounded
        for ours, leaf in zip(grads, leaves, strict=True):
            b.expect(ours, leaf.grad.to(q.dtype), tolerance)


@case("grouped_mm", (DType.Half, DType.BFloat16, *WIDE))
def grouped_mm_(b, dtype):
    torch_dtype = TORCH_DTYPES[dtype]
    generator = torch.Generator().manual_seed(1)
    rows, columns = torch.randn(9, 6, generator=generator), torch.randn(6, 9, generator=generator)
    rows, columns = rows.to(torch_dtype), columns.to(torch_dtype)
    weights = torch.randn(3, 6, 5, generator=generator).to(torch_dtype)
    offsets = torch.tensor([2, 2, 9], dtype=torch.int32)
    parts = [(0, 2), (2, 2), (2, 9)]
    of_rows = torch.cat([in_full(rows)[i:j] @ in_full(weights)[g] for g, (i, j) in enumerate(parts)])
    b.expect(b.op("grouped_mm", b.input(rows), b.input(weights), b.input(offsets)), of_rows.to(torch_dtype))
    left = weights.mT.contiguous()
    of_columns = torch.cat([in_full(left)[g] @ in_full(columns)[:, i:j] for g, (i, j) in enumerate(parts)], 1)
    b.expect(b.op("grouped_mm", b.input(left), b.input(columns), b.input(offsets)), of_columns.to(torch_dtype))
    of_sums = torch.stack([in_full(columns)[:, i:j] @ in_full(rows)[i:j] for i, j in parts])
    b.expect(b.op("grouped_mm", b.input(columns), b.input(rows), b.input(offsets)), of_sums.to(torch_dtype))


@case("scaled_mm", (DType.Float8_e4m3fn, DType.Float8_e5m2, DType.BFloat16))
def scaled_mm_(b, dtype):
    torch_dtype = TORCH_DTYPES[dtype]
    generator = torch.Generator().manual_seed(2)
    x, y = (torch.randn(*size, generator=generator).to(torch_dtype) for size in ((5, 8), (8, 6)))
    for scales in ((torch.tensor(0.5), torch.tensor(2.0)), (torch.rand(5, 1) + 0.5, torch.rand(1, 6) + 0.5)):
        expected = (x.double() * scales[0].double()) @ (y.double() * scales[1].double())
        out = b.fusion.ops("scaled_mm", b.input(x), b.input(y), *(b.input(s) for s in scales))[0]
        b.expect(out, expected.to(torch.bfloat16))


@case("cutlass_nvfp4_grouped_mm", (DType.Float,))
def cutlass_nvfp4_grouped_mm_(b, dtype):
    x = b.input(sample(dtype, "finite", 0))
    with pytest.raises(Failed, match="compute capability 10"):
        b.op("cutlass_nvfp4_grouped_mm", *[x] * 8)
