"""The C interface: definition, operations by name, execution beside PyTorch, errors, texts, threads."""

import os
import subprocess
import sys
import textwrap
import threading
from ctypes import byref, c_int64, c_void_p

import numpy as np
import pytest
import torch
from nvf import LIBRARY, Argument, DType, Failed, Fusion, Status, lib, op_names


def example():
    """The first example of the Python documentation."""
    fusion = Fusion()
    t0 = fusion.tensor([-1, 1, -1], contiguous=[True, True, True])
    t1 = fusion.tensor(3)
    c0 = fusion.constant(3.0)
    t2 = fusion.op("add", t0, t1)
    t3 = fusion.op("mul", t2, c0)
    fusion.output(fusion.op("sum", t3, [-1], False, DType.Float))
    return fusion


def chain():
    """relu(a * b + 1) and its sum."""
    fusion = Fusion()
    a, b = fusion.tensor(2), fusion.tensor(2)
    y = fusion.op("relu", fusion.op("add", fusion.op("mul", a, b), 1.0))
    fusion.output(y, fusion.op("sum", y, -1))
    return fusion


def check_chain(fusion, a, b, **options):
    y, total = fusion.execute(a, b, **options)
    expected = torch.relu(a * b + 1.0)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(total, expected.sum(-1))


# Definition and execution -----------------------------------------------------------------------


def test_example_of_the_documentation():
    (out,) = example().execute(torch.ones(2, 1, 8), torch.ones(2, 4, 8))
    torch.testing.assert_close(out, torch.full((2, 4), 48.0))


def test_one_fusion_serves_all_shapes_and_strides():
    fusion = chain()

    def whole(*shape):  # all sums are exact, so that they hang on no order
        return torch.randint(-4, 5, shape).float()

    for rows, columns in [(3, 5), (1, 1), (64, 33), (0, 4), (4, 0), (7, 1024)]:
        check_chain(fusion, whole(rows, columns), whole(rows, columns))
        check_chain(fusion, whole(columns, rows).t(), whole(rows, 2 * columns)[:, ::2])
    check_chain(fusion, whole(3, 1).expand(3, 5), whole(3, 5))


def test_repeated_execution_gives_the_same_bits_and_fresh_outputs():
    fusion = chain()
    a, b = torch.randn(13, 17), torch.randn(13, 17)
    first = fusion.execute(a, b)
    for _ in range(50):
        again = fusion.execute(a, b)
        assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))
        assert again[0].data_ptr() not in (first[0].data_ptr(), a.data_ptr(), b.data_ptr())


def test_managed_inputs_are_released():
    fusion = chain()
    array = np.ones((3, 4), dtype=np.float32)
    references = sys.getrefcount(array)
    a = torch.from_numpy(array)
    check_chain(fusion, a, a, managed=True)
    with pytest.raises(Failed):
        fusion.execute(a, managed=True)  # one input too few: taken over all the same
    with pytest.raises(Failed):
        fusion.execute(a, None, managed=True)
    del a
    assert sys.getrefcount(array) == references


def test_an_input_as_output_shares_managed_memory_and_copies_borrowed():
    fusion = Fusion()
    t = fusion.tensor(1)
    fusion.output(t)
    x = torch.arange(6.0)
    (shared,) = fusion.execute(x, managed=True)
    (copied,) = fusion.execute(x)
    assert shared.data_ptr() == x.data_ptr()
    assert copied.data_ptr() != x.data_ptr()
    assert torch.equal(shared, x) and torch.equal(copied, x)


def test_scalars():
    fusion = Fusion()
    t = fusion.tensor(1)
    s = fusion.scalar()
    n = fusion.scalar(DType.Int)
    fusion.output(fusion.op("add", fusion.op("mul", t, s), n))
    fusion.output(fusion.op("mul", s, 2.0))  # a scalar comes out as a tensor without axes
    x = torch.randn(5)
    y, twice = fusion.execute(x, 2.5, 3)
    torch.testing.assert_close(y, x * 2.5 + 3)
    assert twice.shape == () and twice.item() == 5.0


@pytest.mark.parametrize("value", [2.0, 3, True, 1 + 2j])
def test_constants(value):
    fusion = Fusion()
    t = fusion.tensor(1, DType.ComplexDouble)
    c = fusion.constant(value)
    assert not c.is_tensor
    fusion.output(fusion.op("mul", t, c), fusion.op("mul", t, value))
    x = torch.randn(4, dtype=torch.complex128)
    for result in fusion.execute(x):
        torch.testing.assert_close(result, x * value)


def test_define_tensor_like():
    x = torch.randn(4, 1, 6).permute(2, 1, 0)
    fusion = Fusion()
    t = fusion.tensor_like(x)
    fusion.output(fusion.op("neg", t))
    torch.testing.assert_close(fusion.execute(x)[0], -x)
    assert "symbolic_sizes=[-1, 1, -1], contiguous=[False, True, False]" in fusion.definition()


def test_value_info():
    fusion = Fusion()
    t = fusion.tensor(3, DType.BFloat16)
    assert (t.is_tensor, t.ndims, t.dtype) == (True, 3, DType.BFloat16)
    s = fusion.scalar(DType.Int)
    assert (s.is_tensor, s.ndims, s.dtype) == (False, 0, DType.Int)
    r = fusion.op("sum", t, [0, 1])
    assert (r.ndims, r.dtype) == (1, DType.BFloat16)
    var, mean = fusion.ops("var_mean", fusion.op("cast", t, DType.Float), [-1], keepdim=True)
    assert var.ndims == mean.ndims == 3


def test_named_arguments_and_their_other_names():
    fusion = Fusion()
    t = fusion.tensor(2)
    names = [{"axes": [1]}, {"dims": [1]}, {"dim": 1}]
    for name in names:
        for keep in ("keepdim", "keep_dim"):
            fusion.output(fusion.op("sum", arg=t, **{**name, keep: True}))
    x = torch.randn(3, 4)
    results = fusion.execute(x)
    assert len(results) == fusion.output_count() == 6
    for result in results:
        torch.testing.assert_close(result, x.sum(1, keepdim=True))


def test_random_state():
    fusion = Fusion()
    t = fusion.tensor(1)
    fusion.output(fusion.op("rand_like", t))
    x = torch.zeros(1000)

    def draw():
        return fusion.execute(x)[0]

    fusion.random_state(7, 0)
    first, second = draw(), draw()
    fusion.random_state(7, 0)
    assert torch.equal(first, draw()) and torch.equal(second, draw())
    assert not torch.equal(first, second)
    fusion.random_state(7, 1)
    assert torch.equal(second, draw())  # a draw advances the offset by one
    fusion.random_state(8, 0)
    assert not torch.equal(first, draw())
    assert first.min() >= 0.0 and first.max() < 1.0 and abs(first.mean() - 0.5) < 0.05


# Operations -------------------------------------------------------------------------------------


def test_the_table_of_operations():
    names = op_names()
    assert names == sorted(set(names)) and len(names) > 100
    for i, name in enumerate(names):
        assert lib.nvf_op_signature(i).decode().startswith(f"{name}(")
        assert len(lib.nvf_op_doc(i).decode()) >= 5
    for bad in (-1, len(names)):
        assert lib.nvf_op_name(bad) is None
        assert lib.nvf_op_signature(bad) is None
        assert lib.nvf_op_doc(bad) is None
    assert lib.nvf_dtype_name(-1) is None and lib.nvf_dtype_name(19) is None
    assert lib.nvf_version().decode().count(".") == 2


# Errors -----------------------------------------------------------------------------------------


def fails(status, words):
    class Expectation:
        def __enter__(self):
            return None

        def __exit__(self, kind, error, _):
            assert kind is Failed, f"expected {status.name}, got {error!r}"
            assert error.status == status, error
            assert words in error.message, error.message
            return True

    return Expectation()


def test_user_errors():
    with fails(Status.USER_ERROR, "the fusion has no outputs"):
        Fusion().execute()
    fusion = Fusion()
    with fails(Status.USER_ERROR, "the size -2 of axis 1"):
        fusion.tensor([4, -2])
    t = fusion.tensor([-1, 4])
    with fails(Status.USER_ERROR, "Tried to access out of boundary index 2"):
        fusion.op("sum", t, [2])
    with fails(Status.USER_ERROR, "Integer or boolean input is required for bitwise_and but found float"):
        fusion.op("bitwise_and", t, t)
    fusion.output(fusion.op("neg", t))
    with fails(Status.USER_ERROR, "to be bound to a tensor of dtype float, but got a tensor of dtype double"):
        fusion.execute(torch.zeros(2, 4, dtype=torch.float64))
    with fails(Status.USER_ERROR, "to be bound to a tensor of rank 2, but got a tensor of rank 1"):
        fusion.execute(torch.zeros(2))
    with fails(Status.USER_ERROR, "Tried to bind to a constant value: 4 as 5"):
        fusion.execute(torch.zeros(2, 5))
    with fails(Status.USER_ERROR, "to be an at::Tensor but got scalar 2"):
        fusion.execute(2.0)
    with fails(Status.USER_ERROR, "The fusion has 1 inputs, got 0"):
        fusion.execute()
    with fails(Status.USER_ERROR, "The fusion has 1 inputs, got 2"):
        fusion.execute(torch.zeros(2, 4), torch.zeros(2, 4))
    (out,) = fusion.execute(torch.ones(2, 4))  # an error changes nothing
    assert torch.equal(out, -torch.ones(2, 4))


def test_argument_errors():
    fusion = Fusion()
    t = fusion.tensor(2)
    argument = Status.ARGUMENT_ERROR
    with fails(argument, 'there is no operation "som"; names like it are'):
        fusion.op("som", t)
    with fails(argument, "sum"):
        fusion.op("som", t)
    with fails(argument, "argument arg (Tensor) is missing"):
        fusion.op("sum")
    with fails(argument, "argument arg must be a tensor, not the number 2"):
        fusion.op("sum", 2.0)
    with fails(argument, "was given twice"):
        fusion.op("sum", t, arg=t)
    with fails(argument, 'there is no parameter "axs"'):
        fusion.op("sum", t, axs=[1])
    with fails(argument, "takes at most 2 arguments"):
        fusion.op("add", t, t, t)
    with fails(argument, "argument keepdim must be a bool"):
        fusion.op("sum", t, [1], 3.5)
    with fails(argument, "argument axes must be a list of integers"):
        fusion.op("sum", t, [1.5])
    with fails(argument, "argument dtype must be a DataType"):
        fusion.op("cast", t, 2)
    with fails(argument, "there is no value with id 99"):
        value = fusion.constant(1.0)
        value.id = 99
        fusion.op("neg", value)
    with fails(argument, "there is no dtype with number 77"):
        fusion.tensor(2, 77)
    with fails(argument, "dtype other than Null"):
        fusion.tensor(2, DType.Null)
    with fails(argument, "cannot have -1 axes"):
        fusion.tensor(-1)
    fusion.output(fusion.op("neg", t))
    fusion.execute(torch.ones(2, 2))
    with fails(argument, "can no longer be changed"):
        fusion.op("neg", t)
    with fails(argument, "neither a tensor nor a number"):
        fusion.execute(None)


def test_null_pointers_are_argument_errors():
    fusion = Fusion()
    count = c_int64()
    assert lib.nvf_fusion_create(None) == Status.ARGUMENT_ERROR
    assert lib.nvf_define_tensor(None, 0, None, None, DType.Float, byref(count)) == Status.ARGUMENT_ERROR
    assert lib.nvf_define_scalar(fusion.handle, DType.Float, None) == Status.ARGUMENT_ERROR
    assert lib.nvf_op(fusion.handle, None, None, 0, byref(count), 1, byref(count)) == Status.ARGUMENT_ERROR
    assert lib.nvf_op(fusion.handle, b"neg", None, 1, byref(count), 1, byref(count)) == Status.ARGUMENT_ERROR
    assert lib.nvf_execute(None, None, 0, None, 0, byref(count)) == Status.ARGUMENT_ERROR
    assert lib.nvf_print(fusion.handle, None) == Status.ARGUMENT_ERROR
    fusion.output(fusion.op("neg", fusion.tensor(1)))
    null_tensor = (Argument * 1)(Argument(kind=8))
    outputs = (c_void_p * 1)()
    status = lib.nvf_execute(fusion.handle, null_tensor, 1, outputs, 1, byref(count))
    assert status == Status.ARGUMENT_ERROR
    assert b"input 0: the tensor must not be null" in lib.nvf_last_error()
    lib.nvf_fusion_destroy(None)
    lib.nvf_free_text(None)


def test_too_little_room_for_results():
    fusion = Fusion()
    t = fusion.tensor(2)
    given = (Argument * 1)(Argument(kind=1, integer=t.id))
    one, count = c_int64(), c_int64()
    status = lib.nvf_op(fusion.handle, b"var_mean", given, 1, byref(one), 1, byref(count))
    assert status == Status.ARGUMENT_ERROR and b"2 results" in lib.nvf_last_error()
    fusion.output(fusion.op("neg", t))
    x = torch.ones(1, 1)
    fusion.CAPACITY = 0
    with fails(Status.ARGUMENT_ERROR, "there are 1 outputs, but room for 0"):
        fusion.execute(x)


def test_compile_error(tmp_path):
    """A compiler that answers, but compiles nothing: in a process of its own, which looks for it once."""
    compiler = tmp_path / "c++"
    compiler.write_text(
        textwrap.dedent(
            """\
            #!/bin/sh
            case "$*" in *--version*|*-march=native*-E*) exec c++ "$@";; esac
            echo "kernel.cpp:1:1: error: not today" >&2
            exit 1
            """
        )
    )
    compiler.chmod(0o755)
    program = textwrap.dedent(
        """\
        import torch
        from nvf import *
        fusion = Fusion()
        fusion.output(fusion.op("neg", fusion.tensor(1)))
        try:
            print(fusion.execute(torch.ones(3))[0])
        except Failed as error:
            print(error)
        """
    )
    env = {**os.environ, "CXX": str(compiler), "PYTHONPATH": os.path.dirname(__file__)}
    env["NVFUSER_LIBRARY"] = str(LIBRARY)
    # It is computed in another way, and one is told why; unless that is switched off.
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "tensor([-1., -1., -1.])\n", done.stdout + done.stderr
    assert "a kernel could not be compiled (scheduler pointwise), so its part runs in another way" in done.stderr
    env["NVFUSER_DISABLE"] = "fallback"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("COMPILE_ERROR"), done.stdout + done.stderr
    assert "not today" in done.stdout


def test_errors_belong_to_their_thread():
    with pytest.raises(Failed):
        Fusion().op("som")
    mine = lib.nvf_last_error()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(lib.nvf_last_error()))
    thread.start()
    thread.join()
    assert seen == [b""] and mine == lib.nvf_last_error()


# Texts ------------------------------------------------------------------------------------------


def test_definition_text():
    assert example().definition(0) == textwrap.dedent(
        """\
        def nvfuser_fusion_id0(fd : FusionDefinition) -> None :
            T0 = fd.define_tensor(symbolic_sizes=[-1, 1, -1], contiguous=[True, True, True], dtype=DataType.Float)
            T1 = fd.define_tensor(symbolic_sizes=[-1, -1, -1], contiguous=[False, False, False], dtype=DataType.Float)
            S2 = fd.define_constant(3.00000)
            T3 = fd.ops.add(T0, T1)
            T4 = fd.ops.mul(T3, S2)
            T5 = fd.ops.sum(T4, axes=[-1], keepdim=False, dtype=DataType.Float)
            fd.add_output(T5)
        """
    )


def test_ir_and_kernel_texts():
    fusion = example()
    ir = fusion.print()
    assert "Inputs:" in ir and "add(" in ir and "T0_g_float" in ir
    fusion.execute(torch.ones(2, 1, 8), torch.ones(2, 4, 8))
    kernel = fusion.kernels()
    assert "for" in kernel and "nvfuser" in kernel


# Threads ----------------------------------------------------------------------------------------


def in_threads(count, work):
    """Runs work(i) in so many threads at once; the first error is raised here."""
    errors = []
    start = threading.Barrier(count)

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_four_threads_execute_one_fusion():
    fusion = chain()  # the first execution, which compiles, is raced for too

    def work(i):
        generator = torch.Generator().manual_seed(i)
        for step in range(60):
            rows, columns = 1 + (7 * i + step) % 9, 1 + (5 * i + 3 * step) % 33
            a = torch.randn(rows, columns, generator=generator)
            b = torch.randn(rows, columns, generator=generator)
            check_chain(fusion, a, b)

    in_threads(4, work)


def test_four_threads_define_and_execute_fusions_of_their_own():
    def work(i):
        for k in range(3):
            fusion = Fusion()
            t = fusion.tensor(1)
            fusion.output(fusion.op("add", t, float(10 * i + k)))
            x = torch.arange(8.0)
            torch.testing.assert_close(fusion.execute(x)[0], x + 10 * i + k)
            with pytest.raises(Failed, match=f"som{i}"):
                Fusion().op(f"som{i}")

    in_threads(4, work)
