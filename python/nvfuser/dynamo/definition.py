"""Defines one region of an ATen graph as a Fusion.

Values have PyTorch's dtypes, but for half precision: inside of a fusion it is computed and kept in float32, and
rounded where the graph asks for it (a cast, from it and to it) and where it leaves the fusion; in exact mode by each
operation.
Outputs lie in memory as the graph's FakeTensors say.
"""

import functools

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._python_dispatch import _disable_current_modes

from nvfuser._C import DataType, direct
from nvfuser._C.direct import ops

from .layout import order_of
from .operators import RULES, meta
from .operators.table import lowest_bits

DTYPES = {
    torch.float64: DataType.Double,
    torch.float32: DataType.Float,
    torch.float16: DataType.Half,
    torch.bfloat16: DataType.BFloat16,
    torch.float8_e4m3fn: DataType.Float8_e4m3fn,
    torch.float8_e5m2: DataType.Float8_e5m2,
    torch.int64: DataType.Int,
    torch.int32: DataType.Int32,
    torch.int16: DataType.Short,
    torch.int8: DataType.Char,
    torch.uint8: DataType.Byte,
    torch.bool: DataType.Bool,
}
_HALF = (torch.float16, torch.bfloat16)
_LARGEST_E4M3 = 448.0


class UndefinedOperation(Exception):
    """The rule of `node` failed with `error`."""

    def __init__(self, node, error):
        super().__init__(str(error))
        self.node, self.error = node, error


@functools.cache
def _saturates():
    """Whether this PyTorch makes 448 of what is beyond `float8_e4m3fn`, rather than NaN."""
    with _disable_current_modes():
        return torch.tensor(500.0).to(torch.float8_e4m3fn).float().item() == _LARGEST_E4M3


def _cast(tensor, dtype):
    if dtype == DataType.Float8_e4m3fn and _saturates():
        if tensor.dtype() not in (DataType.Float, DataType.Double):
            tensor = ops.cast(tensor, DataType.Float)
        tensor = ops.minimum(ops.maximum(tensor, -_LARGEST_E4M3), _LARGEST_E4M3)
    return ops.cast(tensor, dtype)


def define(region, exactly=False):
    """The Fusion of a region."""
    scope = Scope(region.inputs, region.device, exactly)
    with scope:
        for node in region.outputs:
            scope.add_output(node)
        for target, node in region.updates.items():
            scope.add_update(target, node)
    return scope.fusion


def _laid_out(tensor, like):
    """The tensor with the order of axes in memory that `like` has, and memory for each element."""
    if any(" ex " in str(axis) for axis in tensor.get_logical_domain()):  # broadcast, of a larger extent: stride 0
        everywhere = ops.full(ops.shape(tensor), direct.define_scalar(True, DataType.Bool), DataType.Bool)
        tensor = ops.where(everywhere, tensor, tensor)
    order, _ = order_of(like.shape, like.stride(), statically_known_true)
    places = [0] * len(order)
    for place, axis in enumerate(reversed(order)):
        places[axis] = place
    return ops.stride_order(tensor, places) if places else ops.set(tensor)


class Scope:
    """A fusion while it is defined: what the rules of operators/ see."""

    def __init__(self, inputs, device, exactly):
        self.fusion = direct.Fusion()
        self.exactly = exactly  # eager's bits are wanted (exact.py)
        self._device = device
        self._inputs = inputs
        self._values = {}
        self._guard = None

    def __enter__(self):
        self._guard = direct.FusionGuard(self.fusion)
        for node in self._inputs:
            self._values[node] = self._define_input(meta(node))
        return self

    def __exit__(self, *error):
        self._guard.__exit__(None, None, None)
        return False

    # Inputs and outputs ---------------------------------------------------------------------------

    def _define_input(self, value):
        if not isinstance(value, torch.Tensor):
            kind = torch.bool if isinstance(value, bool | torch.SymBool) else None
            kind = kind or (torch.int64 if isinstance(value, int | torch.SymInt) else torch.float64)
            scalar = direct.define_scalar(dtype=DTYPES[kind])
            self.fusion.add_input(scalar)
            return scalar
        tensor = self._define_tensor(value)
        self.fusion.add_input(tensor)
        return tensor

    def _define_tensor(self, value):
        shape = [-1 if isinstance(size, torch.SymInt) else size for size in value.shape]
        dtype = DTYPES[value.dtype]
        if not shape:
            of_host = value.device.type == "cpu" and self._device.type != "cpu"
            return direct.define_tensor(shape=[], contiguity=[], dtype=dtype, is_cpu=of_host)
        order, contiguity = order_of(value.shape, value.stride(), statically_known_true)
        rank = len(shape)
        places = [0] * rank
        for place, axis in enumerate(reversed(order)):
            places[axis] = place
        return direct.define_tensor(shape=shape, contiguity=contiguity, dtype=dtype, stride_order=places)

    def add_output(self, node):
        value = meta(node)
        self.fusion.add_output(_laid_out(self.stored(node), value))

    def add_update(self, target, node):
        """The node's value is written to the memory of `target`, an input."""
        tensor = _laid_out(self.rounded(self.stored(node), meta(target).dtype), meta(target))
        self.fusion.add_output(tensor, self._values[target])

    # Values of nodes ------------------------------------------------------------------------------

    def value(self, node):
        """The tensor (or the tuple of them) that a node of the region computes."""
        if node not in self._values:
            self._compute(node)
        return self._values[node]

    def is_given(self, node):
        """Whether the node's value comes into the region, and what it is made of need not be there."""
        return node in self._inputs

    def _compute(self, node):
        # Iterative: chains may be longer than Python's stack.
        pending = [node]
        while pending:
            current = pending[-1]
            if current in self._values:
                pending.pop()
                continue
            missing = [i for i in current.all_input_nodes if i not in self._values and self._is_read(i)]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._values[current] = self._define(current)

    @staticmethod
    def _is_read(node):
        """Sizes that are plain numbers are read from what is known of the node."""
        return isinstance(meta(node), torch.Tensor | tuple | list | torch.SymInt | torch.SymFloat | torch.SymBool)

    def _define(self, node):
        if node.target.__name__ == "getitem":
            return self._values[node.args[0]][node.args[1]]
        known = meta(node)
        try:
            result = RULES[node.target].define(self, node, *node.args, **node.kwargs)
            if isinstance(result, list | tuple):
                return [self._as(tensor, part.dtype) for tensor, part in zip(result, known, strict=True)]
            return self._as(result, known.dtype)
        except Exception as error:
            raise UndefinedOperation(node, error) from error

    def _as(self, tensor, dtype):
        """The tensor in this dtype, half precision in float32 or as it is."""
        wanted = DTYPES[dtype]
        found = tensor.dtype()
        if self.exactly and dtype in _HALF and found == DataType.Float:
            return ops.cast(ops.cast(tensor, wanted), DataType.Float)
        if found == wanted or (dtype in _HALF and found == DataType.Float):
            return tensor
        return _cast(tensor, DataType.Float if dtype in _HALF else wanted)

    # What rules ask for ---------------------------------------------------------------------------

    def operand(self, argument, dtype, exact=False):
        """A tensor, scalar or number in the dtype that is computed in.

        What comes from another dtype to half precision is rounded to it, as PyTorch makes an operand of that dtype of
        it, and half precision that meets another dtype is rounded first; with `exact`, numbers and tensors of the host
        without axes are not: there PyTorch's kernels read them as they are.
        """
        value = meta(argument)
        if isinstance(value, bool | int | float):
            return self.number(value, dtype, exact)
        tensor = self.value(argument)
        is_tensor = isinstance(value, torch.Tensor)
        is_number = not is_tensor or (value.dim() == 0 and value.device.type == "cpu")
        if dtype in _HALF and not (is_tensor and value.dtype in (dtype, torch.bool)) and not (exact and is_number):
            return ops.cast(ops.cast(tensor, DTYPES[dtype]), DataType.Float)
        wanted = self.dtype(dtype)
        if is_tensor and dtype != value.dtype:
            tensor = self.stored(argument)
        return tensor if is_tensor and tensor.dtype() == wanted else _cast(tensor, wanted)

    def stored(self, node):
        """A tensor as it would be read from memory: rounded to half precision where that is its dtype."""
        return self.rounded(self.value(node), meta(node).dtype)

    def number(self, value, dtype, exact=False):
        if dtype is torch.bool:
            return direct.define_scalar(bool(value), DataType.Bool)
        if dtype in _HALF and not exact:
            value = torch.tensor(value, dtype=dtype, device="cpu").item()
        if dtype.is_floating_point:
            return direct.define_scalar(float(value), self.dtype(dtype))
        return direct.define_scalar(lowest_bits(value, dtype), DTYPES[dtype])

    def rounded(self, tensor, dtype):
        """The tensor in exactly this dtype, rounded to half precision where that is it."""
        wanted = DTYPES[dtype]
        return tensor if tensor.dtype() == wanted else _cast(tensor, wanted)

    def dtype(self, dtype):
        return DataType.Float if dtype in _HALF else DTYPES[dtype]

    def sizes(self, sizes, node):
        """Sizes as an operation of ours takes them: numbers or scalars of the fusion."""
        return [self.scalar(size) for size in sizes]

    def exact_dtype(self, dtype):
        return DTYPES[dtype]

    def scalar(self, argument):
        """A number or size that an operation is given: the number where it is known, None where there is none."""
        if not isinstance(argument, torch.fx.Node):
            return argument
        value = meta(argument)
        return value if isinstance(value, int | float) else self.value(argument)

    def extent_of(self, node, axis):
        """The extent of an axis of a node's value."""
        size = meta(node).shape[axis]
        return size if isinstance(size, int) else self.value(node).size(axis)
