"""TorchScript's fuser2: what torch._C._jit_set_nvfuser_* do, and the extension behind them.

The extension is made of C++ sources that travel with this package, for the PyTorch that is installed, when it is
first needed: at the first script on a machine with a GPU, or inside torch.jit.fuser("fuser2"). It is kept in the
cache's folder. docs/torchscript.md has the whole story.
"""

import ctypes
import os
import sys
import threading
import warnings

import nvfuser_autoload

from nvfuser.torchscript._build import BuildError, build

__all__ = ["BuildError", "build", "is_enabled", "is_loaded", "load", "set_enabled"]

_KNOBS = {"single_node": False, "horizontal": False, "guard": True}
_lock = threading.RLock()
_library = None
_failed = False
_skipped = set()
_gpu_fusion_before = None  # of PyTorch's own fuser, which we are instead of


def _enabled_by_environment():
    value = os.environ.get("PYTORCH_JIT_ENABLE_NVFUSER", "1")
    if value not in ("0", "1"):
        warnings.warn(
            f"nvfuser: PYTORCH_JIT_ENABLE_NVFUSER is {value!r}, neither 0 nor 1; it counts as 1", stacklevel=2
        )
    return value != "0"


_enabled = _enabled_by_environment()


def is_loaded():
    """Whether the extension is in this process."""
    return _library is not None


def load():
    """Builds the extension unless that was done before, and loads it. False, after one warning, if that cannot be."""
    global _library, _failed
    with _lock:
        if _library is not None or _failed:
            return _library is not None
        nvfuser_autoload.unwatch()
        try:
            _library = ctypes.CDLL(str(build()))
        except (BuildError, OSError) as error:
            _failed = True
            warnings.warn(f"nvfuser: TorchScript programs run unfused: {error}", stacklevel=2)
            return False
        for name, value in _KNOBS.items():
            _push(name, value)
        for kind in _skipped:
            _library.nvf_ts_skip_node_kind(kind.encode(), 1)
        _apply()
        return True


def load_for_cuda():
    """Loads the extension if there is a GPU, and fusion is on."""
    import torch

    if is_enabled() and torch.cuda.is_available():
        load()


def _push(name, value):
    if _library is not None:
        _library.nvf_ts_set_knob(name.encode(), int(value))


def _apply():
    """Tells the extension and PyTorch's own fuser who fuses."""
    global _gpu_fusion_before
    if _library is None:
        return
    core = sys.modules["torch"]._C
    enabled = is_enabled()
    _push("enabled", enabled)
    other_fuser = core._jit_texpr_fuser_enabled()
    if enabled and core._jit_can_fuse_on_gpu():
        _gpu_fusion_before = True
        core._jit_override_can_fuse_on_gpu(False)
    elif not enabled and _gpu_fusion_before and other_fuser:
        core._jit_override_can_fuse_on_gpu(True)
        _gpu_fusion_before = None
    # PyTorch's fuser would take for its own what is profiled for ours.
    _library.nvf_ts_profile_operators(int(enabled and not (other_fuser and core._jit_can_fuse_on_cpu())))


def is_enabled():
    """PYTORCH_JIT_USE_NNC_NOT_NVFUSER counts before what was set, and that before PYTORCH_JIT_ENABLE_NVFUSER."""
    return _enabled and nvfuser_autoload.can_be_enabled()


def set_enabled(value):
    global _enabled
    with _lock:
        before = is_enabled()
        _enabled = bool(value)
        if is_enabled() and not is_loaded():
            torch = sys.modules["torch"]
            # On the CPU inside torch.jit.fuser("fuser2"), which turns PyTorch's own fuser off first.
            if torch.cuda.is_available() or not torch._C._jit_texpr_fuser_enabled():
                load()
        _apply()
        return before


def knob(name):
    return _KNOBS[name]


def set_knob(name, value):
    with _lock:
        before = _KNOBS[name]
        _KNOBS[name] = bool(value)
        _push(name, value)
        return before


def skip_node_kind(kind, toggle):
    with _lock:
        before = kind in _skipped
        if toggle:
            _skipped.symmetric_difference_update({kind})
            if _library is not None:
                _library.nvf_ts_skip_node_kind(kind.encode(), 1)
        return before


if "torch" in sys.modules:
    nvfuser_autoload.autoload()
