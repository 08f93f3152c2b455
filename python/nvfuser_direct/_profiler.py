"""Profiles of the calls in a block."""

from nvfuser._C import direct
from nvfuser._C.direct import FusionProfile, KernelProfile

__all__ = ["FusionProfile", "KernelProfile", "PythonProfiler", "get_fusion_profile", "reset_profiler"]

_last = None


class PythonProfiler:
    """`with PythonProfiler() as prof:` measures each execution in the block; `prof.profile` is the last one's.

    Each is run again some times to be measured, on the same values.
    """

    def __init__(self, auto_scheduled=True):
        self.auto_scheduled = auto_scheduled
        self._profiles = None

    def __enter__(self):
        direct.start_profiling()
        return self

    def __exit__(self, kind, error, traceback):
        global _last
        self._profiles = direct.stop_profiling()
        if self._profiles:
            _last = self._profiles[-1]
        return False

    @property
    def profile(self):
        if not self._profiles:
            raise RuntimeError("PythonProfiler: no fusion was executed in the block")
        return self._profiles[-1]


def get_fusion_profile():
    """The last profile that was made."""
    if _last is None:
        raise RuntimeError("get_fusion_profile: there is none; execute a fusion `with PythonProfiler():`")
    return _last


def reset_profiler():
    """Forgets it."""
    global _last
    _last = None
    direct.stop_profiling()
