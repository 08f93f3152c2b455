"""FusionDefinition of the module nvfuser: as its documents have it, and as nvFuser's users had it from 2023 to 2025.

It is a layer over nvfuser_direct: the same definitions, executors and schedules, with the older calls' spellings.
"""

import contextlib
import io

from nvfuser_direct._executable import Executable
from nvfuser_direct._repro import Described

from nvfuser._C import DataType, Fusion, FusionDefinitionBase, Tensor, UserError, direct

from ._operators import Operators as _Operators
from ._schedule import SchedOperators, Scheduled, call_form
from ._vector import Vector


class FusionDefinition(FusionDefinitionBase, Executable):
    """Defines a fusion, `with FusionDefinition() as fd:`, then runs it: `fd.execute(inputs)`.

    `FusionDefinition(fusion)` defines a Fusion(), which runs by `fusion.execute(inputs)`, too; `FusionDefinition(id=3)`
    is a definition of before. A subclass with definition(self) needs no block, and one with schedule(self) schedules by
    hand. An exception in the block leaves the fusion undefined.
    """

    Operators = _Operators
    _module = "nvfuser"

    def __init__(self, fusion=None, max_length=None, *, id=None):
        if isinstance(fusion, int) and not isinstance(fusion, bool):
            fusion, id = None, fusion
        if fusion is not None and not isinstance(fusion, Fusion):
            raise TypeError(
                "FusionDefinition: takes nothing, a nvfuser.Fusion to define, or the id of one that is defined, not a "
                f"{type(fusion).__name__}"
            )
        if fusion is not None and id is not None:
            raise TypeError("FusionDefinition: takes a Fusion or an id, not both")
        self._documented = fusion is not None
        fusion = fusion if fusion is not None else Fusion() if id is None else Fusion(id)
        FusionDefinitionBase.__init__(self, fusion)
        self.ops = self.Operators(fusion)
        self.sched = SchedOperators()
        self._fusion = fusion.graph() if fusion.defined() else None
        self._max_length = max_length
        self._saved_inputs = None
        self._kernels = {}  # of schedules by hand, by the form of the inputs
        self._last_kernel = None
        self._debug_output = None
        self._profile = None

    # Definition -----------------------------------------------------------------------------------

    def __enter__(self):
        FusionDefinitionBase.__enter__(self)
        self._fusion = self.handle.graph()
        return self

    def __exit__(self, kind, error, traceback):
        self._require_open("__exit__")
        fusion, self._fusion = self._fusion, None  # half a definition is none
        if kind is None and self._max_length is not None:
            length = direct.translate_fusion(fusion).count("\n") - 1
            if length > self._max_length:
                FusionDefinitionBase.__exit__(self, UserError, None, None)
                raise UserError(
                    f"FusionDefinition: The fusion definition has exceeded {self._max_length} operations, it has "
                    f"{length}; max_length may have to be larger"
                )
        FusionDefinitionBase.__exit__(self, kind, error, traceback)
        self._fusion = fusion if kind is None else None
        return False

    def definition(self):
        """Where a subclass defines its fusion: self.define_tensor(…), self.ops, self.add_output(…)."""
        raise NotImplementedError(
            "definition: the fusion is not defined; use `with FusionDefinition() as fd: ...`, or write definition(self)"
            " in a subclass"
        )

    def schedule(self):
        """Where a subclass schedules its fusion, by self.sched."""
        raise NotImplementedError("schedule: a subclass writes its schedule in schedule(self)")

    def _overrides(self, name):
        return getattr(type(self), name) is not getattr(FusionDefinition, name)

    def _define(self):
        """By definition(self), if there is one and it was not called yet."""
        if self._fusion is None and self._overrides("definition"):
            with self:
                self.definition()

    def id(self):
        """The fusion's id, FusionDefinition(id=…) finds it again; None before the definition."""
        return self.handle.id() if self.handle.defined() else None

    def _is_open(self):
        return self._fusion is not None and not self.handle.defined()

    def _require_open(self, what):
        if not self._is_open():
            raise UserError(
                f"{what}: the fusion is not being defined; use `with FusionDefinition() as fd:`, and fd in it"
            )

    def define_tensor(self, *args, **kwargs):
        """An input tensor, by what is known of it.

        - `shape` (also `symbolic_sizes`; -1 any size, 1 broadcast, else constant), `contiguity` (also `contiguous`):
          one flag for each axis in memory order, outermost first, None for a broadcast axis, or one for all; `dtype`,
          `is_cpu`, `stride_order`: see nvfuser_direct.define_tensor
        - `sizes` and `strides` of a tensor like it, `dtype`, `static_sizes`, `is_cpu`. A FusionDefinition(fusion) takes
          them as its documents say: to symbolic sizes and contiguity, whatever the order in memory
        - `ndims`, the number of axes alone, and `dtype`
        """
        self._require_open("define_tensor")
        if "contiguity" in kwargs and "symbolic_sizes" in kwargs:
            kwargs["shape"] = kwargs.pop("symbolic_sizes")
        by_documents = {"ndims", "symbolic_sizes", "contiguous"} & set(kwargs) or (args and isinstance(args[0], int))
        later = {"shape", "contiguity", "is_cpu", "stride_order", "static_sizes"} & set(kwargs)
        if by_documents or (self._documented and not later):
            return FusionDefinitionBase.define_tensor(self, *args, **kwargs)
        with direct.FusionGuard(self._fusion):
            node = direct.define_tensor(*args, **kwargs)
        self._fusion.add_input(node)
        return self.handle.value_of(node)

    def define_scalar(self, *args, **kwargs):
        """An input scalar: define_scalar(dtype), define_scalar(None, dtype). With a value, a constant."""
        self._require_open("define_scalar")
        with direct.FusionGuard(self._fusion):
            node = direct.define_scalar(*args, **kwargs)
        if node.is_symbolic():
            self._fusion.add_input(node)
        return self.handle.value_of(node)

    def define_constant(self, value, dtype=None):
        """A constant; Bool, Int, Double or ComplexDouble as the value is, unless a dtype is given."""
        self._require_open("define_constant")
        if dtype is None:
            return FusionDefinitionBase.define_constant(self, value)
        return self.define_scalar(value, dtype)

    def define_vector(self, values, dtype=DataType.Int):
        """A Vector: of so many input scalars, or of these Scalars and numbers."""
        self._require_open("define_vector")
        if isinstance(values, (list, tuple)):
            if dtype != DataType.Int:
                raise UserError(f"define_vector: a vector has the dtype Int, not {dtype.name}; leave it out")
            for value in values:
                if isinstance(value, (Tensor, float, str)) or value is None:
                    kind = type(value).__name__
                    raise TypeError(f"define_vector: its entries are Scalars and ints, not a {kind}")
            return Vector(values, lambda number: self.define_scalar(number, DataType.Int))
        if not isinstance(values, int) or isinstance(values, bool) or values < 0:
            raise TypeError(
                "define_vector: a list of Scalars and ints is needed, or the number of input scalars, at least 0, not "
                f"{values!r}"
            )
        return Vector(self.define_scalar(dtype) for _ in range(values))

    def add_output(self, output, alias_input=None, stride_order=None):
        """Makes a tensor or a scalar an output; a scalar comes out as a tensor without axes.

        With alias_input, a tensor, it is written to that input's memory, and not returned. stride_order[i] is the
        position of axis i in memory from the innermost; it may stand in alias_input's place.
        """
        self._require_open("add_output")
        if isinstance(alias_input, (list, tuple)):
            if stride_order is not None:
                raise TypeError("add_output: a stride_order was given twice")
            alias_input, stride_order = None, alias_input
        if stride_order is not None and len(stride_order) > 0:
            if not isinstance(output, Tensor):
                raise TypeError(f"add_output: only a Tensor has a stride_order, not a {type(output).__name__}")
            output = self.ops.stride_order(output, stride_order)
        if alias_input is None:
            FusionDefinitionBase.add_output(self, output)
            return
        for value in (output, alias_input):
            if not isinstance(value, Tensor):
                raise TypeError(f"add_output: an input is updated by a Tensor, not a {type(value).__name__}")
        self._fusion.add_output(output.node, alias_input.node)

    def __repr__(self):
        """The definition as a Python function `nvfuser_fusion_id0(fd)`, which defines it again."""
        if self.handle.defined():
            return self.handle.definition()
        return Executable.__repr__(self).replace("def nvfuser_fusion(", "def nvfuser_incomplete_fusion(", 1)

    # Execution ------------------------------------------------------------------------------------

    def _auto_executor(self):
        self._define()
        self._require_defined()
        executor = self.handle.executor()
        if not self._overrides("schedule"):
            self.fec = executor  # short calls find it without this class
        return executor

    def _scheduled_for(self, inputs):
        """The kernel of schedule(self) for such inputs."""
        if not self._overrides("definition"):
            raise UserError("schedule: the subclass has schedule(self), but no definition(self); it needs both")
        self._define()
        self._require_defined()
        form = call_form(inputs)
        kernel = self._kernels.get(form)
        if kernel is None:
            kernel = self._kernels[form] = self._schedule(inputs)
        return kernel

    def _schedule(self, inputs):
        """A definition of its own, which the schedule may change."""
        defined = self.handle, self._fusion, self.ops
        fusion = Fusion()
        fusion.begin_definition()
        try:
            self.handle, self._fusion, self.ops = fusion, fusion.graph(), self.Operators(fusion)
            self.definition()
            fusion.close_definition()
            self.handle, self._fusion, self.ops = defined
            scheduled = self.sched._scheduled = Scheduled(fusion, inputs)
            self.schedule()
            scheduled.compile()
        finally:
            self.handle, self._fusion, self.ops = defined
            self.sched._scheduled = None
            fusion.end_definition(False)
        return scheduled

    def execute(
        self,
        inputs,
        *,
        device=None,
        override_user_schedule=False,
        capture_debug_output=False,
        print_repro=False,
        profile=False,
        save_repro_inputs=False,
        _enable_options=(),
        _disable_options=(),
    ):
        if save_repro_inputs:
            self._saved_inputs = [Described(value) for value in inputs]
        self._debug_output = self._profile = None
        with contextlib.ExitStack() as around:
            options = around.enter_context(
                direct.CallOptions(list(_enable_options or ()), list(_disable_options or ()), capture_debug_output)
            )
            printed = io.StringIO()
            if capture_debug_output:
                around.enter_context(contextlib.redirect_stdout(printed))
            if profile:
                direct.start_profiling()
                around.callback(self._take_profile)
            if self._overrides("schedule") and not override_user_schedule:
                self._last_kernel = self._scheduled_for(inputs)
                outputs = self._last_kernel.run(inputs)
            else:
                self._last_kernel = None
                outputs = self._auto_executor().execute(inputs, device=device)
        if capture_debug_output:
            self._debug_output = printed.getvalue() + options.dumped()
        if print_repro:
            print(self.repro_script_for(inputs))
        return outputs

    _execute = execute
    execute = direct.execute

    def _take_profile(self):
        profiles = direct.stop_profiling()
        self._profile = profiles[-1] if profiles else None

    # Looking into it ------------------------------------------------------------------------------

    def profile(self):
        """The profile of the last execute(inputs, profile=True)."""
        if self._profile is None:
            raise UserError("profile: there is none; call fd.execute(inputs, profile=True) first")
        return self._profile

    def debug_output(self):
        """What the last execute(inputs, capture_debug_output=True) dumped; None if it was not captured."""
        return self._debug_output

    def fusion_ir(self):
        """The fusion before it is scheduled."""
        self._define()
        self._require_defined()
        return str(self._fusion)

    def _last(self, what, override_user_schedule):
        """The schedule by hand that ran last; None where the library's is asked for."""
        if self._last_kernel is None and not (self._overrides("schedule") and not override_user_schedule):
            return None
        if override_user_schedule:
            return None
        if self._last_kernel is None:
            raise UserError(f"{what}: the fusion was not executed yet with its schedule; call execute(inputs) first")
        return self._last_kernel

    def last_cuda_code(self, intrinsic_code=False, override_user_schedule=False):
        """Text of the kernels that ran last: CUDA C++, or C++ for tensors of the CPU."""
        kernel = self._last("last_cuda_code", override_user_schedule)
        if kernel is not None:
            return kernel.code()
        code = self.handle.kernels() if self.handle.defined() else ""
        if not code:
            raise UserError("last_cuda_code: the fusion was not executed yet; call execute(inputs), or cuda_code_for")
        return code

    def cuda_code_for(self, inputs, intrinsic_code=False, override_user_schedule=False):
        """Text of the kernels for such inputs."""
        if self._overrides("schedule") and not override_user_schedule:
            return self._scheduled_for(inputs).code()
        return self._auto_executor().get_cuda_kernel(inputs, intrinsic_code)

    def last_scheduled_fusion_ir(self, tensor_transforms=False, override_user_schedule=False):
        """The fusions that were scheduled for the last call, one a kernel."""
        kernel = self._last("last_scheduled_fusion_ir", override_user_schedule)
        if kernel is not None:
            return str(kernel.graph)
        return self._auto_executor().get_most_recent_scheduled_ir(tensor_transforms)

    def scheduled_fusion_ir_for(self, inputs, tensor_transforms=False, override_user_schedule=False):
        """The fusions as they are scheduled for such inputs."""
        if self._overrides("schedule") and not override_user_schedule:
            return str(self._scheduled_for(inputs).graph)
        return self._auto_executor().get_scheduled_ir(inputs, tensor_transforms)

    def explain(self, html=None, inputs=None):
        """See Fusion.explain: how the last call was cut into kernels and why, and the kernels."""
        return self.handle.explain(html, inputs)

    def repro_script_for(self, inputs=None):
        """A program that defines the fusion and runs it with inputs like these."""
        self._define()
        self._require_defined()
        return Executable.repro_script_for(self, inputs)

    def getReproString(self, inputs=None):
        """repro_script_for by an older name."""
        return self.repro_script_for(inputs)

    def getReproErrorString(self, section, inputs=None):
        """What to tell somebody about an error: a line that names the fusion, and the program that repeats it."""
        number = self.id()
        which = "" if number is None else f" {number}"
        program = self.repro_script_for(inputs) if number is not None else repr(self)
        return (
            f"An error occurred while {section} nvFuser FusionDefinition{which}.\n"
            f"Here is a script to reproduce the error:\n```python\n{program}```\n"
        )


def clone(source, destination):
    """Defines `destination`, a FusionDefinition that is not defined yet, as `source` is."""
    for name, definition in (("source", source), ("destination", destination)):
        if not isinstance(definition, FusionDefinition):
            raise TypeError(f"clone: the {name} is a FusionDefinition, not a {type(definition).__name__}")
    source._define()
    source._require_defined()
    if destination.id() is not None:
        raise UserError(f"clone: the destination is defined already, as fusion {destination.id()}; make a new one")
    scope = {"FusionDefinition": FusionDefinition, "DataType": DataType}
    exec(repr(source), scope)
    define = scope[f"nvfuser_fusion_id{source.id()}"]
    if destination._is_open():
        define(destination)
        return
    with destination:
        define(destination)
