"""The version, comparable as a string of digits and as packaging's Version."""

import importlib

from nvfuser._C import __version__ as _own_version

API_VERSION = "0.2.36"  # of nvFuser's API


class NvfuserVersion(str):
    """A version that compares without what follows "+"."""

    def _compared(self, other):
        def release(text):
            return tuple(int(part) for part in str(text).split("+")[0].split(".") if part.isdigit())

        return release(self), release(other)

    def __lt__(self, other):
        own, others = self._compared(other)
        return own < others

    def __le__(self, other):
        own, others = self._compared(other)
        return own <= others

    def __gt__(self, other):
        own, others = self._compared(other)
        return own > others

    def __ge__(self, other):
        own, others = self._compared(other)
        return own >= others

    def __eq__(self, other):
        own, others = self._compared(other)
        return own == others

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = NvfuserVersion(f"{API_VERSION}+jit{_own_version}")


def __getattr__(name):
    if name == "Version":  # only who asks for it needs the package `packaging`
        return importlib.import_module("packaging.version").Version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
