"""Programs that repeat a call."""

import sys


class Described:
    """An input without its values: enough to make another one like it."""

    def __init__(self, value):
        self.is_tensor = hasattr(value, "shape") and hasattr(value, "dtype")
        if not self.is_tensor:
            self.value = value
            return
        self.shape = tuple(int(size) for size in value.shape)
        self.is_torch = type(value).__module__.split(".")[0] == "torch"
        if self.is_torch:
            self.strides = tuple(value.stride())
            self.dtype = str(value.dtype)
            self.device = str(value.device)
            self.is_float = value.dtype.is_floating_point or value.dtype.is_complex
            self.is_bool = self.dtype == "torch.bool"
        else:
            self.dtype = str(value.dtype)

    def text(self):
        """Python text that makes it."""
        if not self.is_tensor:
            return _number(self.value)
        if not self.is_torch:
            return f"np.random.default_rng(0).standard_normal({self.shape}).astype({self.dtype!r})"
        options = f"dtype={self.dtype}, device={self.device!r}"
        if self.strides == _row_major(self.shape):
            return f"torch.testing.make_tensor({self.shape}, {options})"
        count = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        count = 0 if 0 in self.shape else count
        if self.is_float:
            made = f"torch.randn({count}, {options})"
        else:
            made = f"torch.randint(0, {2 if self.is_bool else 10}, ({count},), {options})"
        return f"{made}.as_strided({self.shape}, {self.strides})"


def _number(value):
    """Not each float's repr is an expression."""
    if (isinstance(value, float) and value in (float("inf"), float("-inf"))) or value != value:
        return f"float({str(value)!r})"
    return repr(value)


def _row_major(shape):
    strides = []
    stride = 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= max(size, 1)
    return tuple(reversed(strides))


def _environment():
    from .nvfuser_direct_version import __version__

    lines = []
    torch = sys.modules.get("torch")
    if torch is not None:
        lines += ["# CUDA devices:"]
        lines += [f"#  {i}: {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
        lines += [f"# torch version: {torch.__version__}", f"# cuda version: {torch.version.cuda}"]
    return [*lines, f"# nvfuser version: {__version__!s}"]


def repro_script(module, definition, inputs):
    """`module`: that FusionDefinition comes from; `inputs`: Described ones; None if they are not known."""
    function = definition[len("def ") : definition.index("(")]
    lines = _environment()
    lines += ["import numpy as np"] if any(i.is_tensor and not i.is_torch for i in inputs or ()) else []
    lines += ["import torch"] if any(i.is_tensor and i.is_torch for i in inputs or ()) else []
    lines += [f"from {module} import FusionDefinition, DataType", "", "", definition.rstrip(), "", ""]
    lines += ["with FusionDefinition() as fd:", f"    {function}(fd)", ""]
    if inputs is not None:
        lines += ["inputs = [", *(f"    {each.text()}," for each in inputs), "]", "fd.execute(inputs)"]
    return "\n".join(lines) + "\n"
