"""nvFuser's Python frontend: describe tensor operations, which are fused into few kernels.

>>> from nvfuser import FusionDefinition
>>> with FusionDefinition() as fd:
...     t0 = fd.define_tensor(2)
...     fd.add_output(fd.ops.relu(t0))
>>> (out,) = fd.execute([tensor])  # of PyTorch, NumPy, or anything that speaks DLPack
"""

import sys
import warnings
from pathlib import Path

from nvfuser import _C
from nvfuser._C import (
    CompileError,
    DataType,
    Fusion,
    FusionCache,
    InternalError,
    Scalar,
    Tensor,
    UserError,
    __version__,
    pytorch_on_cpu,
)
from nvfuser._C.direct import (
    CacheOp,
    LoadStoreOpType,
    MemoryType,
    ParallelType,
    SchedulerType,
    compute_tensor_descriptor,
)
from nvfuser._contiguity import compute_contiguity
from nvfuser._definition import FusionDefinition, clone
from nvfuser._vector import Vector

_C.FusionDefinition = FusionDefinition  # the documents import it from there

__all__ = [
    "CacheOp",
    "CompileError",
    "DataType",
    "Fusion",
    "FusionCache",
    "FusionDefinition",
    "InternalError",
    "LoadStoreOpType",
    "MemoryType",
    "ParallelType",
    "Scalar",
    "SchedulerType",
    "Tensor",
    "UserError",
    "Vector",
    "__version__",
    "clone",
    "compute_contiguity",
    "compute_tensor_descriptor",
    "pytorch_on_cpu",
    "version",
]


def version():
    """The version of nvFuser's API that this is, a local version behind it: "0.2.36+…"."""
    from nvfuser_direct import version as api_version

    return api_version()


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
