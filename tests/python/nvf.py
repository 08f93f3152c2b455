"""The C interface (csrc/capi/nvfuser_c.h) through ctypes, with PyTorch's CPU tensors through DLPack.

`Fusion` here is a thin spelling of the C functions, for tests; a failed call raises `Failed` with its status.
"""

import ctypes
import enum
import importlib.util
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int8, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from pathlib import Path

import torch


def _library():
    """NVFUSER_LIBRARY, or that of the build, or of the installed package (conftest.py)."""
    if "NVFUSER_LIBRARY" in os.environ:
        return Path(os.environ["NVFUSER_LIBRARY"])
    if not os.environ.get("NVFUSER_TEST_INSTALLED"):
        return Path(__file__).resolve().parents[2] / "build" / "lib" / "libnvfuser.so"
    (package,) = importlib.util.find_spec("nvfuser").submodule_search_locations
    (library,) = Path(package).glob("libnvfuser.so*")
    return library


LIBRARY = _library()


class Status(enum.IntEnum):
    OK = 0
    USER_ERROR = 1
    ARGUMENT_ERROR = 2
    COMPILE_ERROR = 3
    INTERNAL_ERROR = 4


class Kind(enum.IntEnum):
    NONE = 0
    VALUE = 1
    BOOL = 2
    INT = 3
    DOUBLE = 4
    COMPLEX = 5
    DTYPE = 6
    LIST = 7
    TENSOR = 8
    MANAGED = 9


class Argument(ctypes.Structure):
    pass


Argument._fields_ = [
    ("name", c_char_p),
    ("kind", c_int32),
    ("integer", c_int64),
    ("real", c_double),
    ("imag", c_double),
    ("count", c_int64),
    ("items", POINTER(Argument)),
    ("tensor", c_void_p),
]


class RunContext(ctypes.Structure):
    _fields_ = (
        ("stream", c_void_p),
        ("allocator", c_void_p),
        ("has_random_state", c_int32),
        ("random_seed", c_uint64),
        ("random_offset", c_uint64),
    )


class Failed(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message


def _declare(lib):
    ids = POINTER(c_int64)
    fusion = c_void_p
    texts = POINTER(c_void_p)  # not c_char_p, which ctypes would turn into bytes: they have to be freed
    signatures = {
        "nvf_version": (c_char_p, []),
        "nvf_last_error": (c_char_p, []),
        "nvf_dtype_name": (c_char_p, [c_int32]),
        "nvf_op_count": (c_int64, []),
        "nvf_op_name": (c_char_p, [c_int64]),
        "nvf_op_signature": (c_char_p, [c_int64]),
        "nvf_op_doc": (c_char_p, [c_int64]),
        "nvf_fusion_create": (c_int, [POINTER(c_void_p)]),
        "nvf_fusion_destroy": (None, [fusion]),
        "nvf_define_tensor": (c_int, [fusion, c_int64, ids, POINTER(c_int8), c_int32, ids]),
        "nvf_define_tensor_like": (c_int, [fusion, c_int64, ids, ids, c_int32, ids]),
        "nvf_define_scalar": (c_int, [fusion, c_int32, ids]),
        "nvf_define_constant_double": (c_int, [fusion, c_double, ids]),
        "nvf_define_constant_int": (c_int, [fusion, c_int64, ids]),
        "nvf_define_constant_bool": (c_int, [fusion, c_int32, ids]),
        "nvf_define_constant_complex": (c_int, [fusion, c_double, c_double, ids]),
        "nvf_op": (c_int, [fusion, c_char_p, POINTER(Argument), c_int64, ids, c_int64, ids]),
        "nvf_add_output": (c_int, [fusion, c_int64]),
        "nvf_value_info": (c_int, [fusion, c_int64, POINTER(c_int32), ids, POINTER(c_int32)]),
        "nvf_print": (c_int, [fusion, texts]),
        "nvf_definition": (c_int, [fusion, c_int64, texts]),
        "nvf_dumps_definition": (c_int, []),
        "nvf_kernels": (c_int, [fusion, texts]),
        "nvf_free_text": (None, [c_void_p]),
        "nvf_execute": (c_int, [fusion, POINTER(Argument), c_int64, POINTER(c_void_p), c_int64, ids]),
        "nvf_output_count": (c_int, [fusion, ids]),
        "nvf_execute_in": (
            c_int,
            [fusion, POINTER(Argument), c_int64, POINTER(RunContext), POINTER(c_void_p), c_int64, ids],
        ),
        "nvf_set_random_state": (c_int, [fusion, c_uint64, c_uint64]),
        "nvf_draw_count": (c_int, [fusion, ids]),
        "nvf_allow_fallback": (c_int, [fusion, c_int32]),
        "nvf_option": (c_int, [c_char_p, c_char_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


lib = _declare(ctypes.CDLL(str(LIBRARY)))

DTYPE_COUNT = 19
DType = enum.IntEnum("DType", {lib.nvf_dtype_name(i).decode(): i for i in range(DTYPE_COUNT)})

TORCH_DTYPES = {
    DType.Double: torch.float64,
    DType.Float: torch.float32,
    DType.Half: torch.float16,
    DType.BFloat16: torch.bfloat16,
    DType.Float8_e4m3fn: torch.float8_e4m3fn,
    DType.Float8_e5m2: torch.float8_e5m2,
    DType.Char: torch.int8,
    DType.Short: torch.int16,
    DType.Int32: torch.int32,
    DType.Int: torch.int64,
    DType.Byte: torch.uint8,
    DType.UInt16: torch.uint16,
    DType.UInt32: torch.uint32,
    DType.UInt64: torch.uint64,
    DType.Bool: torch.bool,
    DType.ComplexFloat: torch.complex64,
    DType.ComplexDouble: torch.complex128,
}
DTYPE_OF_TORCH = {theirs: ours for ours, theirs in TORCH_DTYPES.items()}


def op_names():
    return [lib.nvf_op_name(i).decode() for i in range(lib.nvf_op_count())]


def check(status):
    if status != Status.OK:
        raise Failed(Status(status), lib.nvf_last_error().decode())


# Tensors ----------------------------------------------------------------------------------------

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, c_char_p]
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = [c_void_p, c_char_p, c_void_p]
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.restype = c_int
_capsule_rename.argtypes = [ctypes.py_object, c_char_p]
_USED = b"used_dltensor"  # a capsule keeps the pointer to its name


# PyTorch before 2.10 has no float8 in capsules: it crosses as bytes, and DLPack's code of the dtype is written over.
_BYTES = 1
_FLOAT8 = {torch.float8_e4m3fn: 10, torch.float8_e5m2: 12}


def _code(managed):
    """Where a DLManagedTensor has it: behind the address of the memory, the device and the number of axes."""
    return c_uint8.from_address(managed + 20)


def _give(tensor):
    """A capsule."""
    if tensor.dtype not in _FLOAT8:
        return tensor.__dlpack__()
    capsule = tensor.view(torch.uint8).__dlpack__()
    _code(_capsule_pointer(capsule, b"dltensor")).value = _FLOAT8[tensor.dtype]
    return capsule


def _take(managed):
    """The torch tensor of a DLManagedTensor, which it takes over."""
    (float8,) = [dtype for dtype, code in _FLOAT8.items() if code == _code(managed).value] or [None]
    if float8 is not None:
        _code(managed).value = _BYTES
    tensor = torch.utils.dlpack.from_dlpack(_capsule_new(managed, b"dltensor", None))
    return tensor if float8 is None else tensor.view(float8)


# Definition and execution -----------------------------------------------------------------------


class Value:
    """A tensor or a scalar of a fusion."""

    def __init__(self, fusion, index):
        self.fusion = fusion
        self.id = index

    def _info(self):
        is_tensor, ndims, dtype = c_int32(), c_int64(), c_int32()
        check(lib.nvf_value_info(self.fusion.handle, self.id, byref(is_tensor), byref(ndims), byref(dtype)))
        return bool(is_tensor.value), ndims.value, DType(dtype.value)

    is_tensor = property(lambda self: self._info()[0])
    ndims = property(lambda self: self._info()[1])
    dtype = property(lambda self: self._info()[2])


def argument(value, name=None, keep=None):
    """As an nvf_argument; what it points to is appended to `keep`."""
    result = Argument(name=name)
    if value is None:
        result.kind = Kind.NONE
    elif isinstance(value, Value):
        result.kind, result.integer = Kind.VALUE, value.id
    elif isinstance(value, DType):
        result.kind, result.integer = Kind.DTYPE, int(value)
    elif isinstance(value, bool):
        result.kind, result.integer = Kind.BOOL, int(value)
    elif isinstance(value, int):
        result.kind, result.integer = Kind.INT, value
    elif isinstance(value, float):
        result.kind, result.real = Kind.DOUBLE, value
    elif isinstance(value, complex):
        result.kind, result.real, result.imag = Kind.COMPLEX, value.real, value.imag
    elif isinstance(value, list | tuple):
        items = (Argument * len(value))(*(argument(item, keep=keep) for item in value))
        keep.append(items)
        result.kind, result.count, result.items = Kind.LIST, len(value), items
    elif isinstance(value, torch.Tensor):
        capsule = _give(value)
        keep.append(capsule)
        result.kind, result.tensor = Kind.TENSOR, _capsule_pointer(capsule, b"dltensor")
    else:
        raise TypeError(f"{value!r} has no place in a call through the C interface")
    return result


class Fusion:
    CAPACITY = 512  # of results and outputs

    def __init__(self):
        handle = c_void_p()
        check(lib.nvf_fusion_create(byref(handle)))
        self.handle = handle

    def __del__(self):
        lib.nvf_fusion_destroy(self.handle)

    def _defined(self, function, *arguments):
        index = c_int64(-1)
        check(function(self.handle, *arguments, byref(index)))
        return Value(self, index.value)

    def tensor(self, sizes, dtype=DType.Float, contiguous=None):
        """`sizes`: a list, or the number of axes."""
        ndims = sizes if isinstance(sizes, int) else len(sizes)
        size_array = None if isinstance(sizes, int) else (c_int64 * ndims)(*sizes)
        flags = None if contiguous is None else (c_int8 * ndims)(*contiguous)
        return self._defined(lib.nvf_define_tensor, ndims, size_array, flags, dtype)

    def tensor_like(self, tensor):
        rank = tensor.dim()
        sizes, strides = (c_int64 * rank)(*tensor.shape), (c_int64 * rank)(*tensor.stride())
        return self._defined(lib.nvf_define_tensor_like, rank, sizes, strides, DTYPE_OF_TORCH[tensor.dtype])

    def scalar(self, dtype=DType.Double):
        return self._defined(lib.nvf_define_scalar, dtype)

    def constant(self, value):
        if isinstance(value, bool):
            return self._defined(lib.nvf_define_constant_bool, value)
        if isinstance(value, int):
            return self._defined(lib.nvf_define_constant_int, value)
        if isinstance(value, float):
            return self._defined(lib.nvf_define_constant_double, value)
        return self._defined(lib.nvf_define_constant_complex, value.real, value.imag)

    def ops(self, name, *arguments, **named):
        """All results of an operation; None for one that was not asked for."""
        keep = []
        given = [argument(value, keep=keep) for value in arguments]
        given += [argument(value, key.encode(), keep) for key, value in named.items()]
        ids, count = (c_int64 * self.CAPACITY)(), c_int64()
        array = (Argument * len(given))(*given)
        check(lib.nvf_op(self.handle, name.encode(), array, len(given), ids, self.CAPACITY, byref(count)))
        return [None if index < 0 else Value(self, index) for index in ids[: count.value]]

    def op(self, name, *arguments, **named):
        (result,) = self.ops(name, *arguments, **named)
        return result

    def output(self, *values):
        for value in values:
            check(lib.nvf_add_output(self.handle, value.id))

    def output_count(self):
        count = c_int64()
        check(lib.nvf_output_count(self.handle, byref(count)))
        return count.value

    def execute(self, *inputs, managed=False):
        """`managed`: hands each tensor over, so that outputs may share its memory."""
        capsules = []
        array = (Argument * len(inputs))(*(argument(value, keep=capsules) for value in inputs))
        if managed:
            for given in array:
                if given.kind == Kind.TENSOR:
                    given.kind = Kind.MANAGED
            for capsule in capsules:
                _capsule_rename(capsule, _USED)
        outputs, count = (c_void_p * self.CAPACITY)(), c_int64()
        check(lib.nvf_execute(self.handle, array, len(inputs), outputs, self.CAPACITY, byref(count)))
        return [_take(output) for output in outputs[: count.value]]

    def execute_drawing(self, seed, offset, *inputs):
        """With random numbers from there on, for this call alone."""
        capsules = []
        array = (Argument * len(inputs))(*(argument(value, keep=capsules) for value in inputs))
        context = RunContext(None, None, 1, seed, offset)
        outputs, count = (c_void_p * self.CAPACITY)(), c_int64()
        check(lib.nvf_execute_in(self.handle, array, len(inputs), byref(context), outputs, self.CAPACITY, byref(count)))
        return [_take(output) for output in outputs[: count.value]]

    def draw_count(self):
        count = c_int64()
        check(lib.nvf_draw_count(self.handle, byref(count)))
        return count.value

    def allow_fallback(self, allowed):
        check(lib.nvf_allow_fallback(self.handle, int(allowed)))

    def random_state(self, seed, offset):
        check(lib.nvf_set_random_state(self.handle, seed, offset))

    def _text(self, function, *arguments):
        text = c_void_p()
        check(function(self.handle, *arguments, byref(text)))
        try:
            return ctypes.string_at(text).decode()
        finally:
            lib.nvf_free_text(text)

    def print(self):
        return self._text(lib.nvf_print)

    def definition(self, fusion_id=0):
        return self._text(lib.nvf_definition, fusion_id)

    def kernels(self):
        return self._text(lib.nvf_kernels)
