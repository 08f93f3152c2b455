"""Every pointwise operation beside PyTorch at the edges: extreme values, random seeds, shapes and layouts.

One fusion holds all operations of a dtype and serves all shapes, seeds and layouts of a rank.
"""

import pytest
import torch
from nvf import DTYPE_OF_TORCH, Fusion
from nvfuser import DataType, FusionDefinition
from operation_batch import compare
from operation_dtypes import ALL, narrowed, widened
from operation_edges import LAYOUTS, SHAPES, laid_out, operand
from operation_pointwise import POINTWISE, accepted, dtypes_of, reference_of

# Of two zeros either is the greater one (relu too), NumPy's remainder gives zeros the divisor's sign and PyTorch's the
# dividend's, and how a difference or a sum is rounded tells the sign of what cancels.
OPEN_SIGNS = {"maximum", "minimum", "relu", "remainder", "erfcinv", "lerp", "addcmul"}


def zeros_differ(name, result, expected):
    """None where zeros have the same signs."""
    if not expected.is_floating_point() or expected.element_size() == 1 or name in OPEN_SIGNS:
        return None
    wrong = ((expected == 0) & (torch.signbit(result) != torch.signbit(expected))).flatten()
    return f"zeros have the other sign at {wrong.nonzero()[:3].flatten().tolist()}" if wrong.any() else None


class Sheet:
    """All operations that take a dtype, on tensors of a rank; each domain of operands is one input."""

    def __init__(self, dtype, rank):
        self.dtype, self.rank = dtype, rank
        self.fusion = Fusion()
        self.inputs = {}
        self.names = [name for name, spec in POINTWISE.items() if dtype in accepted(spec)]
        for name in self.names:
            operands = [self.input(spec) for spec in self.operands(name)]
            self.fusion.output(self.fusion.op(name, *operands))

    @staticmethod
    def operands(name):
        spec = POINTWISE[name]
        return [(spec.domains[i], i) for i in range(spec.arity)]

    def input(self, key):
        if key not in self.inputs:
            self.inputs[key] = self.fusion.tensor([-1] * self.rank, self.dtype)
        return self.inputs[key]

    def troubles(self, shape, seed, layout="dense"):
        given = {
            key: laid_out(operand(self.dtype, *key, shape, seed), layout if key[1] == 0 else "dense")
            for key in self.inputs
        }
        results = self.fusion.execute(*given.values())
        assert all(DTYPE_OF_TORCH[x.dtype] == self.dtype for x in given.values())
        found = []
        for name, result in zip(self.names, results, strict=True):
            operands = [given[key] for key in self.operands(name)]
            compute, kind = dtypes_of(POINTWISE[name].rule, self.dtype)
            expected = narrowed(reference_of(name, self.dtype)(*(widened(x, compute) for x in operands)), kind)
            difference = compare(result, expected) or zeros_differ(name, result, expected)
            if difference:
                found.append(f"{name} of {self.dtype.name} {list(shape)} {layout}, seed {seed}: {difference}")
        return found


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_edges(dtype):
    troubles = Sheet(dtype, 0).troubles((), 0)
    sheet = Sheet(dtype, 3)
    for seed, shape in enumerate(SHAPES, 1):
        troubles += sheet.troubles(shape, seed)
    for seed, layout in enumerate(LAYOUTS, 100):
        troubles += sheet.troubles((6, 5, 4), seed, layout)
    assert not troubles, "\n" + "\n".join(troubles)


@pytest.mark.parametrize("index", [-4, 3])
def test_a_selection_that_there_is_not_is_named_as_it_was_asked_for(index):
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
        fd.add_output(fd.ops.select(x, fd.define_scalar(DataType.Int), 0))
    with pytest.raises(IndexError, match=rf"select: index {index} is out of range .*; pass indices from -3 to 2"):
        fd.execute([torch.randn(3, 4), index])
    x = torch.randn(3, 4)
    torch.testing.assert_close(fd.execute([x, -3])[0], x[0])


def test_running_sums_of_truth_values_are_whole_numbers():
    x = torch.tensor([[True, False, True], [True, True, True]])
    with FusionDefinition() as fd:
        given = fd.from_pytorch(x)
        fd.add_output(fd.ops.cumsum(given, 1))
        fd.add_output(fd.ops.cumprod(given, 0))
    sums, products = fd.execute([x])
    torch.testing.assert_close(sums, x.cumsum(1))
    torch.testing.assert_close(products, x.cumprod(0))
