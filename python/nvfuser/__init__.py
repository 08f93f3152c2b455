"""nvFuser's Python frontend: describe tensor operations, which are fused into few kernels.

>>> from nvfuser import DataType, Fusion, FusionDefinition
>>> fs = Fusion()
>>> with FusionDefinition(fs) as fd:
...     t0 = fd.define_tensor(2)
...     fd.add_output(fd.ops.relu(t0))
>>> (out,) = fs.execute([tensor])  # of PyTorch, NumPy, or anything that speaks DLPack
"""

from nvfuser._C import (
    CompileError,
    DataType,
    Fusion,
    FusionDefinition,
    InternalError,
    Scalar,
    Tensor,
    UserError,
    __version__,
)

__all__ = [
    "CompileError",
    "DataType",
    "Fusion",
    "FusionDefinition",
    "InternalError",
    "Scalar",
    "Tensor",
    "UserError",
    "__version__",
]
