"""The compiled part under the name that nvFuser gives it."""

from nvfuser._C import DataType  # noqa: F401
from nvfuser._C.direct import *  # noqa: F403
