"""Library operations of a Fusion by PyTorch's ATen, on the CPU and with NVFUSER_TEST_DEVICE=cuda on a GPU, beside
PyTorch's own operations in full precision."""

import math
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy
import nvfuser
import pytest
import torch
from nvfuser import DataType, FusionDefinition
from tested_device import DEVICE, ON_GPU

HALVES = (torch.float16, torch.bfloat16)
REALS = (*HALVES, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
TOLERANCES = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.float32: (2e-5, 2e-5),
    torch.float64: (1e-10, 1e-10),
    torch.complex64: (2e-5, 2e-5),
    torch.complex128: (1e-10, 1e-10),
    torch.float8_e4m3fn: (0.13, 0.13),
}


@pytest.fixture(autouse=True)
def by_pytorch():
    nvfuser.pytorch_on_cpu("all")
    yield
    nvfuser.pytorch_on_cpu("faster")


def rand(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + 7 * len(shape))
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return torch.randn(shape, dtype=wide, generator=generator).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -9, 9, shape, generator=generator).to(dtype)


def full(tensor):
    if tensor.dtype.is_complex:
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.dtype.is_floating_point else tensor.long()


DTYPES = {
    torch.uint8: DataType.Byte,
    torch.int8: DataType.Char,
    torch.int16: DataType.Short,
    torch.uint16: DataType.UInt16,
    torch.uint64: DataType.UInt64,
}


def declared(fd, value):
    if not isinstance(value, torch.Tensor):
        return fd.define_scalar(None, DataType.Int)
    if value.dtype not in DTYPES:
        return fd.from_pytorch(value)
    return fd.define_tensor(sizes=value.shape, strides=value.stride(), dtype=DTYPES[value.dtype])


def rows_added(fd, table, index, rows):
    """As index_put with accumulate does."""
    size = [rows.size(axis) for axis in range(rows.ndim)]
    return fd.ops.scatter(table, fd.ops.broadcast_in_dim(index, size, [0]), rows, 0, accumulate=True)


def run(define, *inputs, by="PyTorch"):
    """The outputs, on the CPU, after two calls; all library steps were run by `by`. Scans and scatters that a kernel
    takes have none."""
    inputs = [x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in inputs]
    with FusionDefinition() as fd:
        values = [declared(fd, x) for x in inputs]
        outputs = define(fd, *values)
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            fd.add_output(output)
    first = fd.execute(inputs)
    second = fd.execute(inputs)
    ran_by = re.findall(r"run by (.*)", fd.explain())
    in_kernels = re.search(r"fd\.ops\.cum|scheduler scatter", fd.explain())
    assert ran_by or in_kernels, "there is a library step"
    allowed = (by, "cuBLASLt") if ON_GPU else (by,)
    assert all(name in allowed for name in ran_by), ran_by
    for one, other in zip(first, second, strict=True):
        assert one.device.type == DEVICE
        torch.testing.assert_close(one, other, equal_nan=True)
    return [output.cpu() for output in second]


def expect(results, *expected, tolerance=None):
    for result, wanted in zip(results, expected, strict=True):
        rtol, atol = tolerance or TOLERANCES.get(result.dtype, (0, 0))
        assert result.shape == wanted.shape
        torch.testing.assert_close(full(result), full(wanted), rtol=rtol, atol=atol, equal_nan=True)


def gapped(tensor):
    """The same elements, not side by side, in another order."""
    if tensor.dim() == 0:
        return tensor
    room = tensor.new_zeros((*tensor.shape[::-1], 2))
    return room[..., 1].permute(*range(tensor.dim() - 1, -1, -1)).copy_(tensor)


SHAPES = [(), (1,), (7,), (0, 3), (3, 0), (4, 1), (5, 33), (2, 3, 17)]


def dims(shape):
    return range(-len(shape), len(shape)) if len(shape) < 3 else (0, 1, -1)


def distinct(shape, dtype):
    """No two elements of it are equal: which of equal ones is first is nobody's promise on a GPU."""
    count = math.prod(shape)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count))
    return (order - count // 2).to(dtype).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [lambda x: x, gapped], ids=["dense", "gapped"])
def test_orders_of_any_shape(shape, make):
    x = make(distinct(shape, torch.float32))
    for dim in dims(shape) or (0,):
        for descending in (False, True):
            got = run(lambda fd, t, d=dim, b=descending: fd.ops.argsort(t, d, b), x)
            expect(got, torch.argsort(x, dim=dim, descending=descending, stable=True))
        extent = shape[dim] if shape else 1
        for k in {0, 1, extent // 2, extent} if shape else {1}:
            if k > extent:
                continue
            got = run(lambda fd, t, d=dim, k=k: fd.ops.topk(t, k, d, True, True), x)
            expect(got, *torch.topk(x, k, dim=dim))


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS])
def test_orders_of_any_dtype(dtype):
    x = distinct((5, 20), dtype)
    expect(run(lambda fd, t: fd.ops.argsort(t, 1), x), torch.argsort(x.double(), dim=1, stable=True))
    values, indices = run(lambda fd, t: fd.ops.topk(t, 4, 0, False), x)
    expected = torch.topk(full(x), 4, dim=0, largest=False)
    expect([values, indices], expected.values.to(dtype), expected.indices)


def test_equal_and_missing_numbers_keep_their_order():
    x = torch.tensor([2.0, math.nan, 1.0, 2.0, -math.inf, math.nan, 1.0, math.inf] * 5)
    for descending in (False, True):
        got = run(lambda fd, t, b=descending: fd.ops.argsort(t, 0, b), x)
        expect(got, torch.argsort(x, dim=0, descending=descending, stable=True))
    expect(run(lambda fd, t: fd.ops.topk(t, 12, 0)[0], x), x.topk(12).values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [lambda x: x, gapped], ids=["dense", "gapped"])
def test_scans_of_any_shape(shape, make):
    x = make(rand(*shape))
    for dim in dims(shape) or (0,):
        wide = full(x)
        expect(run(lambda fd, t, d=dim: fd.ops.cumsum(t, d), x), wide.cumsum(dim))
        expect(run(lambda fd, t, d=dim: fd.ops.cumprod(t, d), x), wide.cumprod(dim))
        if x.numel():
            expect(run(lambda fd, t, d=dim: fd.ops.cummax(t, d), x), wide.cummax(dim).values)
            expect(run(lambda fd, t, d=dim: fd.ops.cummin(t, d), x), wide.cummin(dim).values)


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, *COMPLEX])
def test_scans_of_any_dtype(dtype):
    x = rand(3, 12, dtype=dtype)
    scale = (0.1, 0.1) if dtype in HALVES else None
    expect(run(lambda fd, t: fd.ops.cumsum(t, 1), x), full(x).cumsum(1).to(dtype), tolerance=scale)
    expect(run(lambda fd, t: fd.ops.cumprod(t, 0), x), full(x).cumprod(0).to(dtype), tolerance=scale)
    if not dtype.is_complex:
        expect(run(lambda fd, t: fd.ops.cummax(t, 1), x), full(x).cummax(1).values.to(dtype))


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS])
def test_scans_from_the_end(dtype):
    x = rand(3, 12, dtype=dtype)
    scale = (0.1, 0.1) if dtype in HALVES else None
    wide = full(x)
    expect(
        run(lambda fd, t: fd.ops.cumsum(t, 1, backward=True), x),
        wide.flip(1).cumsum(1).flip(1).to(dtype),
        tolerance=scale,
    )
    expect(run(lambda fd, t: fd.ops.cummax(t, 0, backward=True), x), wide.flip(0).cummax(0).values.flip(0).to(dtype))
    behind = wide.flip(0).cumsum(0).flip(0).to(dtype) + torch.tensor(3).to(dtype)
    expect(run(lambda fd, t: fd.ops.cumsum(t, 0, 3, backward=True), x), behind, tolerance=scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_scans_behind_a_number(dtype):
    x = rand(4, 9, dtype=dtype)
    got = run(lambda fd, t: (fd.ops.cumsum(t, 1, 3.0), fd.ops.cumprod(t, 0, 2.0), fd.ops.cummax(t, 1, 0.0)), x)
    wide = full(x)
    of_max = wide.cummax(1).values.clamp(min=0)
    loose = (0.05, 0.05) if dtype in HALVES else None
    expect(got, wide.cumsum(1) + 3, wide.cumprod(0) * 2, of_max, tolerance=loose)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_of_half_are_rounded_once(dtype):
    """Summed in Half they would stay at 256 (BFloat16) or 2048."""
    x = torch.ones(2, 4096, dtype=dtype)
    expect(run(lambda fd, t: fd.ops.cumsum(t, 1), x), full(x).cumsum(1).to(dtype), tolerance=(0, 0))
    index = torch.zeros(4096, dtype=torch.int64)
    table = torch.zeros(3, 2, dtype=dtype)
    got = run(rows_added, table, index, x.T.contiguous())
    expect(got, torch.tensor([[4096.0] * 2, [0.0] * 2, [0.0] * 2]), tolerance=(0, 0))


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, *COMPLEX, torch.bool, torch.float8_e4m3fn])
@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
def test_scatter(dtype, index_dtype):
    x = rand(6, 5, dtype=torch.int8).to(dtype)
    source = rand(4, 5, dtype=torch.int8, seed=1).to(dtype)
    index = torch.stack([torch.randperm(6)[:4] for _ in range(5)], 1)  # no place twice
    moved = x.view(torch.uint8) if dtype == torch.float8_e4m3fn else x
    values = source.view(torch.uint8) if dtype == torch.float8_e4m3fn else source
    expected = moved.scatter(0, index, values).view(dtype)
    for make in (lambda t: t, gapped):
        got = run(lambda fd, t, i, s: fd.ops.scatter(t, i, s, 0), make(x), make(index.to(index_dtype)), make(source))
        expect(
            [full(got[0].float()) if dtype == torch.float8_e4m3fn else got[0]],
            full(expected.float()) if dtype == torch.float8_e4m3fn else expected,
        )


def test_scatter_of_a_number_and_of_nothing():
    x = rand(6, 5)
    index = torch.tensor([[1, 0, 5, 2, 3]])
    got = run(lambda fd, t, i: fd.ops.scatter(t, i, fd.define_scalar(2.5, DataType.Double), 0), x, index)
    expect(got, x.scatter(0, index, 2.5))
    none = torch.zeros(0, 5, dtype=torch.int64)
    expect(run(lambda fd, t, i, s: fd.ops.scatter(t, i, s, 0), x, none, rand(0, 5)), x)


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, torch.complex64])
def test_elements_are_added_by_an_index(dtype):
    x, source = rand(5, 6, dtype=dtype), rand(5, 9, dtype=dtype, seed=1)
    index = torch.randint(0, 6, (5, 9), generator=torch.Generator().manual_seed(1))
    expected = full(x).scatter_add(1, index, full(source)).to(dtype)
    for make in (lambda t: t, gapped):
        got = run(lambda fd, t, i, s: fd.ops.scatter(t, i, s, 1, accumulate=True), make(x), make(index), make(source))
        expect(got, expected)
    got = run(lambda fd, t, i: fd.ops.scatter(t, i, fd.define_scalar(3, DataType.Int), 1, True), x, index)
    expect(got, full(x).scatter_add(1, index, torch.full_like(full(source), 3)).to(dtype))


@pytest.mark.parametrize("dtype", [*REALS, torch.int32, torch.int64, torch.complex64])
@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
def test_rows_are_added_to_a_table(dtype, index_dtype):
    """The gradient of an embedding."""
    table, values = rand(7, 5, dtype=dtype), rand(20, 5, dtype=dtype, seed=1)
    index = torch.randint(0, 7, (20,), generator=torch.Generator().manual_seed(0))
    expected = full(table).index_put((index,), full(values), accumulate=True)
    for make in (lambda t: t, gapped):
        got = run(
            rows_added,
            make(table),
            index.to(index_dtype),
            make(values),
        )
        expect(got, expected)
    flat = run(rows_added, table[:, 0].contiguous(), index, values[:, 0])
    expect(flat, expected[:, 0])


def test_an_index_that_is_not_there():
    if ON_GPU:
        pytest.skip("a GPU only tells when the process cannot go on")
    for bad in (7, -1):
        for define in (
            rows_added,
            lambda fd, t, i, v: fd.ops.scatter(t, fd.ops.broadcast_in_dim(i, [3, 5], [0]), v, 0),
        ):
            with pytest.raises(IndexError, match=rf"scatter.*{bad}.*7"):
                run(define, rand(7, 5), torch.tensor([0, bad, 1]), rand(3, 5))


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX, torch.int8, torch.uint8, torch.int16])
def test_products_that_cublas_may_leave(dtype):
    x, y, bias = rand(6, 8, dtype=dtype), rand(8, 5, dtype=dtype, seed=1), rand(5, dtype=dtype, seed=2)
    for make in (lambda t: t, gapped):
        got = run(lambda fd, a, b: fd.ops.matmul(a, b), make(x), make(y))
        expect(got, (full(x) @ full(y)).to(dtype))
    got = run(lambda fd, a, b, c: fd.ops.linear(a, b, c), x, y.T.contiguous(), bias)
    expect(got, (full(x) @ full(y) + full(bias)).to(dtype))
    got = run(lambda fd, a, b: fd.ops.matmul(a, b), x[:, :0].contiguous(), y[:0])
    expect(got, torch.zeros(6, 5, dtype=dtype))
    got = run(lambda fd, a, b: fd.ops.matmul(a, b), torch.stack([x, x]), y)
    expect(got, (full(torch.stack([x, x])) @ full(y)).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_and_what_ends_them(dtype):
    x, y, bias = rand(6, 9, dtype=dtype), rand(9, 5, dtype=dtype, seed=1), rand(5, dtype=dtype, seed=2)
    x = x.repeat(1, 2)[:, ::2]  # neither rows nor columns lie side by side
    got = run(lambda fd, a, b, c: fd.ops.relu(fd.ops.add(fd.ops.matmul(a, b), c)), x, y, bias)
    expect(got, (full(x) @ full(y) + full(bias)).relu())


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16])
def test_products_with_scales(dtype):
    x, y = rand(32, 64, dtype=dtype), rand(48, 64, dtype=dtype, seed=1).T
    wide = x.double() @ y.double()
    one, two = torch.tensor(0.5), torch.tensor(2.5)
    got = run(lambda fd, a, b, s, t: fd.ops.scaled_mm(a, b, s, t)[0], x, y, one, two)
    expect(got, wide * 1.25, tolerance=(2e-2, 2e-2))
    rows, columns = torch.rand(32, 1) + 0.5, torch.rand(1, 48) + 0.5
    got = run(lambda fd, a, b, s, t: fd.ops.scaled_mm(a, b, s, t)[0], x, y.contiguous(), rows, columns)
    expect(got, wide * rows * columns, tolerance=(2e-2, 5e-2))


@pytest.mark.parametrize("offsets", [[8, 8, 40], [0, 16, 24]])
def test_grouped_products(offsets):
    x = rand(40, 32, dtype=torch.bfloat16)
    weights = rand(3, 32, 16, dtype=torch.bfloat16, seed=1)
    ends = torch.tensor(offsets, dtype=torch.int32)
    expected = torch.zeros(40, 16, dtype=torch.float64)
    for group, (begin, end) in enumerate(zip([0, *offsets], offsets, strict=False)):
        expected[begin:end] = full(x)[begin:end] @ full(weights)[group]
    got = run(lambda fd, a, b, o: fd.ops.grouped_mm(a, b, o), x, weights, ends)
    expect(got, expected, tolerance=(2e-2, 5e-2))


# ---- attention ----


def heads(*shape, dtype, seed=0, order="dense"):
    x = rand(*shape, dtype=dtype, seed=seed)
    return x if order == "dense" else x.transpose(1, 2).contiguous().transpose(1, 2)


def attention(q, k, v, added=None, causal=False, scale=None):
    """Output and log-sum-exp, in Double."""
    q, k, v = (x.double() for x in (q, k, v))
    scores = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if added is not None:
        is_mask = added.dtype == torch.bool
        scores = scores.masked_fill(~added, -math.inf) if is_mask else scores + added.double()
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


ATTENTIONS = {  # queries, keys, numbers of a query, of a value
    "square": (64, 64, 32, 32),
    "odd": (37, 37, 20, 20),
    "few keys": (40, 16, 64, 64),
    "wide values": (24, 24, 32, 16),
    "one query": (1, 50, 64, 64),
}
SETTINGS = ({}, {"causal": True}, {"scale": 0.3})


@pytest.mark.parametrize("form", ATTENTIONS)
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
@pytest.mark.parametrize("order", ["dense", "heads inside"])
def test_attention(form, dtype, order):
    queries, keys, depth, width = ATTENTIONS[form]
    q = heads(2, 3, queries, depth, dtype=dtype, order=order)
    k = heads(2, 3, keys, depth, dtype=dtype, seed=1, order=order)
    v = heads(2, 3, keys, width, dtype=dtype, seed=2, order=order)
    loose = (2e-2, 2e-2) if dtype in HALVES else (1e-4, 1e-4)
    for settings in SETTINGS:
        causal, scale = settings.get("causal", False), settings.get("scale")
        expected = attention(q, k, v, **settings)
        got = run(lambda fd, q, k, v, c=causal, s=scale: fd.ops.sdpfa_fwd(q, k, v, None, None, 0.0, c, s), q, k, v)
        expect(got[:2], *expected, tolerance=loose)
        assert got[0].is_contiguous() and got[1].dtype == torch.float32
        assert got[2].shape == (2,) and got[3].shape == ()
        grad = heads(2, 3, queries, width, dtype=dtype, seed=3, order=order)
        leaves = [x.double().requires_grad_() for x in (q, k, v)]
        attention(*leaves, **settings)[0].backward(grad.double())
        operands = [grad, q, k, v, got[0], got[1], got[2], got[3]]
        got = run(
            lambda fd, g, q, k, v, o, lse, seed, offset, c=causal, s=scale: fd.ops.sdpfa_bwd(
                g, q, k, v, o, lse, 0.0, c, seed, offset, s
            ),
            *operands,
        )
        loose_grads = (5e-2, 5e-2) if dtype in HALVES else (1e-3, 1e-3)
        expect(got, *(leaf.grad for leaf in leaves), tolerance=loose_grads)


@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
@pytest.mark.parametrize("keys", [32, 37])
def test_attention_with_a_bias_or_a_mask(dtype, keys):
    q, k, v = (heads(2, 3, n, 16, dtype=dtype, seed=n) for n in (24, keys, keys))
    loose = (2e-2, 2e-2) if dtype in HALVES else (1e-4, 1e-4)
    mask = torch.rand(2, 1, 24, keys, generator=torch.Generator().manual_seed(0)) < 0.7
    mask[..., 0] = True
    bias = rand(3, 24, keys, dtype=dtype)
    for name, added in (("mask", mask), ("bias", bias), ("bias", bias[:1].float()), ("mask", mask[0, 0])):
        for causal in (False, True):
            got = run(
                lambda fd, q, k, v, x, n=name, c=causal: fd.ops.sdpfa_fwd(q, k, v, is_causal=c, **{n: x})[:2],
                q, k, v, added,
            )  # fmt: skip
            expect(got, *attention(q, k, v, added, causal), tolerance=loose)


def test_attention_with_more_batches():
    q, k, v = (rand(2, 2, 3, 16, 8, seed=i) for i in range(3))
    got = run(lambda fd, q, k, v: fd.ops.sdpfa_fwd(q, k, v, is_causal=True)[:2], q, k, v)
    expect(got, *attention(q, k, v, causal=True), tolerance=(1e-4, 1e-4))


@pytest.mark.skipif(not ON_GPU, reason="on the CPU no kernel of PyTorch's has a dropout that both directions share")
def test_dropout_is_the_same_in_both_directions():
    q, k, v = (torch.randn(2, 4, 128, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    grad = torch.randn_like(q)
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(x) for x in (grad, q, k, v)]
        forward = fd.ops.sdpfa_fwd(*tensors[1:], dropout_p=0.3, is_causal=True)
        backward = fd.ops.sdpfa_bwd(*tensors, *forward[:2], 0.3, True, *forward[2:])
        for output in (*forward, *backward):
            fd.add_output(output)
    results = fd.execute([grad, q, k, v])
    other = fd.execute([grad, q, k, v])
    assert not torch.equal(results[0], other[0]), "each call draws anew"
    seed, offset = results[2], results[3]
    theirs = torch.ops.aten._scaled_dot_product_flash_attention_backward(
        grad, q, k, v, results[0], results[1], None, None, 128, 128, 0.3, True, seed, offset
    )
    for ours, one in zip(results[4:], theirs, strict=True):
        torch.testing.assert_close(ours, one, rtol=2e-2, atol=2e-2)


# ---- on a device ----


def test_what_pytorch_refuses_is_our_error():
    x = rand(3, 4)
    with pytest.raises(nvfuser.UserError, match=r"topk: .*k"):
        run(lambda fd, t, k: fd.ops.topk(t, k, -1)[0], x, 9)


def test_numbers_that_pytorch_does_not_have_go_another_way():
    x = torch.tensor([3, 1, 2], dtype=torch.uint16)
    by = "portable code on the host" if ON_GPU else "portable code"
    expect(run(lambda fd, t: fd.ops.argsort(t, 0), x, by=by), torch.tensor([1, 2, 0]))


def test_the_cpu_takes_what_is_faster():
    if ON_GPU:
        pytest.skip("of the CPU")
    nvfuser.pytorch_on_cpu("faster")
    x = rand(3, 4, dtype=torch.int8)  # no kernel scans it
    sums = full(x).cumsum(1).to(torch.int8)
    expect(run(lambda fd, t: fd.ops.cumsum(t, 1), x), sums)
    expect(run(lambda fd, t: fd.ops.argsort(t, 1), x, by="portable code"), torch.argsort(x, dim=1, stable=True))
    nvfuser.pytorch_on_cpu("none")
    expect(run(lambda fd, t: fd.ops.cumsum(t, 1), x, by="portable code"), sums)
    with pytest.raises(nvfuser.UserError, match="known: none, faster, all"):
        nvfuser.pytorch_on_cpu("some")


@pytest.mark.parametrize("order", [("torch", "nvfuser"), ("nvfuser", "torch")])
def test_the_order_of_imports_does_not_matter(order):
    program = f"""
import {order[0]}
import {order[1]}
nvfuser.pytorch_on_cpu("all")
with nvfuser.FusionDefinition() as fd:
    x = torch.randn(4, 6, device="{DEVICE}")
    fd.add_output(fd.ops.argsort(fd.from_pytorch(x), 0))
fd.execute([x])
assert "run by PyTorch" in fd.explain()
"""
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_many_threads_at_once():
    def call(seed):
        x = rand(40, 300, seed=seed).to(DEVICE)
        for _ in range(20):
            values, sums = fd.execute([x])
            assert torch.equal(values, x.topk(5).values)
            torch.testing.assert_close(sums, x.cumsum(1), rtol=1e-4, atol=1e-4)
        return True

    with FusionDefinition() as fd:
        t = fd.define_tensor([-1, -1], dtype=DataType.Float)
        fd.add_output(fd.ops.topk(t, 5)[0])
        fd.add_output(fd.ops.cumsum(t, 1))
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(4)))


def test_arrays_of_others_are_served_too():
    if ON_GPU:
        pytest.skip("NumPy is of the CPU")
    x = rand(5, 7).numpy()
    with FusionDefinition() as fd:
        t = fd.define_tensor([-1, -1], dtype=DataType.Float)
        fd.add_output(fd.ops.argsort(t, 1))
        fd.add_output(fd.ops.cumsum(t, 0))
    order, sums = fd.execute([x])
    assert "run by PyTorch" in fd.explain() and isinstance(order, numpy.ndarray)
    numpy.testing.assert_array_equal(order, x.argsort(1, kind="stable"))
    numpy.testing.assert_allclose(sums, x.cumsum(0), rtol=1e-5)


def test_pytorchs_modes_do_not_reach_in():
    """Autocast, inference and a graph of gradients are of the caller's operations, not of a Fusion's."""
    x = rand(4, 6)
    for mode in (torch.autocast(DEVICE, dtype=torch.bfloat16), torch.inference_mode(), torch.enable_grad()):
        with mode:
            got = run(lambda fd, t: (fd.ops.cumsum(t, 1), fd.ops.matmul(t, fd.ops.permute(t, [1, 0]))), x)
        expect(got, x.double().cumsum(1), x.double() @ x.double().T)


@pytest.mark.skipif(not ON_GPU, reason="of a GPU")
class TestOnAGpu:
    @staticmethod
    def program():
        x = torch.randn(64, 1024, device=DEVICE)
        q, k, v = (torch.randn(2, 4, 64, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        index = torch.randint(0, 64, (200,), device=DEVICE)
        rows = torch.randn(200, 1024, device=DEVICE)
        with FusionDefinition() as fd:
            t, q_, k_, v_, i, r = (fd.from_pytorch(value) for value in (x, q, k, v, index, rows))
            values, indices = fd.ops.topk(fd.ops.mul(t, t), 8, -1, True, True)
            outputs = (
                values,
                indices,
                fd.ops.argsort(t, -1),
                fd.ops.cumsum(t, -1),
                fd.ops.cummax(t, 0),
                rows_added(fd, t, i, r),
                fd.ops.sdpfa_fwd(q_, k_, v_, is_causal=True)[0],
            )
            for output in outputs:
                fd.add_output(output)
        return fd, [x, q, k, v, index, rows]

    def test_nothing_is_copied_to_the_host(self, capfd):
        fd, inputs = self.program()
        fd.execute(inputs)
        torch.cuda.synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            fd.execute(inputs)
            torch.cuda.synchronize()
        names = [event.name for event in profile.events()]
        copies = [name for name in names if name.startswith("Memcpy ") and "DtoD" not in name]
        assert copies == [], copies
        assert "runs on the host" not in capfd.readouterr().err

    def test_it_is_part_of_a_cuda_graph(self):
        fd, inputs = self.program()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                fd.execute(inputs)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            results = fd.execute(inputs)
        inputs[0].copy_(torch.randn_like(inputs[0]))
        graph.replay()
        torch.cuda.synchronize()
        for one, other in zip(results, fd.execute(inputs), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)

    def test_streams_of_the_caller(self):
        fd, inputs = self.program()
        expected = fd.execute(inputs)
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            waits = torch.randn(4096, 4096, device=DEVICE)
            for _ in range(20):
                waits = waits @ waits
            late = [x.clone() for x in inputs]
            results = fd.execute(late)
        stream.synchronize()
        for one, other in zip(results, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(not ON_GPU, reason="the host is no detour of the CPU")
def test_what_goes_by_the_host_says_so_once():
    program = textwrap.dedent("""
        import torch
        from nvfuser import DataType, FusionDefinition
        x = torch.randint(0, 99, (10,), device="cuda").to(torch.uint16)
        with FusionDefinition() as fd:
            fd.add_output(fd.ops.argsort(fd.define_tensor([-1], dtype=DataType.UInt16), 0))
        fd.execute([x]); fd.execute([x])
    """)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    (line,) = [line for line in done.stderr.splitlines() if "runs on the host" in line]
    for words in ("argsort", "20 bytes", "80 bytes", "cast it"):
        assert words in line
