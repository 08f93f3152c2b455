"""Operations of a library: products of matrices, scans, sorting, tables of rows. They extend `CASES`."""

import torch
from nvf import DType
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
