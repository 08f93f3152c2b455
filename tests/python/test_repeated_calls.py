"""Calls that are repeated: the third one has to give what the first one gave, whatever it is called with."""

import threading

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
    z = torch.randn(16, dtype=torch.complex64)
    for _ in range(3):
        for view in (z.imag, z.conj().imag):
            assert torch.equal(real.execute([view, 2.0])[0], view * 2)
        dense = z.conj().imag.as_strided((16,), (1,))  # negated, and contiguous all the same
        assert dense.is_neg()
        assert torch.equal(real.execute([dense, 2.0])[0], dense * 2)
        for value in (z, z.conj()):
            assert torch.equal(complex_.execute([value, 2.0])[0], value * 2)


def test_wrong_calls_after_right_ones_are_errors_still():
    fd = scaled()
    for _ in range(3):
        fd.execute([torch.randn(16), 2.0])
        for wrong in ([torch.randn(16).double(), 2.0], [torch.randn(4, 4), 2.0], [torch.randn(16)]):
            with pytest.raises(RuntimeError):
                fd.execute(wrong)
        with pytest.raises(TypeError):
            fd.execute([object(), 2.0])


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
