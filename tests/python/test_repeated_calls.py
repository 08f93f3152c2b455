"""Calls that are repeated: the third one has to give what the first one gave, whatever it is called with."""

import gc
import itertools
import os
import subprocess
import sys
import threading
import weakref

import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition


def scaled(dtype=DataType.Float, contiguity=True):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], [contiguity], dtype=dtype)
        y = fd.ops.mul(x, fd.define_scalar(DataType.Double))
        fd.add_output(y)
        fd.add_output(fd.ops.neg(y))
    return fd


@pytest.mark.parametrize("size", [0, 1, 16, 1024, 1025, 300_000])  # the last one's outputs are large blocks
def test_results_are_right_and_fresh(size):
    fd, seen = scaled(), set()
    kept = []
    for factor in (2.0, 3.0, 0.5, -1.0):
        x = torch.randn(size)
        out, negated = fd.execute([x, factor])
        assert type(out) is torch.Tensor and torch.equal(out, x * factor) and torch.equal(negated, -out)
        assert size == 0 or out.data_ptr() not in seen
        seen.update((out.data_ptr(), negated.data_ptr()))
        kept += [out, negated]


def test_other_forms_of_the_arguments():
    fd = scaled()
    x = torch.randn(16)
    for inputs in ([x, 2.0], (x, 2.0), [[x, 2.0]], [torch.nn.Parameter(x), 2.0], [x, torch.ones(()).item() * 2]) * 3:
        assert torch.equal(fd.execute(inputs)[0], x * 2)
    assert not fd.execute([torch.nn.Parameter(x), 2.0])[0].requires_grad


def test_lazily_negated_and_conjugated_views_are_resolved_in_each_call():
    real, complex_ = scaled(contiguity=False), scaled(DataType.ComplexFloat)
    with FusionDefinition() as whole:
        x = whole.define_tensor([-1], [True], dtype=DataType.Int32)
        whole.add_output(whole.ops.mul(x, whole.define_scalar(DataType.Int32)))
    z = torch.randn(16, dtype=torch.complex64)
    for _ in range(3):
        for view in (z.imag, z.conj().imag):
            assert torch.equal(real.execute([view, 2.0])[0], view * 2)
        dense = z.conj().imag.as_strided((16,), (1,))  # negated, and contiguous all the same
        assert dense.is_neg()
        assert torch.equal(real.execute([dense, 2.0])[0], dense * 2)
        for value in (z, z.conj()):
            assert torch.equal(complex_.execute([value, 2.0])[0], value * 2)
        integers = torch._neg_view(torch.arange(16, dtype=torch.int32))
        assert integers.is_neg()
        assert torch.equal(whole.execute([integers, 2])[0], integers * 2)


def test_wrong_calls_after_right_ones_are_errors_still():
    fd = scaled()
    for _ in range(3):
        fd.execute([torch.randn(16), 2.0])
        for wrong in ([torch.randn(16).double(), 2.0], [torch.randn(4, 4), 2.0], [torch.randn(16)]):
            with pytest.raises(RuntimeError):
                fd.execute(wrong)
        with pytest.raises(TypeError):
            fd.execute([object(), 2.0])


def in_rounds(fd, calls, expected, rounds=3):
    """Results of the calls, in turn, equal those expected."""
    for _ in range(rounds):
        for inputs in calls:
            for got, want in zip(fd.execute(inputs), expected(*inputs), strict=True):
                assert got.dtype == want.dtype and torch.equal(got, want)


def both(x, factor):
    return x * factor, -(x * factor)


def test_more_sizes_than_are_known():
    calls = [[torch.randn(rows), 0.5 * rows] for rows in range(30)]
    in_rounds(scaled(), [*calls, calls[3], calls[3], calls[0], calls[17]], both)


def test_addresses_and_strides():
    """Kernels read in vectors where addresses allow it."""
    base = torch.randn(133)
    dense = [[base[begin : begin + 64], 2.0] for begin in (0, 1, 2, 3, 4, 8, 16, 1, 0)]
    in_rounds(scaled(), [*dense, [base[3:67].clone(), 3.0]], both)
    in_rounds(scaled(contiguity=False), [*dense, *([base[begin::2][:20], 2.0] for begin in (0, 1, 2))], both)


def test_numbers_and_their_kinds():
    with FusionDefinition() as fd:
        x, n, up = (
            fd.define_tensor([-1], [True]),
            fd.define_scalar(DataType.Int),
            fd.define_scalar(DataType.Bool),
        )
        moved = fd.ops.add(x, fd.ops.cast(n, DataType.Float))
        fd.add_output(fd.ops.where(up, moved, fd.ops.neg(moved)))
    x = torch.randn(7)
    calls = [[x, n, up] for n, up in itertools.product((1, 2, 1, -3, 2**40), (True, False))]
    in_rounds(fd, calls, lambda x, n, up: [(x + float(n)) * (1 if up else -1)])
    for _ in range(3):
        for wrong in ([x, 2**70, True], [x, 1, x], [x, 1], [x, "1", True], [x, 1, True, 1], []):
            with pytest.raises((RuntimeError, TypeError)):
                fd.execute(wrong)


def test_numbers_of_other_types():
    numpy = pytest.importorskip("numpy")
    fd, x = scaled(), torch.randn(9)
    for factor in (2.0, 3, True, numpy.float64(0.5), 2, numpy.float64(-1.0), 4.0, False) * 3:
        assert torch.equal(fd.execute([x, factor])[0], x * float(factor))


def test_tensors_in_modes_and_of_subclasses():
    class Named(torch.Tensor):
        pass

    fd, x = scaled(), torch.randn(16)
    with torch.inference_mode():
        inferred = torch.randn(16)
    for _ in range(3):
        for given in (x, inferred, x.as_subclass(Named), x.clone().requires_grad_(), torch._lazy_clone(x)):
            out = fd.execute([given, 2.0])[0]
            assert type(out) is torch.Tensor and torch.equal(out, given * 2)
            assert not out.requires_grad and not out.is_inference()
            with torch.inference_mode():
                assert fd.execute([given, 2.0])[0].is_inference()


def test_tensors_without_memory_are_an_error(capfd):
    """Wrapped, sparse, given up: with the sizes, strides and dtype of a call that is known."""
    fd, x = scaled(), torch.randn(16)
    given_up = torch.randn(16)
    given_up.untyped_storage().resize_(0)
    for _ in range(3):
        fd.execute([x, 2.0])
        for wrong in (x.to_sparse(), x.to("meta"), given_up):
            with pytest.raises(RuntimeError, match=r"cannot be read|no memory"):
                fd.execute([wrong, 2.0])
        for wrapped in (torch.vmap, torch.func.functionalize):
            with pytest.raises(RuntimeError, match=r"cannot be read|no memory"):
                wrapped(lambda inner: fd.execute([inner, 2.0])[0])(x.expand(3, 16) if wrapped is torch.vmap else x)
        assert torch.equal(fd.execute([x, 2.0])[0], x * 2)
    assert capfd.readouterr().err == ""


def test_storage_that_moves():
    fd, x = scaled(), torch.randn(16)
    for i in range(6):
        if i % 2:
            x.set_(torch.randn(16))
        else:
            x.data = torch.randn(40)[i : i + 16]
        assert torch.equal(fd.execute([x, 2.0])[0], x * 2)
        x.add_(1.0)
        assert torch.equal(fd.execute([x, 2.0])[0], x * 2)
    x.resize_(5)
    assert torch.equal(fd.execute([x, 2.0])[0], x * 2)


def test_updates_views_and_results_that_are_given_twice():
    with FusionDefinition() as updates:
        x = updates.define_tensor([-1], [True])
        y = updates.ops.mul(x, 2.0)
        updates.add_output(y, x)
        updates.add_output(updates.ops.add(y, 1.0))
    with FusionDefinition() as views:
        x = views.define_tensor([-1, -1], [True, True])
        views.add_output(views.ops.permute(x, [1, 0]))
        y = views.ops.neg(x)
        views.add_output(y)
        views.add_output(y)
    for _ in range(4):
        x = torch.randn(6)
        doubled = x * 2
        (more,) = updates.execute([x])
        assert torch.equal(x, doubled) and torch.equal(more, doubled + 1)
        x = torch.randn(3, 5)
        view, negated, again = views.execute([x])
        assert view.data_ptr() == x.data_ptr() and torch.equal(view, x.t())
        assert torch.equal(negated, -x) and torch.equal(again, -x)


@pytest.mark.parametrize("size", [300, 300_000])  # a long sum may have partial ones, in memory besides the outputs
def test_sums(size):
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.sum(fd.define_tensor([-1], [True]), [0]))
    for value in (1.0, 2.0, 0.5, -1.0):
        assert fd.execute([torch.full((size,), value)])[0].item() == size * value


def test_options_of_a_call():
    """They are of that call alone."""
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([-1], [True]), fd.define_tensor([-1], [True])
        fd.add_output(fd.ops.add(fd.ops.mul(x, y), x))
    x, y = torch.randn(4096), torch.randn(4096)
    one_rounding = torch.addcmul(x.double(), x.double(), y.double()).float()
    for _ in range(3):
        (contracted,) = fd.execute([x, y], _enable_options=["fma"])
        assert torch.equal(contracted, one_rounding) or torch.equal(contracted, x * y + x)  # as the CPU can
        assert torch.equal(fd.execute([x, y], _disable_options=["fma"])[0], x * y + x)
        assert torch.equal(fd.execute([x, y])[0], x * y + x)


def test_dumps_show_each_call():
    program = """
import torch
from nvfuser_direct import FusionDefinition
with FusionDefinition() as fd:
    fd.add_output(fd.ops.neg(fd.define_tensor([-1], [True])))
for _ in range(3):
    fd.execute([torch.ones(5)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NVFUSER_DUMP": "fusion_args", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout + done.stderr).count("float[5]") == 3


def test_nothing_is_kept_of_a_call():
    fd = scaled()
    for _ in range(5):
        x = torch.randn(33)
        alive = [weakref.ref(tensor) for tensor in (x, *fd.execute([x, 2.0]))]
        del x
        gc.collect()
        assert not any(ref() is not None for ref in alive)


def test_a_definition_anew_is_another_fusion():
    fd, x = scaled(), torch.randn(8)
    for _ in range(3):
        fd.execute([x, 2.0])
    with fd:
        fd.add_output(fd.ops.neg(fd.define_tensor([-1], [True])))
    for _ in range(3):
        assert torch.equal(fd.execute([x])[0], -x)
    fd = None
    gc.collect()


def test_execute_is_a_method_like_others():
    class Counted(FusionDefinition):
        calls = 0

        def execute(self, inputs, **options):
            self.calls += 1
            return super().execute(inputs, **options)

    with Counted() as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor([-1], [True])))
    x = torch.randn(8)
    for call in range(1, 4):
        assert torch.equal(fd.execute([x])[0], -x) and fd.calls == call
        assert torch.equal(FusionDefinition.execute(fd, inputs=(x,))[0], -x)
        assert torch.equal(FusionDefinition.execute(fd, [x], save_repro_inputs=True)[0], -x)
    assert "def nvfuser_fusion" in fd.last_repro_script()
    for wrong in (lambda: fd.execute(), lambda: FusionDefinition.execute(fd, x, x), lambda: fd.execute([x], wrong=1)):
        with pytest.raises(TypeError):
            wrong()


def test_others_drop_the_inputs_meanwhile():
    """While a kernel runs other threads do, and may be the last to hold its inputs."""
    fd, wrong = scaled(), []
    size = 200_000
    fd.execute([torch.ones(size), 2.0])
    inputs = [torch.ones(size), 2.0]
    stop = threading.Event()

    def drop():
        value = 1.0
        while not stop.is_set():
            inputs[0] = torch.full((size,), value)
            value += 1.0

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for _ in range(300):
            out = fd.execute(inputs)[0]
            if out.min() != out.max():
                wrong.append(out)
    finally:
        stop.set()
        thread.join()
    assert not wrong


@pytest.mark.parametrize("size", [700, 100_000])  # with the interpreter's lock held, and given to others
def test_threads_share_a_call(size):
    fd, errors = scaled(), []
    x = torch.randn(size)
    fd.execute([x, 1.0])

    def work(number):
        try:
            for i in range(100):
                factor = number * 1000.0 + i
                out, negated = fd.execute([x, factor])
                assert torch.equal(out, x * factor) and torch.equal(negated, -out)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_from_many_threads():
    fd, wrong = scaled(), []

    def run(seed):
        x = torch.full((seed * 700,), float(seed))
        for _ in range(200):
            if not torch.equal(fd.execute([x, 2.0])[0], x * 2):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
