"""The module nvfuser as programs of 2023 to 2025 use it: definitions, values, and operations in older spellings."""

import pytest

torch = pytest.importorskip("torch")

import nvfuser  # noqa: E402
from frontend_support import defined, negation, random, run  # noqa: E402
from nvfuser import DataType, Fusion, FusionDefinition, Scalar, Tensor, Vector  # noqa: E402
from tested_device import DEVICE  # noqa: E402

# Definition ---------------------------------------------------------------------------------------


def test_one_class_for_both_ways_to_define():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        negation(fd)
    x = random(2, 3)
    assert isinstance(fd, FusionDefinition) and nvfuser._C.FusionDefinition is FusionDefinition
    assert torch.equal(fusion.execute([x])[0], -x) and torch.equal(fd.execute([x])[0], -x)
    assert defined(negation).id() == fd.id() == fusion.id()


def test_define_tensor_in_all_its_spellings():
    x = random(4, 1, 6)
    lies = {"sizes": x.size(), "strides": x.stride()}
    spellings = [
        ((), {"shape": [-1, 1, -1], "contiguity": [True, None, True]}),
        ((), {"shape": (-1, 1, -1), "contiguity": True, "is_cpu": False, "stride_order": (2, 1, 0)}),
        ((), {"symbolic_sizes": [-1, 1, -1], "contiguous": [True, True, True]}),
        ((), {"symbolic_sizes": [-1, 1, -1], "contiguity": [True, None, True]}),
        ((), {"shape": [4, 1, 6], "contiguity": [True, None, True], "dtype": DataType.Float}),
        (([-1, 1, -1], [True, None, True], DataType.Float), {}),
        (([-1, -1, -1],), {}),
        ((3,), {}),
        ((3, DataType.Float), {}),
        ((), {"ndims": 3, "dtype": DataType.Float}),
        ((), lies),
        ((), {**lies, "static_sizes": True}),
        ((x.size(), x.stride(), DataType.Float), {}),
    ]

    def define(fd):
        for args, kwargs in spellings:
            tensor = fd.define_tensor(*args, **kwargs)
            assert isinstance(tensor, Tensor) and tensor.ndim == 3 and tensor.dtype == DataType.Float
            fd.add_output(fd.ops.neg(tensor))

    for out in run(define, *[x] * len(spellings)):
        assert torch.equal(out, -x)


def test_memory_order_is_kept_unless_the_documents_are_followed():
    x = random(3, 5).t()

    def define(fd):
        fd.add_output(fd.ops.neg(fd.define_tensor(sizes=x.size(), strides=x.stride())))

    assert run(define, x)[0].stride() == x.stride()
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        define(fd)
    assert "symbolic_sizes=[-1, -1], contiguous=[False, False]" in fusion.definition()


def test_scalars_constants_and_vectors():
    def define(fd):
        t0 = fd.define_tensor(shape=[-1], contiguity=True)
        scalars = [fd.define_scalar(None, dtype=DataType.Double), fd.define_scalar(DataType.Int), fd.define_scalar()]
        constants = [fd.define_scalar(2.0), fd.define_scalar(3, dtype=DataType.Int), fd.define_constant(0.5)]
        constants += [fd.define_constant(2, dtype=DataType.Int), fd.define_scalar(True, DataType.Bool)]
        assert all(isinstance(each, Scalar) and not isinstance(each, Tensor) for each in scalars + constants)
        vector = fd.define_vector(2)
        mixed = fd.define_vector([vector[0], 3], dtype=DataType.Int)
        assert isinstance(vector, Vector) and mixed.size == len(mixed) == 2
        assert isinstance(mixed[1], Scalar) and isinstance(mixed.at(-2), Scalar)
        assert isinstance(mixed[:1], Vector) and mixed[0] is vector[0]
        out = t0
        for each in scalars + constants[:4]:
            out = fd.ops.mul(out, each)
        fd.add_output(fd.ops.cast(fd.ops.reshape(out, mixed), dtype=DataType.Float))
        fd.add_output(fd.ops.full(vector, fill_value=constants[0], dtype=DataType.Float))

    x = random(6)
    out, full = run(define, x, 0.5, 2, 1.5, [2, 3])
    torch.testing.assert_close(out, (x * 0.5 * 2 * 1.5 * 2 * 3 * 0.5 * 2).reshape(2, 3))
    assert torch.equal(full, torch.full((2, 3), 2.0, device=DEVICE))


def test_from_pytorch():
    x = random(4, 6, dtype=torch.float64).t()
    fd = defined(lambda fd: fd.add_output(fd.ops.relu(fd.from_pytorch(x))))
    assert "shape=[-1, -1]" in repr(fd) and "stride_order=[0, 1]" in repr(fd)
    assert torch.equal(fd.execute([x])[0], x.relu())
    static = defined(lambda fd: fd.add_output(fd.ops.relu(fd.from_pytorch(x, static_sizes=True))))
    assert "shape=[6, 4]" in repr(static)


def test_add_output_in_all_its_spellings():
    def define(fd):
        t0 = fd.define_tensor(shape=[-1, -1], contiguity=True)
        t1 = fd.ops.exp(t0)
        fd.add_output(t1)
        fd.add_output(t1, [0, 1])
        fd.add_output(t1, stride_order=[0, 1])
        fd.add_output(t1, stride_order=[])
        fd.add_output(fd.ops.size(t0, 1))
        fd.add_output(t1, t0)

    x = random(3, 4)
    before = x.clone()
    *outs, size = run(define, x)
    assert [each.stride() for each in outs] == [(4, 1), (1, 3), (1, 3), (4, 1)] and size.item() == 4
    for each in (*outs, x):
        torch.testing.assert_close(each, before.exp())


def test_an_exception_leaves_nothing_defined():
    fd = FusionDefinition()
    with pytest.raises(ZeroDivisionError), fd:
        fd.define_tensor(1)
        raise ZeroDivisionError
    assert fd.id() is None
    with pytest.raises(NotImplementedError, match="Fusion does not exist"):
        fd.execute([])
    with fd:
        negation(fd)
    x = random(2, 2)
    assert torch.equal(fd.execute([x])[0], -x)


def test_max_length():
    with FusionDefinition(max_length=3) as fd:
        negation(fd)
    assert fd.id() is not None
    with (
        pytest.raises(nvfuser.UserError, match=r"has exceeded 2 operations, it has 3; max_length may"),
        FusionDefinition(max_length=2) as fd,
    ):
        negation(fd)
    assert fd.id() is None


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_operators_mean_what_they_mean_in_python(dtype):
    x, y = random(30, dtype=dtype), random(30, dtype=dtype)
    y[y == 0] = 2
    cases = [
        lambda a, b: a + b,
        lambda a, b: a - 2,
        lambda a, b: 2 - a,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: 1 / b,
        lambda a, b: a // b,
        lambda a, b: 7 // b,
        lambda a, b: a // 2,
        lambda a, b: a % b,
        lambda a, b: 7 % b,
        lambda a, b: -a,
        lambda a, b: abs(a),
        lambda a, b: a**2,
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a < b,
        lambda a, b: a <= 1,
        lambda a, b: a > 1,
        lambda a, b: a <= 1,
    ]
    if dtype == torch.int64:
        cases += [lambda a, b: a & b, lambda a, b: a | 1, lambda a, b: 1 ^ a, lambda a, b: ~a]
        cases += [lambda a, b: a << 2, lambda a, b: a >> 1, lambda a, b: 1 << abs(a)]

    def define(fd):
        a, b = fd.from_pytorch(x), fd.from_pytorch(y)
        for case in cases:
            fd.add_output(case(a, b))

    for index, (case, out) in enumerate(zip(cases, run(define, x, y), strict=True)):
        torch.testing.assert_close(
            out, case(x, y), check_dtype=dtype == torch.float32, msg=lambda text, i=index: f"{i}: {text}"
        )


def test_operators_on_scalars_and_sizes():
    def define(fd):
        t0 = fd.define_tensor(shape=[-1, -1], contiguity=True)
        s = fd.define_scalar(None, dtype=DataType.Double)
        rows, columns = t0.shape()
        assert isinstance(t0.shape(), Vector) and isinstance(t0.size(-1), Scalar) and t0.ndim == 2
        fd.add_output(fd.ops.reshape(t0, [rows * columns]))
        fd.add_output(fd.ops.reshape(t0, [rows * columns // 2, 2]))
        fd.add_output(t0 * (s + 1) - s / 2)
        fd.add_output(fd.ops.where(s > 1, t0, -t0))

    x = random(4, 6)
    flat, pairs, scaled, chosen = run(define, x, 2.5)
    assert torch.equal(flat, x.flatten()) and torch.equal(pairs, x.reshape(12, 2)) and torch.equal(chosen, x)
    torch.testing.assert_close(scaled, x * 3.5 - 1.25)


def test_values_are_keys_and_no_conditions():
    with FusionDefinition() as fd:
        t0, t1 = fd.define_tensor(1), fd.define_tensor(1)
        assert len({t0, t1, t0}) == 2 and (t0 == None) is False and bool(t0)  # noqa: E711  as programs write it
        with pytest.raises(nvfuser.UserError, match=r"bool: T2 is known only when the fusion runs"):
            bool(t0 == t1)
        with pytest.raises(nvfuser.UserError, match="known only when the fusion runs"):
            t1 in [t0]  # noqa: B015
        for wrong in (
            lambda: t0 + "x",
            lambda: [] * t0,
            lambda: t0 - None,
            lambda: t0 < "x",
            lambda: t0 + torch.ones(2),
        ):
            with pytest.raises(TypeError):
                wrong()
        fd.add_output(t0)
    with pytest.raises(nvfuser.UserError, match=r"add: the fusion is not being defined any more"):
        t0 + t1
    with pytest.raises(nvfuser.UserError, match=r"size: the fusion is not being defined any more"):
        t0.size(0)
    with pytest.raises(nvfuser.UserError, match="the fusion is not being defined"):
        fd.ops.neg(t0)


def test_values_of_nvfuser_direct():
    """`node` is the value with its axes."""
    with FusionDefinition() as fd:
        t0 = fd.define_tensor(shape=[-1, 1], contiguity=[True, None])
        assert [str(axis)[:2] for axis in t0.node.get_logical_domain()] == ["iS", "bS"]
        assert repr(t0) == "T0" and repr(t0.size(0)) == "S1"
        fd.add_output(t0)


# Operations in older spellings --------------------------------------------------------------------


def test_shapes_in_older_spellings():
    x = random(4, 1, 6)

    def define(fd):
        t0 = fd.from_pytorch(x)
        sizes = fd.ops.tensor_sizes(t0)
        assert type(sizes) is list and isinstance(fd.ops.shape(t0), Vector)
        assert isinstance(fd.ops.at(fd.ops.shape(t0), 1), Scalar) and isinstance(fd.ops.at(sizes, -1), Scalar)
        fd.add_output(fd.ops.reshape(t0, [2, 12]))
        fd.add_output(fd.ops.reshape(t0, original_shape=[4, 1, 6], new_shape=[2, 12]))
        fd.add_output(fd.ops.reshape(t0, [4, 1, 6], [2, 12]))
        fd.add_output(fd.ops.view(t0, [4, 1, 6], [2, 12]))
        fd.add_output(fd.ops.view(t0, new_shape=[2, -1]))
        fd.add_output(fd.ops.squeeze(t0, [1]))
        fd.add_output(fd.ops.squeeze(t0, dims=[-2]))
        fd.add_output(fd.ops.squeeze(t0, [4, 1, 6], [1]))
        fd.add_output(fd.ops.squeeze(t0, [4, 1, 6], [0, 1]))
        fd.add_output(fd.ops.squeeze(t0, original_shape=[4, 1, 6], dims=[1, 2]))
        fd.add_output(fd.ops.squeeze(t0, original_shape=[4, 1, 6], dims=[0]))
        fd.add_output(fd.ops.broadcast_in_dim(t0, output_shape=[4, 5, 6], broadcast_dims=[0, 1, 2]))
        fd.add_output(fd.ops.broadcast_in_dim(t0, [sizes[0], 5, sizes[2]], [0, 1, 2]))

    outs = run(define, x)
    for out in outs[:5]:
        assert torch.equal(out, x.reshape(2, 12))
    for out in outs[5:10]:
        assert torch.equal(out, x[:, 0])
    assert torch.equal(outs[10], x)
    for out in outs[11:]:
        assert torch.equal(out, x.expand(4, 5, 6))


@pytest.mark.parametrize("order", ["training first", "training last", "names"])
def test_batch_norm_in_both_orders(order):
    x, mean, var = random(5, 3, 4), torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)

    def define(fd):
        t0, t1, t2 = (fd.from_pytorch(each) for each in (x, mean, var))
        rest = {
            "training first": ((True, 0.1, 1e-5), {}),
            "training last": ((0.1, 1e-5, True), {}),
            "names": ((), {"training": True, "momentum": 0.1, "eps": 1e-5}),
        }[order]
        fd.add_output(fd.ops.batch_norm(t0, None, None, t1, t2, *rest[0], **rest[1])[0])

    expected_mean, expected_var = mean.clone(), var.clone()
    expected = torch.nn.functional.batch_norm(x, expected_mean, expected_var, training=True, momentum=0.1, eps=1e-5)
    (out,) = run(define, x, mean, var)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close((mean, var), (expected_mean, expected_var))


@pytest.mark.parametrize("by", ["position before 2025", "position", "name"])
def test_attention_in_both_orders(by):
    q, k, v = (random(1, 2, 8, 4) for _ in range(3))

    def define(fd):
        tensors = [fd.from_pytorch(each) for each in (q, k, v)]
        args, kwargs = {
            "position before 2025": ((0.0, True, 0.5), {}),
            "position": ((None, None, 0.0, True, 0.5), {}),
            "name": ((), {"dropout_p": 0.0, "is_causal": True, "scale": 0.5}),
        }[by]
        fd.add_output(fd.ops.sdpfa_fwd(*tensors, *args, **kwargs)[0])

    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5)
    torch.testing.assert_close(run(define, q, k, v)[0], expected, rtol=1e-4, atol=1e-5)
