"""Batches (operation_batch.py) that are defined through the Python modules instead of the C interface, and printed and
defined again."""

import nvfuser
import nvfuser_direct
import torch
from nvf import TORCH_DTYPES, DType
from operation_batch import Batch, compare

DATA_TYPES = {dtype: getattr(nvfuser.DataType, dtype.name) for dtype in TORCH_DTYPES}
DATA_TYPES[DType.Index] = nvfuser.DataType.Index


class Value:
    """A value of a module under the names that cases use."""

    def __init__(self, value):
        self.value = value

    @property
    def dtype(self):
        dtype = getattr(self.value, "dtype", nvfuser.DataType.Int)  # a scalar of nvfuser_direct: an extent
        return DType[(dtype() if callable(dtype) else dtype).name]


def unwrapped(argument):
    if isinstance(argument, Value):
        return argument.value
    if isinstance(argument, DType):
        return DATA_TYPES[argument]
    return [unwrapped(one) for one in argument] if isinstance(argument, list | tuple) else argument


class OldModule:
    """Of the module nvfuser."""

    def __init__(self):
        self.fusion = nvfuser.Fusion()
        self.definition = nvfuser.FusionDefinition(self.fusion)
        self.definition.__enter__()
        self.printed = None

    def tensor(self, sizes, dtype):
        return self.definition.define_tensor(
            symbolic_sizes=sizes, contiguous=[False] * len(sizes), dtype=DATA_TYPES[dtype]
        )

    def scalar(self, dtype):
        return self.definition.define_scalar(DATA_TYPES[dtype])

    def add_output(self, value):
        self.definition.add_output(value)

    def execute(self, inputs):
        self.definition.__exit__(None, None, None)
        self.printed = self.fusion.definition()
        return self.fusion.execute(inputs)

    def execute_again(self, inputs):
        """What the printed definition gives, as a fusion of its own."""
        scope = dict(vars(nvfuser))
        exec(self.printed, scope)
        again = nvfuser.Fusion()
        with nvfuser.FusionDefinition(again) as fd:
            scope[f"nvfuser_fusion_id{self.fusion.id()}"](fd)
        assert again.id() == self.fusion.id()  # the same definition
        return again.execute(inputs)


class DirectModule:
    """Of the module nvfuser_direct. Its outputs are tensors alone."""

    def __init__(self):
        self.definition = nvfuser_direct.FusionDefinition()
        self.definition.__enter__()

    def tensor(self, sizes, dtype):
        return self.definition.define_tensor(sizes, False, DATA_TYPES[dtype])

    def scalar(self, dtype):
        return self.definition.define_scalar(DATA_TYPES[dtype])

    def add_output(self, value):
        if not value.is_tensor():
            dtype = value.dtype() if callable(getattr(value, "dtype", None)) else nvfuser.DataType.Int
            value = self.definition.ops.full([], value, dtype)
        self.definition.add_output(value)

    def execute(self, inputs):
        self.definition.__exit__(None, None, None)
        return self.definition.execute(inputs)

    def execute_again(self, inputs):
        scope = dict(vars(nvfuser_direct))
        exec(repr(self.definition), scope)
        with nvfuser_direct.FusionDefinition() as again:
            scope["nvfuser_fusion"](again)
        assert tensors_in(again) == tensors_in(self.definition)
        return again.execute(inputs)


def tensors_in(fd):
    """How many statements of its text define tensors. Its numbers are those of the order in which they were made."""
    return sum(line.lstrip().startswith("tv") for line in repr(fd).splitlines())


MODULES = {"nvfuser": OldModule, "nvfuser_direct": DirectModule}


class ModuleFusion:
    """What a Batch asks of its fusion."""

    def __init__(self, module):
        self.module = module
        self.pending = []

    def tensor(self, sizes, dtype):
        return Value(self.module.tensor(sizes, dtype))

    def scalar(self, dtype):
        return Value(self.module.scalar(dtype))

    def ops(self, name, *arguments, **named):
        operation = getattr(self.module.definition.ops, name)
        given = {key: unwrapped(value) for key, value in named.items()}
        result = operation(*(unwrapped(one) for one in arguments), **given)
        results = result if isinstance(result, list | tuple) else [result]
        return [None if one is None else Value(one) for one in results]

    def op(self, name, *arguments, **named):
        (result,) = self.ops(name, *arguments, **named)
        return result

    def output(self, *values):
        for value in values:
            self.module.add_output(value.value)

    def execute(self, *inputs):
        return self.module.execute(list(inputs))


class ModuleBatch(Batch):
    """A batch through a module. After `run`, `rerun` tells whether the printed definition does the same."""

    def __init__(self, module):
        super().__init__()
        self.module = MODULES[module]()
        self.fusion = ModuleFusion(self.module)
        self.results = []

    def run(self):
        troubles = []
        self.results = self.fusion.execute(*self.inputs)
        for result, (operation, expected, tolerance) in zip(self.results, self.expected, strict=True):
            difference = compare(result, expected, tolerance)
            troubles += [f"{operation}: {difference}"] if difference else []
        return troubles

    def rerun(self):
        troubles = []
        for first, second, (operation, *_) in zip(
            self.results, self.module.execute_again(self.inputs), self.expected, strict=True
        ):
            same = first.dtype == second.dtype and first.stride() == second.stride()
            if not same or not torch.equal(bits(first), bits(second)):
                troubles.append(f"{operation}: the printed definition gives something else")
        return troubles


def bits(tensor):
    """The elements as bytes, so that NaN equals NaN."""
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return plain.contiguous().view(-1).view(torch.uint8) if plain.numel() else plain.flatten().to(torch.uint8)
