"""The C interface: definition, operations by name, execution beside PyTorch, texts, threads."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import torch
from capi_fusions import chain, check_chain, example
from nvf import DType, Failed, Fusion, lib, op_names

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


# What a caller decides for an execution ----------------------------------------------------------


def drawing():
    """Two draws like a tensor."""
    fusion = Fusion()
    x = fusion.tensor(1)
    fusion.output(fusion.op("rand_like", x), fusion.op("rand_like", x))
    return fusion


def test_random_state_of_one_execution():
    x = torch.zeros(100)
    fusion = drawing()
    assert fusion.draw_count() == 2
    assert chain().draw_count() == 0
    first = fusion.execute_drawing(7, 0, x)
    assert torch.equal(fusion.execute_drawing(7, 0, x)[0], first[0])
    assert torch.equal(fusion.execute_drawing(7, 1, x)[0], first[1])
    assert not torch.equal(fusion.execute_drawing(8, 0, x)[0], first[0])
    fusion.random_state(7, 0)  # the fusion's own state is not moved by calls that bring one
    fusion.execute_drawing(9, 5, x)
    assert torch.equal(fusion.execute(x)[0], first[0])


def test_options_by_name():
    program = """
        from nvf import lib
        print(lib.nvf_option(b"DISABLE", b"fma"), lib.nvf_option(b"DISABLE", b"fallback"))
        print(lib.nvf_option(b"ENABLE", b"complex"), lib.nvf_option(b"DUMP", b"cuda_kernel"))
        print(lib.nvf_option(b"DISABLE", b"none_such"), lib.nvf_option(b"NONE_SUCH", b"fma"))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.path.dirname(__file__),
        env={**os.environ, "NVFUSER_DISABLE": "fma", "PYTORCH_NVFUSER_ENABLE": "complex"},
    )
    assert done.stdout.split() == ["1", "0", "1", "0", "-1", "-1"]


def test_errors_instead_of_fallback():
    """What cannot be compiled is an error for a caller that has a way of its own, else a warning. (In a process where
    no compiler was found yet and no kernel was kept.)"""
    program = """
        import pytest, torch
        from capi_fusions import chain, check_chain
        from nvf import Failed
        a, b = torch.randn(3, 4), torch.randn(3, 4)
        fusion = chain()
        fusion.allow_fallback(False)
        with pytest.raises(Failed):
            fusion.execute(a, b)
        fusion.allow_fallback(True)
        check_chain(fusion, a, b)
        print("right")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=os.path.dirname(__file__),
        env={**os.environ, "CXX": "/bin/false", "PATH": "/nowhere", "NVFUSER_CACHE_MB": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "right"
