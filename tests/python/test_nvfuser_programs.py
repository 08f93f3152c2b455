"""Programs as the documentation of nvFuser's Python package has users write them: values, dtypes, strides, words, text.

Each is a program of our own about one part of the interface: promotion, reductions, scans, shapes, indices, factories,
numbers, complex and integer arithmetic, views, executors, schedules, caches, profiles, options.
"""

import re

import nvfuser_direct as nvf
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition, SchedulerType, ops
from tested_device import DEVICE

NAN, INF = float("nan"), float("inf")
SCALARS = {int: DataType.Int, float: DataType.Double, bool: DataType.Bool, complex: DataType.ComplexDouble}


def random(*sizes, **options):
    return torch.randn(*sizes, device=DEVICE, **options)


def defined(define, *inputs):
    """What `define` gives, one output or several; numbers among the inputs are scalars of the fusion."""
    with FusionDefinition() as fd:
        values = [
            fd.from_pytorch(x) if isinstance(x, torch.Tensor) else fd.define_scalar(SCALARS[type(x)]) for x in inputs
        ]
        results = define(fd, *values)
        for result in results if isinstance(results, list | tuple) else [results]:
            fd.add_output(result)
    return fd


def run(define, *inputs):
    return defined(define, *inputs).execute(list(inputs))


def same(ours, theirs, tolerance=0.0):
    """Values, dtypes, sizes and strides."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype and one.stride() == other.stride()
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def refused(define, *inputs):
    """What a wrong program says, when it is defined or when it is run."""
    with pytest.raises(RuntimeError) as error:
        run(define, *inputs)
    return str(error.value)


def tensors_of(fd):
    """The statements of a definition that make tensors, with one name for all scalars."""
    lines = [line.strip() for line in repr(fd).splitlines()[1:]]
    return [re.sub(r"\bc\d+\b", "c", line) for line in lines if re.match(r"tv\d+.* = fd\.ops", line)]


# Dtypes -------------------------------------------------------------------------------------------


def test_promotion():
    half, whole, single = random(4).half(), torch.arange(4, device=DEVICE), random(4)
    outputs = run(
        lambda fd, h, n, x, s, k: [
            ops.add(h, s),
            ops.add(n, s),
            ops.add(n, k),
            ops.mul(h, h),
            ops.where(ops.gt(x, s), h, s),
            ops.exp(n),
            ops.neg(n),
            ops.abs(h),
            ops.sum(h, [0]),
            ops.sum(ops.gt(x, s), [0]),
            ops.truediv(n, n),
            ops.bitwise_and(n, n),
            ops.lerp(n, n, s),
            ops.clamp(n, 1, 2),
        ],
        half,
        whole,
        single,
        1.5,
        2,
    )
    f16, f32, f64, i64 = torch.float16, torch.float32, torch.float64, torch.int64
    expected = [f32, f64, i64, f32, f16, f32, i64, f16, f16, i64, f32, i64, f64, i64]
    assert [each.dtype for each in outputs] == expected


# Ranks and reductions -----------------------------------------------------------------------------


def test_missing_axes_are_leading_ones():
    a, b, c = random(2, 3, 4), random(4), random(3, 1)
    fd = defined(lambda fd, a, b, c: [ops.add(a, b), ops.mul(c, a)], a, b, c)
    same(fd.execute([a, b, c]), [a + b, c * a])
    assert tensors_of(fd)[0] == "tv3 = fd.ops.broadcast(tv1, is_broadcast_dim=[True, True, False])"
    said = refused(lambda fd, a, b: ops.add(a, b), random(2, 3), random(4))
    assert "Tried to bind to a value: " in said and "(which evaluated to 4) as 3" in said


def test_reductions_of_nothing_and_of_what_is_expanded():
    nothing = torch.empty(3, 0, device=DEVICE)
    outputs = run(lambda fd, a: [ops.sum(a, [1]), ops.prod(a, 1), ops.max(a, [1]), ops.min(a, [1], True)], nothing)
    assert [each.flatten().tolist() for each in outputs] == [[0.0] * 3, [1.0] * 3, [-INF] * 3, [INF] * 3]
    column = random(3, 1)
    wide = column.expand(3, 4)
    outputs = run(lambda fd, a: [ops.sum(a, [1]), ops.prod(a, [-1]), ops.max(a, [1])], wide)
    same(outputs, [wide.sum(1), wide.prod(1), wide.amax(1)], 1e-5)


def test_what_reductions_refuse():
    x = random(3, 4)
    for define, words in (
        (lambda fd, a: ops.max(a, [0], False, DataType.Double), "A dtype other than Null is not currently supported"),
        (lambda fd, a: ops.sum(a, []), "No reduction axis specified"),
        (lambda fd, a: ops.sum(a, [2]), "Tried to access out of boundary index 2. total index: 2"),
        (lambda fd, a: ops.var_mean(ops.cast(a, DataType.Half), [0])[0], "is not supported for __half please upcast"),
        (lambda fd, a: ops.var(a, [0], -1), "correction must be non-negative, but got -1"),
    ):
        assert words in refused(define, x)


def test_statistics():
    x = random(4, 6)
    variance, mean = torch.var_mean(x, 1, correction=2, keepdim=True)
    outputs = run(lambda fd, a: [*ops.var_mean(a, [1], 2, True), ops.var(a, [0], 0), *ops.welford(a, [1])], x)
    expected = [variance, mean, x.var(0, correction=0), x.mean(1), x.var(1, correction=0) * 6]
    same(outputs, [*expected, torch.full((4,), 6, device=DEVICE)], 1e-5)
    one = run(lambda fd, a: [ops.var(a, [1], 1), ops.var(a, [1], 2)], torch.ones(2, 1, device=DEVICE))
    assert all(each.isnan().all() for each in one)


def test_scans_with_a_first_value():
    x = random(3, 5)
    outputs = run(
        lambda fd, a, s: [ops.cumsum(a, 1, s), ops.cumprod(a, -2), ops.cummax(a, 1), ops.cummin(a, 0)], x, 2.0
    )
    same(outputs, [x.cumsum(1) + 2.0, x.cumprod(0), x.cummax(1).values, x.cummin(0).values], 1e-5)


# Shapes -------------------------------------------------------------------------------------------


def test_broadcasts_to_sizes():
    x = random(4, 6)
    fd = defined(
        lambda fd, a: [ops.broadcast_in_dim(a, [4, -1, 2], [0, 1]), ops.broadcast_in_dim(a, [4, 3, 6], [-3, -1])], x
    )
    same(fd.execute([x]), [x[:, :, None].expand(4, 6, 2), x[:, None].expand(4, 3, 6)])
    assert tensors_of(fd)[1] == "tv2 = fd.ops.expand(tv1, shape=[4, c, 2])"
    for shape, dims, words in (
        ([4, 6, 2], [0, 0], "nonbroadcast_dim (0) is specified more than once."),
        ([4, 6], [0], "broadcast_dims has 1 entries for a tensor of rank 2"),
        ([4, 7], [0, 1], "axis 1 of T0 has size 6, but 7 is needed"),
    ):
        assert words in refused(lambda fd, a, to=(shape, dims): ops.broadcast_in_dim(a, *to), x)


def test_views_are_of_one_memory():
    x = random(4, 6)
    fd = defined(
        lambda fd, a: [
            ops.reshape(a, [-1]),
            ops.permute(a, [1, 0]),
            ops.slice(a, [0, 1], [4, 3]),
            ops.broadcast(a, [True, False, False]),
            ops.squeeze(ops.broadcast(a, [True, False, False]), [0]),
            ops.permute(ops.permute(a, [1, 0]), [1, 0]),
            ops.expand(ops.broadcast(a, [False, True, False]), [-1, 3, -1]),
        ],
        x,
    )
    outputs = fd.execute([x])
    expected = [x.flatten(), x.t(), x[:, 1:3], x[None], x, x, x[:, None].expand(4, 3, 6)]
    same(outputs, expected)
    assert [each.data_ptr() for each in outputs] == [each.data_ptr() for each in expected]
    first, flat, turned = run(lambda fd, a: [r := ops.relu(a), ops.reshape(r, [-1]), ops.permute(r, [1, 0])], x)
    assert first.data_ptr() == flat.data_ptr() == turned.data_ptr() != x.data_ptr()


def test_pads_and_joins():
    x = random(4, 6)
    flags = x > 0
    outputs = run(
        lambda fd, a, b: [
            ops.pad(a, [-1, 2]),
            ops.pad(a, [0, 0, 1, -2], fd.define_scalar(3.0)),
            ops.pad(b, [1, 1]),
            ops.cat([a, a], -1),
            ops.cat([b], 0),
        ],
        x,
        flags,
    )
    pad = torch.nn.functional.pad
    same(outputs, [pad(x, [-1, 2]), pad(x, [0, 0, 1, -2], value=3.0), pad(flags, [1, 1]), torch.cat([x, x], 1), flags])
    for define, words in (
        (
            lambda fd, a, b: ops.pad(a, [1, 1], fd.define_scalar(3)),
            "Tensor arg and pad value must have the same dtype.",
        ),
        (lambda fd, a, b: ops.cat([], 0), "No input tensor given"),
        (lambda fd, a, b: ops.cat([a, a], 2), "Invalid dimension to cat"),
        (lambda fd, a, b: ops.cat([a, b], 0), "Can't concatenate tensors with different data types"),
        (lambda fd, a, b: ops.cat([a, ops.sum(a, [0])], 0), "Unexpected number of dimensions"),
        (lambda fd, a, b: ops.reshape(a, [-1, -1]), "A maximum of one value of -1 can be provided to reshape."),
        (lambda fd, a, b: ops.reshape(a, [5, 5]), "Total element counts across view operation must match"),
        (lambda fd, a, b: ops.permute(a, [0]), "argument to have the same length as input"),
    ):
        assert words in refused(define, x, flags)


def test_orders_in_memory():
    x = random(2, 3, 4)
    (out,) = run(lambda fd, a: ops.stride_order(a, [0, 2, 1]), x)
    assert torch.equal(out, x) and out.stride() == (1, 8, 2)
    last = random(2, 4, 5, 3).permute(0, 3, 1, 2)
    same(run(lambda fd, a: ops.relu(a), last), [last.relu()])


# Indices ------------------------------------------------------------------------------------------


def test_reads_and_writes_at_an_index():
    x, index = random(4, 6), torch.tensor([[0, 1], [3, 2]], device=DEVICE)
    outputs = run(
        lambda fd, a, i, k, s: [
            ops.gather(a, i, 1),
            ops.select(a, k, 1),
            ops.index_select(a, ops.select(i, 1, 0), 0),
            ops.scatter(a, i, s, 1),
            ops.scatter(a, i, ops.gather(a, i, 1), 0),
        ],
        x,
        index,
        2,
        9.0,
    )
    expected = [x.gather(1, index), x.select(1, 2), x.index_select(0, index[1]), x.scatter(1, index, 9.0)]
    same(outputs, [*expected, x.scatter(0, index, x.gather(1, index))])
    for define, words in (
        (lambda fd, a, i: ops.gather(a, i, 2), "dim argument must satisfy -2 <= dim < 2, but received 2"),
        (lambda fd, a, i: ops.gather(a, ops.sum(i, [0]), 0), "Tensor arguments have different dimensions 2 and 1"),
        (lambda fd, a, i: ops.select(a, 0, 2), "Tried to access out of boundary index 2. total index: 2"),
        (lambda fd, a, i: ops.triu(ops.sum(a, [0])), "input tensor for triu must have 2 or more dims, but got 1 dims"),
    ):
        assert words in refused(define, x, index)


def test_rows_of_a_table():
    table, rows = random(10, 6), torch.tensor([[1, 2], [7, 1]], device=DEVICE)
    embedding = torch.nn.functional.embedding
    outputs = run(lambda fd, i, w: [ops.embedding_fwd(i, w), ops.embedding_fwd(i, w, 1, 1.0)], rows, table)
    same(outputs, [embedding(rows, table), embedding(rows, table.clone(), 1, 1.0)], 1e-5)


def test_the_first_in_order():
    x = random(4, 6)
    outputs = run(
        lambda fd, a, k: [
            *ops.topk(a, k, 1, True, True),
            *ops.topk(a, fd.define_scalar(1), 0, False),
            ops.argsort(a, 1, True),
        ],
        x,
        2,
    )
    expected = [*x.topk(2, 1), *x.topk(1, 0, largest=False), x.argsort(1, descending=True)]
    same(outputs, expected)
    assert "k is 20 for an axis of extent 6" in refused(lambda fd, a: ops.topk(a, fd.define_scalar(20), 1)[0], x)


# Factories ----------------------------------------------------------------------------------------


def test_tensors_from_nothing():
    def define(fd):
        number = fd.define_scalar
        return [
            ops.iota(number(5)),
            ops.iota(number(5), number(2), number(3), DataType.Int32),
            ops.iota(number(4), number(0.5), number(0.25), DataType.Float),
            ops.full([2, 3], number(1.5), DataType.Half),
            ops.full(shape=[2], fill_value=number(True), dtype=DataType.Bool),
        ]

    expected = [
        torch.arange(5),
        torch.arange(2, 15, 3, dtype=torch.int32),
        torch.arange(0.5, 1.5, 0.25),
        torch.full((2, 3), 1.5, dtype=torch.float16),
        torch.ones(2, dtype=torch.bool),
    ]
    same([each.cpu() for each in run(define)], expected)
    for wrong, words in (
        (lambda fd: ops.iota(5, 0, 0, DataType.Int), "step value must not equal zero"),
        (
            lambda fd: ops.uniform(0.0, 1.0, [4], dtype=DataType.Int),
            "Random distributions only create floating point types! ",
        ),
        (lambda fd: ops.normal(0.0, 1.0, [4], rng_seed=1), "rng_seed and rng_offset must be provided together"),
    ):
        assert words in refused(wrong)


@pytest.mark.parametrize("dtype", [DataType.Double, DataType.Float, DataType.Half, DataType.BFloat16])
def test_draws_differ_and_repeat(dtype):
    fd = defined(lambda fd: ops.uniform(fd.define_scalar(-1.0), fd.define_scalar(1.0), [4], dtype=dtype))

    def draws():
        torch.manual_seed(0)
        return [tuple(fd.execute([])[0].tolist()) for _ in range(50)]

    first = draws()
    assert first == draws() and len(set(first)) > 45
    assert all(-1 <= number <= 1 for draw in first for number in draw)


# Numbers ------------------------------------------------------------------------------------------


def test_integers():
    n = torch.arange(-6, 18, device=DEVICE)
    m = n % 5 + 1
    outputs = run(
        lambda fd, a, b: [
            ops.bitwise_xor(a, b),
            ops.bitwise_left_shift(a, b),
            ops.bitwise_right_shift(a, b),
            ops.gcd(a, b),
            ops.bitwise_not(a),
            ops.fmod(a, b),
            ops.remainder(a, b),
            ops.div(a, b),
            ops.mod(a, b),
        ],
        n,
        m,
    )
    truncated = n.div(m, rounding_mode="trunc")
    expected = [n ^ m, n << m, n >> m, n.gcd(m), ~n, n.fmod(m), n.remainder(m), truncated, n.fmod(m)]
    same(outputs, expected)
    (zeros_in,) = run(lambda fd, a, b: ops.logical_right_shift(a, b), n, m)
    assert zeros_in.tolist() == [(a % 2**64) >> b for a, b in zip(n.tolist(), m.tolist(), strict=True)]
    x = random(3)
    for define, words in (
        (lambda fd, a: ops.bitwise_and(a, a), "Integer or boolean input is required for bitwise_and but found float"),
        (lambda fd, a: ops.bitwise_left_shift(a, a), "input must have integral type, but got float"),
        (lambda fd, a: ops.gcd(a, a), "input must have integral type, but got float"),
    ):
        assert words in refused(define, x)
    assert "single or double precision float but found int64_t" in refused(lambda fd, a: ops.nextafter(a, a), n)


def test_flags():
    a, b = (torch.tensor(flags, device=DEVICE) for flags in ([True, True, False], [True, False, False]))
    fd = defined(
        lambda fd, a, b: [ops.bitwise_and(a, b), ops.bitwise_or(a, b), ops.bitwise_xor(a, b), ops.bitwise_not(a)], a, b
    )
    same(fd.execute([a, b]), [a & b, a | b, a ^ b, ~a])
    assert [re.search(r"ops\.(\w+)", line)[1] for line in tensors_of(fd)] == [
        "logical_and",
        "logical_or",
        "ne",
        "logical_not",
    ]


def test_complex_numbers():
    x, y = random(5), random(5)
    z = torch.complex(x, y)
    outputs = run(
        lambda fd, a, b: [ops.complex(a, b), ops.real(ops.complex(a, b)), ops.imag(ops.complex(a, b)), ops.real(a)],
        x,
        y,
    )
    same(outputs, [z, x, y, x])
    outputs = run(
        lambda fd, z: [ops.exp(z), ops.abs(z), ops.mul(z, z), ops.sum(z, [0]), ops.isfinite(z), ops.eq(z, z)], z
    )
    same(outputs, [z.exp(), z.abs(), z * z, z.sum(), z.real.isfinite(), z == z], 1e-5)
    assert "imag not supported for non-complex tensors and scalars" in refused(lambda fd, a: ops.imag(a), x)


def test_numbers_that_are_none():
    x = torch.tensor([NAN, 1.0, -INF, INF, -2.5, 2.5, 0.5, -0.0], device=DEVICE)
    y = torch.tensor([1.0, NAN, 1, 1, 1, 1, 1, 1], device=DEVICE)
    names = [
        "relu",
        "sign",
        "round",
        "trunc",
        "signbit",
        "isreal",
        "isneginf",
        "isposinf",
        "logical_not",
        "isinf",
        "isnan",
    ]
    outputs = run(
        lambda fd, a, b: [ops.maximum(a, b), ops.minimum(a, b), *(getattr(ops, name)(a) for name in names)], x, y
    )
    same(outputs, [x.maximum(y), x.minimum(y), *(getattr(torch, name)(x) for name in names)])
    (greatest,) = run(lambda fd, a: ops.max(a, [0]), x)
    assert greatest.isnan()


def test_three_operands():
    x, y = random(8), random(8)
    outputs = run(
        lambda fd, a, b: [
            ops.clamp(a, None, fd.define_scalar(0.5)),
            ops.clamp(a, fd.define_scalar(0.0)),
            ops.threshold(a, fd.define_scalar(0.1), fd.define_scalar(-1.0)),
            ops.addcmul(a, b, b, fd.define_scalar(2.0)),
            ops.lerp(a, b, fd.define_scalar(0.25)),
            ops.where(ops.gt(a, b), 1, 2),
        ],
        x,
        y,
    )
    numbers = torch.where(x > y, torch.tensor(1, device=DEVICE), torch.tensor(2, device=DEVICE))
    expected = [
        x.clamp(max=0.5),
        x.clamp(min=0.0),
        torch.threshold(x, 0.1, -1.0),
        x + 2 * y * y,
        x.lerp(y, 0.25),
        numbers,
    ]
    same(outputs, expected, 1e-6)
    assert "Condition should be of DataType Bool" in refused(lambda fd, a: ops.where(a, a, a), x)


def test_sizes_and_values_computed_from_scalars():
    def define(fd, t, a, b):
        half = ops.ceil(ops.div(b, 2.0))
        assert isinstance(half, nvf.Val) and half.is_symbolic() and not half.is_tensor()
        return [
            ops.full([ops.cast(half, DataType.Int), ops.add(a, 2)], ops.sqrt(b), DataType.Float),
            ops.mul(t, ops.sub(ops.mul(b, 3.0), ops.abs(ops.neg(b)))),
        ]

    fd = defined(define, torch.ones(3, device=DEVICE), 4, 5.0)
    for a, b in ((4, 5.0), (1, 9.0)):
        filled, product = fd.execute([torch.ones(3, device=DEVICE), a, b])
        assert filled.shape == (-(-b // 2), a + 2) and torch.allclose(filled, torch.full_like(filled, b**0.5))
        assert product.tolist() == [2 * b] * 3


def test_sizes_that_are_given():
    with FusionDefinition() as fd:
        t, v = fd.define_tensor([-1], [True]), fd.define_vector(2)
        fd.add_output(ops.reshape(t, v))
        fd.add_output(ops.broadcast_in_dim(t, [v[0], ops.size(t, 0)], [1]))
    x = random(6)
    for sizes in ([[2, 3]], [(3, 2)], [6, 1]):  # nested once, or each by itself
        first = sizes[0] if len(sizes) == 1 else sizes
        same(fd.execute([x, *sizes]), [x.reshape(*first), x.expand(first[0], 6)])
    with pytest.raises(RuntimeError, match="Total element counts across view operation must match"):
        fd.execute([x, [4, 2]])


# Inputs -------------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit():
    def said(shape, contiguity, given):
        with FusionDefinition() as fd:
            fd.add_output(ops.relu(fd.define_tensor(shape=shape, contiguity=contiguity)))
        with pytest.raises(RuntimeError) as error:
            fd.execute([given])
        return str(error.value)

    x = random(4, 6)
    assert "Tried to bind to a constant value: 5 as 6" in said([4, 5], [True, True], x)
    assert "Expecting an expanded dimension on dimension 1" in said([-1, 4], [True, None], x[:, :4])
    assert "'s stride mismatch with contiguity info." in said([-1, -1], [True, True], x.t())
    assert "to be bound to a tensor of rank 2, but got a tensor of rank 1" in said([-1, -1], [True, True], x[0])
    assert "to be bound to a tensor of dtype float, but got a tensor of dtype int" in said(
        [-1, -1], [True, True], x.int()
    )
    with FusionDefinition() as fd:
        fd.add_output(ops.relu(fd.define_tensor(shape=[-1, 4], contiguity=[True, None])))
    (out,) = fd.execute([(column := random(5)).reshape(5, 1).expand(5, 4)])
    assert torch.equal(out, column.relu()[:, None].expand(5, 4))


# Executors ----------------------------------------------------------------------------------------


def summed():
    with FusionDefinition() as fd:
        fd.add_output(ops.sum(ops.exp(fd.define_tensor([-1, -1], [True, True])), [1]))
    return fd


def test_fusions_without_a_definition():
    fusions = []
    for _ in range(2):
        fusion = nvf.Fusion()
        with nvf.FusionGuard(fusion):
            t = nvf.define_tensor([-1, -1], [True, True])
            fusion.add_input(t)
            fusion.add_output(ops.relu(t))
        fusions.append(fusion)
    assert fusions[0] == fusions[1] and len(fusions[0].inputs()) == len(fusions[0].outputs()) == 1
    text = nvf.translate_fusion(fusions[0])
    assert "    tv1 = fd.ops.relu(tv0)\n    fd.add_output(tv1)\n" in text
    x = random(4, 6)
    kernel = nvf.KernelExecutor()
    assert not kernel.is_compiled()
    kernel.compile(fusions[0], [x])
    assert kernel.is_compiled() and torch.equal(kernel.run([x])[0], x.relu())
    cache = nvf.FusionExecutorCache(fusions[1])
    assert torch.equal(cache.execute([x])[0], x.relu()) and cache.is_compiled([x])
    assert "relu" in cache.get_cuda_kernel([x]) and "T1" in cache.get_most_recent_scheduled_ir()
    with pytest.raises(RuntimeError, match="no fusion is being defined"):
        nvf.define_tensor([2], [True])


def test_heuristics_for_a_run_by_hand():
    x = random(4, 6)
    schedule = nvf.schedule
    fusion = summed().fusion
    assert schedule.can_schedule(fusion, SchedulerType.reduction, [x]) == (True, "")
    assert schedule.find_compatible_schedulers(fusion, [x]) == [SchedulerType.reduction]
    params = schedule.compute_heuristics(fusion, SchedulerType.reduction, [x])
    again = schedule.compute_heuristics(fusion, SchedulerType.reduction, [x])
    assert isinstance(params, nvf.ReductionParams) and params == again and hash(params) == hash(again)
    with FusionDefinition() as fd:
        fd.add_output(ops.sum(ops.exp(fd.define_tensor([-1, -1], [True, True])), [1]))
        params = schedule.schedule(fd.fusion, SchedulerType.reduction, [x])
    torch.testing.assert_close(fd.manual_execute([x], params)[0], x.exp().sum(1), rtol=1e-5, atol=1e-5)
    fd.manual_validate([x])
    with pytest.raises(
        AssertionError, match=r"KernelExecutor already exists! Use manual_execute\(\) to execute the fusion."
    ):
        fd.execute([x])


def test_validation():
    fd, x = summed(), random(4, 6)
    reference = x.exp().sum(1)
    for given in ([], [[reference]]):
        torch.testing.assert_close(fd.validate([x], *given)[0], reference, rtol=1e-5, atol=1e-5)
    with pytest.raises(AssertionError, match="output 0: Tensor-likes are not close!"):
        fd.validate([x], [reference + 1])
    ((absolute, relative),) = nvf.get_val_tolerances(fd.fusion, [x])
    assert 1e-6 < absolute < 1e-4 and 1e-6 < relative < 1e-4
    nvf.validate_with_auto_inferred_outputs(fd.fusion, [reference], [x])
    with pytest.raises(RuntimeError, match="is wrong in 4 of 4 elements"):
        nvf.validate_with_auto_inferred_outputs(fd.fusion, [reference + 1], [x])


def test_a_cache_of_fusions():
    @nvf.LruFusionCache(max_fusions=2)
    def make(dim):
        with FusionDefinition() as fd:
            fd.add_output(ops.sum(fd.define_tensor([-1, -1], [True, True]), dim))
        return fd

    assert make.stats().splitlines()[:2] == ["Max Fusions Allowed: 2", "The fusion cache is empty."]
    x = random(4, 6)
    for dim in (0, 1, 0, 0):
        torch.testing.assert_close(make(dim).execute([x])[0], x.sum(dim), rtol=1e-5, atol=1e-5)
    assert make.num_fusions() == 2
    assert make.stats().splitlines() == [
        "Max Fusions Allowed: 2",
        "Total Fusions in Cache: 2",
        "Total Unique Fusions Compiled: 2",
        "Cache Hits by LRU ordering:",
        "\t0 -> 2 hits",
        "\t1 -> 0 hits",
        "Cache Lookups: 4",
        "Cache Hits: 2",
        "Hit Rate: 50%",
    ]
    with pytest.raises(RuntimeError, match="max_fusions must be greater than 0"):
        nvf.LRUCache(0)


def test_a_boundary_makes_two_kernels():
    x = random(4, 6)
    for operation, kernels in ((ops.set, 1), (ops.segment_set, 2)):
        fd = defined(lambda fd, a, op=operation: ops.exp(op(ops.relu(a))), x)
        with nvf.PythonProfiler() as profiler:
            (out,) = fd.execute([x])
        torch.testing.assert_close(out, x.relu().exp(), rtol=1e-6, atol=1e-6)
        assert profiler.profile.segments == len(profiler.profile.kernel_profiles) == kernels


def test_scripts_that_repeat_a_call():
    x = random(6, 4).t()
    fd = defined(lambda fd, a, s: ops.add(a, s), x, 2.0)
    with pytest.raises(AssertionError, match=r"cannot provide a repro because fd.execute"):
        fd.execute([x, 2.0])
        fd.last_repro_script()
    fd.execute([x, 2.0], save_repro_inputs=True)
    script = fd.last_repro_script()
    assert script == fd.repro_script_for([x, 2.0])
    assert ".as_strided((4, 6), (1, 4))" in script and "\n    2.0,\n]\nfd.execute(inputs)\n" in script
    exec(script, {})
