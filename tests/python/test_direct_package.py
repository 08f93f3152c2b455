"""The package nvfuser_direct: its names, and what importing it needs."""

import os
import subprocess
import sys

import nvfuser_direct as nvf
from nvfuser_direct import DataType

SMALL = """
import sys
import nvfuser_direct
from nvfuser_direct import DataType, FusionDefinition, multidevice, ParallelType
from nvfuser_direct import execute_with_dtensors, compute_tensor_descriptor
assert "torch" not in sys.modules
assert nvfuser_direct.version().startswith("0.2.36") and nvfuser_direct.__version__ >= "0.2.34"
from nvfuser_direct.nvfuser_direct_version import Version
assert Version(nvfuser_direct.version()) >= Version("0.2.23")
for name in ("ComplexDouble ComplexFloat Double Float Half BFloat16 Int Int32 Bool Null UInt64 Index Float4_e2m1fn "
             "Float4_e2m1fn_x2 Float8_e5m2 Float8_e4m3fn Float8_e8m0fnu").split():
    getattr(DataType, name)
"""


def test_importing_needs_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", SMALL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_names():
    assert all(hasattr(nvf, name) for name in nvf.__all__)
    assert getattr(nvf.MemoryType, "global").name == "global"
    params = nvf.MatmulParams()
    params.tile_sizes.cta_tile = nvf.GemmTile(64, 64, 32)
    assert params != nvf.MatmulParams() and nvf.LaunchParams().bdimx == -1
    compile_params = nvf.CompileParams(maxrregcount=64, index_type=DataType.Int32)
    assert compile_params.maxrregcount == 64 and compile_params.index_type == DataType.Int32


OPERATIONS = """
    ceil floor frac relu round silu trunc set segment_set abs neg sign acos acosh asin asinh atan atanh cos cosh
    sin sinh tan tanh exp exp2 expm1 erf erfc erfinv erfcinv lgamma log log10 log1p log2 reciprocal rsqrt sqrt
    sigmoid isfinite isinf isnan isneginf isposinf isreal signbit logical_not bitwise_not real imag rand_like
    randn_like add sub mul minimum maximum pow fmod remainder mod div truediv atan2 nextafter eq ne lt le gt ge
    logical_and logical_or bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd
    logical_right_shift complex where lerp addcmul clamp threshold sum prod max min var var_mean welford cumsum
    cumprod cummin cummax cast broadcast broadcast_in_dim expand reshape permute squeeze slice pad cat
    stride_order size shape index_select select gather take_along_axis scatter embedding_fwd iota full normal
    uniform triu topk argsort matmul linear grouped_mm scaled_mm sdpfa_fwd sdpfa_bwd cutlass_nvfp4_grouped_mm
    nv_block_quantize nv_grouped_block_quantize preprocess_grouped_matmul_input_sf
"""


def test_every_operation_is_there():
    names = OPERATIONS.split()
    assert len(names) > 120
    missing = [name for name in names if not getattr(nvf.ops, name, None) or not getattr(nvf.ops, name).__doc__]
    assert not missing
