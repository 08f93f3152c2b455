"""The module nvfuser: definition, tensors of PyTorch and NumPy, ids, errors, threads."""

import threading

import numpy as np
import nvfuser
import pytest
import torch
from nvfuser import DataType, Fusion, FusionDefinition


def affine(scale=2.0):
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(2)
        s0 = fd.define_scalar(dtype=DataType.Double)
        fd.add_output(fd.ops.add(fd.ops.mul(t0, scale), s0))
    return fusion


# Definition ---------------------------------------------------------------------------------------


def test_three_forms_of_define_tensor():
    x = torch.randn(3, 1, 5).half()
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(3, DataType.Half)
        t1 = fd.define_tensor(sizes=list(x.shape), strides=list(x.stride()), dtype=DataType.Half)
        t2 = fd.define_tensor(symbolic_sizes=[-1, 1, -1], contiguous=[True, True, True], dtype=DataType.Half)
        t3 = fd.define_tensor(x.size(), x.stride(), DataType.Half)
        t4 = fd.define_tensor([-1, 1, -1], [False, True, True], DataType.Half)
        tensors = [t0, t1, t2, t3, t4]
        assert [t.ndim for t in tensors] == [3] * 5 and {t.dtype for t in tensors} == {DataType.Half}
        total = t0
        for t in tensors[1:]:
            total = fd.ops.add(total, t)
        fd.add_output(fd.ops.cast(total, DataType.Half))
    (out,) = fusion.execute([x] * 5)
    torch.testing.assert_close(out, 5 * x, rtol=2e-3, atol=1e-3)
    sizes = [line.split("symbolic_sizes=")[1] for line in fusion.definition().splitlines() if "define_tensor" in line]
    assert sizes[1] == sizes[2] == sizes[3] == "[-1, 1, -1], contiguous=[True, True, True], dtype=DataType.Half)"


def test_constants_and_scalars():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(1, DataType.ComplexDouble)
        s0 = fd.define_scalar(DataType.Int)
        dtypes = [fd.define_constant(value).dtype for value in (True, 3, 3.0, 1 + 2j)]
        assert dtypes == [DataType.Bool, DataType.Int, DataType.Double, DataType.ComplexDouble]
        fd.add_output(fd.ops.mul(t0, fd.define_constant(1 + 2j)))
        fd.add_output(fd.ops.mul(s0, 2))
    x = torch.randn(4, dtype=torch.complex128)
    product, doubled = fusion.execute([x, 21])
    torch.testing.assert_close(product, x * (1 + 2j))
    assert doubled.shape == () and doubled.item() == 42


def test_operations_with_several_results():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(2)
        var, mean = fd.ops.var_mean(t0, [1], 0)
        first, second = fd.ops.chunk(t0, chunks=2, dim=0)
        assert isinstance(fd.ops.chunk(t0, 1), list)
        rows, columns = fd.ops.shape(t0)
        assert isinstance(rows, nvfuser.Scalar) and isinstance(var, nvfuser.Tensor)
        for value in (var, mean, first, second, columns):
            fd.add_output(value)
    x = torch.randn(4, 6)
    results = fusion.execute([x])
    expected = [*torch.var_mean(x, 1, correction=0), *x.chunk(2), torch.tensor(6)]
    for result, one in zip(results, expected, strict=True):
        torch.testing.assert_close(result, one)


def test_every_operation_has_its_documentation():
    operations = {n: getattr(FusionDefinition.Operators, n) for n in dir(FusionDefinition.Operators) if n[0] != "_"}
    assert len(operations) > 140
    for name, operation in operations.items():
        assert f"{name}(self" in operation.__doc__, name
        assert len(operation.__doc__.splitlines()) > 1, name


def test_definition_can_be_run_again():
    fusion = affine(0.1)
    text = fusion.definition()
    scope = dict(vars(nvfuser))
    exec(text, scope)
    again = Fusion()
    with FusionDefinition(again) as fd:
        scope[f"nvfuser_fusion_id{fusion.id()}"](fd)
    x = torch.randn(3, 4)
    assert torch.equal(fusion.execute([x, 1.0])[0], again.execute([x, 1.0])[0])
    assert text.splitlines()[1:] == again.definition().splitlines()[1:]


def test_print(capsys):
    affine().print()
    printed = capsys.readouterr().out
    assert "Inputs:" in printed and "mul(" in printed


# Ids ----------------------------------------------------------------------------------------------


def negation(scale):
    """A definition that no other test has, for each scale."""
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        assert not fusion.defined()
        fd.add_output(fd.ops.mul(fd.define_tensor(1), -scale))
    return fusion


def test_ids():
    fusion = negation(1.0)
    assert fusion.defined() and Fusion(fusion.id()).defined()
    assert negation(2.0).id() == fusion.id() + 1  # in the order of definitions
    x = torch.randn(5)
    assert torch.equal(Fusion(fusion.id()).execute([x])[0], -x)
    undefined = Fusion()
    assert not undefined.defined()
    with pytest.raises(nvfuser.UserError, match="the fusion is not defined; use `with FusionDefinition"):
        undefined.id()
    for bad in (-1, 10**6):
        with pytest.raises(nvfuser.UserError, match=rf"there is no fusion with id {bad}; known ids are 0 to \d+$"):
            Fusion(bad)


def test_the_same_definition_is_the_same_fusion():
    first, second = negation(3.0), negation(3.0)
    assert first.id() == second.id()
    x = torch.randn(7)
    first.execute([x])
    assert second.kernels() == first.kernels()  # of the one executor: nothing was compiled for the second
    assert negation(4.0).id() != first.id()


def test_ids_are_unique_among_threads():
    ids = []

    def make(thread):
        ids.extend(negation(1000.0 + 50 * thread + i).id() for i in range(50))
        ids.append(negation(5.0).id())

    threads = [threading.Thread(target=make, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 408 and len(set(ids)) == 401


# Execution ----------------------------------------------------------------------------------------


def test_numpy():
    fusion = affine()
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    for given in (x, np.asfortranarray(x), x[::2], x[:, ::3]):
        (out,) = fusion.execute([given, 1.5])
        assert type(out) is np.ndarray and out.dtype == np.float32 and out.flags.writeable
        np.testing.assert_allclose(out, given * 2 + 1.5, rtol=1e-6)
    (out,) = fusion.execute([x, np.float32(1.5)])
    np.testing.assert_allclose(out, x * 2 + 1.5, rtol=1e-6)
    (mixed,) = fusion.execute([torch.from_numpy(x), np.int64(2)])
    assert type(mixed) is torch.Tensor


def test_other_frameworks_get_dlpack():
    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **_):
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    x = torch.randn(2, 3)
    (out,) = affine().execute([Foreign(x), 0.0])
    assert out.__dlpack_device__() == (1, 0)
    torch.testing.assert_close(torch.from_dlpack(out), x * 2)
    again = np.from_dlpack(out)  # any number of consumers share the memory
    again[0, 0] = 77
    assert torch.from_dlpack(out)[0, 0] == 77
    affine().execute([Foreign(x), 0.0])  # an output that nobody takes is freed


def test_tensors_that_require_a_gradient():
    x = torch.randn(2, 3, requires_grad=True)
    (out,) = affine().execute([x, 0.0])
    assert not out.requires_grad
    torch.testing.assert_close(out, x.detach() * 2)


def test_inputs_are_released():
    import sys

    array = np.ones((2, 3), dtype=np.float32)
    before = sys.getrefcount(array)
    fusion = affine()
    for _ in range(10):
        fusion.execute([array, 1.0])
        with pytest.raises(RuntimeError):
            fusion.execute([array])
        with pytest.raises(TypeError):
            fusion.execute([array, "one"])
    assert sys.getrefcount(array) == before


def test_an_input_as_output_is_the_same_storage():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(1)
        fd.add_output(t0)
    x = torch.randn(5)
    (out,) = fusion.execute([x])
    assert out.data_ptr() == x.data_ptr()


def test_threads_execute_one_fusion():
    fusion = affine()
    errors = []

    def work(seed):
        x = torch.randn(seed + 1, 7, generator=torch.Generator().manual_seed(seed))
        try:
            for _ in range(50):
                torch.testing.assert_close(fusion.execute([x, 1.0])[0], x * 2 + 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


# Errors -------------------------------------------------------------------------------------------


def test_errors():
    fusion = Fusion()
    with pytest.raises(nvfuser.UserError, match="is not defined; use `with FusionDefinition"):
        fusion.execute([])
    fd = FusionDefinition(fusion)
    with pytest.raises(nvfuser.UserError, match="is not being defined"):
        fd.define_tensor(1)
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(2)
        with pytest.raises(AttributeError):
            fd.ops.som(t0)
        with pytest.raises(TypeError, match="sum: argument arg"):
            fd.ops.sum(2.0)
        with pytest.raises(TypeError, match="sum: a str is no argument of operations"):
            fd.ops.sum(t0, "axes")
        with pytest.raises(TypeError, match='there is no parameter "axs"'):
            fd.ops.sum(t0, axs=1)
        with pytest.raises(RuntimeError, match="out of boundary index 5"):
            fd.ops.sum(t0, 5)
        with pytest.raises(nvfuser.UserError, match="symbolic_sizes has 2 entries, but contiguous has 1"):
            fd.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True])
        with pytest.raises(nvfuser.UserError, match="sizes has 2 entries, but strides has 1"):
            fd.define_tensor(sizes=[2, 3], strides=[1])
        with pytest.raises(TypeError, match="incompatible function arguments"):
            fd.define_tensor("two")
        with pytest.raises(TypeError, match="an output is a tensor or a scalar"):
            fd.add_output(3)
        with pytest.raises(nvfuser.UserError, match="is being defined already"):
            FusionDefinition(fusion).__enter__()
        other = Fusion()
        with FusionDefinition(other) as fd2, pytest.raises(nvfuser.UserError, match="belongs to another fusion"):
            fd2.ops.neg(t0)
        fd.add_output(fd.ops.neg(t0))
    with pytest.raises(nvfuser.UserError, match="is defined already"):
        FusionDefinition(fusion).__enter__()
    with pytest.raises(RuntimeError, match="to be bound to a tensor of rank 2, but got a tensor of rank 1"):
        fusion.execute([torch.ones(3)])
    with pytest.raises(TypeError, match="input 0 is neither a tensor with __dlpack__ nor a number, but a str"):
        fusion.execute(["x"])
    assert torch.equal(fusion.execute([torch.ones(1, 1)])[0], torch.full((1, 1), -1.0))


def test_an_exception_leaves_the_fusion_undefined():
    fusion = Fusion()
    with pytest.raises(ZeroDivisionError), FusionDefinition(fusion) as fd:
        fd.define_tensor(3)
        raise ZeroDivisionError
    assert not fusion.defined()
    with FusionDefinition(fusion) as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor(1)))
    assert torch.equal(fusion.execute([torch.ones(2)])[0], -torch.ones(2))


def test_an_index_out_of_range_is_an_index_error():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        table, at = fd.define_tensor(1), fd.define_tensor(1, DataType.Int)
        fd.add_output(fd.ops.neg(fd.ops.index_select(table, at, 0)))
    rows = torch.tensor([1.0, 2.0, 3.0])
    for _ in range(3):  # planned, compiled, repeated
        for wrong in (3, -1, 2**62):
            with pytest.raises(IndexError, match=rf"index_select: index {wrong} is out of range .* of extent 3"):
                fusion.execute([rows, torch.tensor([0, wrong])])
            with pytest.raises(nvfuser.UserError):
                fusion.execute([rows, torch.tensor([wrong, 0])])
        assert fusion.execute([rows, torch.tensor([2, 0])])[0].tolist() == [-3.0, -1.0]
