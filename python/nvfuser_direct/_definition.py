"""FusionDefinition: a fusion as a context manager, scheduled by the library or by hand."""

from nvfuser._C import DataType, UserError, direct

from ._executable import Executable
from ._repro import Described
from .multidevice import MultiDeviceExecutor, is_shared


class FusionDefinition(Executable):
    """Defines a fusion, `with FusionDefinition() as fd:`, then runs it: `fd.execute(inputs)`.

    `fd.ops` are the operations, `fd.sched` the scheduling primitives. Scheduled by hand inside the block, it runs by
    `fd.manual_execute(inputs)`.
    """

    def __init__(self):
        self.ops = direct.ops
        self.sched = direct.schedule
        self._fusion = None
        self._fusion_guard = None
        self._saved_inputs = None

    def __enter__(self):
        if self._fusion_guard is not None:
            raise UserError("FusionDefinition: it is being defined already; leave its `with` block first")
        for executor in ("fec", "ke", "mde"):  # of an earlier definition
            self.__dict__.pop(executor, None)
        self._fusion = direct.Fusion()
        self._fusion_guard = direct.FusionGuard(self._fusion)
        return self

    def __exit__(self, kind, error, traceback):
        self._require_open("__exit__")
        self._fusion_guard.__exit__(None, None, None)
        self._fusion_guard = None
        if kind is not None:  # half a definition is none
            self._fusion = None
        return False

    # Definition -----------------------------------------------------------------------------------

    def _require_open(self, what):
        if self._fusion_guard is None:
            raise UserError(
                f"{what}: the fusion is not being defined; use `with FusionDefinition() as fd:`, and fd in it"
            )

    def define_tensor(self, *args, **kwargs):
        """An input tensor: see nvfuser_direct.define_tensor."""
        self._require_open("define_tensor")
        tensor = direct.define_tensor(*args, **kwargs)
        self._fusion.add_input(tensor)
        return tensor

    def define_scalar(self, *args, **kwargs):
        """An input scalar, or a constant: see nvfuser_direct.define_scalar."""
        self._require_open("define_scalar")
        scalar = direct.define_scalar(*args, **kwargs)
        if scalar.is_symbolic():
            self._fusion.add_input(scalar)
        return scalar

    def define_vector(self, size):
        """A list of input scalars of dtype Int."""
        if not isinstance(size, int) or size < 0:
            raise TypeError(f"define_vector: the number of scalars must be an int of at least 0, not {size!r}")
        return [self.define_scalar(DataType.Int) for _ in range(size)]

    def add_output(self, output, alias_input=None):
        """Makes a tensor an output. With alias_input it is written to that input's memory, and not returned."""
        self._require_open("add_output")
        if alias_input is None:
            self._fusion.add_output(output)
        else:
            self._fusion.add_output(output, alias_input)

    # Execution ------------------------------------------------------------------------------------

    def execute(
        self, inputs, *, device=None, save_repro_inputs=False, _enable_options=(), _disable_options=()
    ):  # options as nvFuser spells them
        executor = getattr(self, "fec", None)
        if executor is None:
            self._require_defined()
            assert not hasattr(self, "ke"), "KernelExecutor already exists! Use manual_execute() to execute the fusion."
            shared = self._shared_executor()
            if shared is not None:
                return shared.run(inputs, _enable_options or (), _disable_options or ())
            executor = self.fec = direct.FusionExecutorCache(self._fusion)
        if save_repro_inputs:
            self._saved_inputs = [Described(value) for value in inputs]
        return executor.execute(
            inputs,
            device=device,
            _enable_options=list(_enable_options or ()),
            _disable_options=list(_disable_options or ()),
        )

    _execute = execute
    execute = direct.execute

    def _shared_executor(self):
        """Runs this device's share, where tensors are on a mesh; else None."""
        if not hasattr(self, "mde"):
            self.mde = MultiDeviceExecutor(self._fusion) if is_shared(self._fusion) else None
        return self.mde

    # Schedules by hand ----------------------------------------------------------------------------

    def manual_execute(self, inputs, heuristic_params=None):
        """Runs it as one kernel, as it was scheduled. The first call compiles."""
        if not hasattr(self, "ke"):
            self._require_defined()
            assert not hasattr(self, "fec"), "FusionExecutorCache already exists! Use execute() to execute the fusion."
            executor = direct.KernelExecutor()
            if heuristic_params is None:
                executor.compile(self.fusion, inputs)
            else:
                executor.compile(
                    self.fusion,
                    inputs,
                    heuristic_params.lparams,
                    heuristic_params.cparams,
                    heuristic_params.scheduler_type,
                )
            self.ke = executor
        if heuristic_params is None:
            return self.ke.run(inputs)
        return self.ke.run(inputs, heuristic_params.lparams, heuristic_params.cparams)

    def manual_validate(self, inputs, reference_outputs=None):
        """The same with manual_execute()."""
        before = self._inputs_before(inputs)
        outputs = self.manual_execute(inputs)
        self._compare(outputs, before, reference_outputs)
        return outputs
