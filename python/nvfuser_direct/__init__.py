"""Drop-in for nvFuser's Python module: define a fusion of tensor operations, run it, or schedule it by hand.

>>> from nvfuser_direct import DataType, FusionDefinition
>>> with FusionDefinition() as fd:
...     t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
...     fd.add_output(fd.ops.relu(t0))
>>> (out,) = fd.execute([tensor])  # of PyTorch (CPU or CUDA), NumPy, or anything that speaks DLPack
"""

from nvfuser._C import CompileError, DataType, InternalError, UserError
from nvfuser._C.direct import (
    BroadcastOp,
    CacheOp,
    CompileParams,
    Expr,
    Fusion,
    FusionExecutorCache,
    FusionGuard,
    HeuristicParams,
    IdMappingMode,
    IterDomain,
    KernelExecutor,
    LaunchParams,
    LoadStoreOpType,
    LRUCache,
    MemoryType,
    Merge,
    ParallelType,
    PointwiseParams,
    ReductionParams,
    ReshapeOp,
    SchedulerType,
    Split,
    SqueezeOp,
    Statement,
    TensorDomain,
    TensorView,
    Val,
    compute_tensor_descriptor,
    define_scalar,
    define_tensor,
    get_val_tolerances,
    idm,
    ops,
    schedule,
    translate_fusion,
    validate_with_auto_inferred_outputs,
)

from . import multidevice, nvf_cutlass
from ._cache import LruFusionCache
from ._definition import FusionDefinition
from ._matmul import (
    CircularBufferOptions,
    ClusterDims,
    CommunicatorBackend,
    GemmTile,
    MatmulBufferingLoopLevel,
    MatmulCircularBufferingStrategy,
    MatmulParams,
    MatMulTileOptions,
    MatmulTileRasterizationOrder,
    MatmulTilingStrategy,
    MmaMacro,
    MmaMacroArch,
    MmaMacroEncode,
    SupportedVectorization,
)
from ._profiler import FusionProfile, KernelProfile, PythonProfiler, get_fusion_profile, reset_profiler
from .multidevice import execute_with_dtensors
from .nvfuser_direct_version import __version__


def _keep_entries(*enums):
    """Programs look through an enum's __entries, as pybind11's have them: name → (member, doc)."""
    for enum in enums:
        enum.__entries = {name: (member, None) for name, member in enum.__members__.items()}


_keep_entries(CacheOp, DataType, IdMappingMode, LoadStoreOpType, MemoryType, ParallelType, SchedulerType)
_keep_entries(CommunicatorBackend, MatmulBufferingLoopLevel, MatmulCircularBufferingStrategy, MatmulTilingStrategy)
_keep_entries(MatmulTileRasterizationOrder, MmaMacroArch)


def version():
    """The version of nvFuser's API that this is, a local version behind it: "0.2.36+…"."""
    return __version__


__all__ = [
    "BroadcastOp",
    "CacheOp",
    "CircularBufferOptions",
    "ClusterDims",
    "CommunicatorBackend",
    "CompileError",
    "CompileParams",
    "DataType",
    "Expr",
    "Fusion",
    "FusionDefinition",
    "FusionExecutorCache",
    "FusionGuard",
    "FusionProfile",
    "GemmTile",
    "HeuristicParams",
    "IdMappingMode",
    "InternalError",
    "IterDomain",
    "KernelExecutor",
    "KernelProfile",
    "LRUCache",
    "LaunchParams",
    "LoadStoreOpType",
    "LruFusionCache",
    "MatMulTileOptions",
    "MatmulBufferingLoopLevel",
    "MatmulCircularBufferingStrategy",
    "MatmulParams",
    "MatmulTileRasterizationOrder",
    "MatmulTilingStrategy",
    "MemoryType",
    "Merge",
    "MmaMacro",
    "MmaMacroArch",
    "MmaMacroEncode",
    "ParallelType",
    "PointwiseParams",
    "PythonProfiler",
    "ReductionParams",
    "ReshapeOp",
    "SchedulerType",
    "Split",
    "SqueezeOp",
    "Statement",
    "SupportedVectorization",
    "TensorDomain",
    "TensorView",
    "UserError",
    "Val",
    "__version__",
    "compute_tensor_descriptor",
    "define_scalar",
    "define_tensor",
    "execute_with_dtensors",
    "get_fusion_profile",
    "get_val_tolerances",
    "idm",
    "multidevice",
    "nvf_cutlass",
    "ops",
    "reset_profiler",
    "schedule",
    "translate_fusion",
    "validate_with_auto_inferred_outputs",
    "version",
]
