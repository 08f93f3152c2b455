"""nvFuser's Python frontend: describe tensor operations, which are fused into few kernels.

>>> from nvfuser import DataType, Fusion, FusionDefinition
>>> fs = Fusion()
>>> with FusionDefinition(fs) as fd:
...     t0 = fd.define_tensor(2)
...     fd.add_output(fd.ops.relu(t0))
>>> (out,) = fs.execute([tensor])  # of PyTorch, NumPy, or anything that speaks DLPack
"""

import sys
import warnings
from pathlib import Path

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
from nvfuser._C.direct import compute_tensor_descriptor  # Lightning Thunder asks for it here

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
    "compute_tensor_descriptor",
]


def _others(folder):
    """Installed packages of other projects that bring a module of this name, too."""
    found = sorted(path.name for path in Path(folder).glob("nvfuser*.dist-info"))
    return [name.removesuffix(".dist-info") for name in found if not name.startswith("nvfuser_jit-")]


for _other in _others(Path(__file__).parent.parent):
    warnings.warn(
        f"{_other} is installed beside nvfuser-jit, and both bring the module nvfuser: whichever was installed last is "
        "imported. Uninstall one of them.",
        stacklevel=2,
    )

if "torch" in sys.modules:  # where the package is not installed, but on the path
    import nvfuser_autoload

    nvfuser_autoload.autoload()
