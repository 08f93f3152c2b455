"""FusionDefinition: a fusion as a context manager, and what runs it."""

from nvfuser._C import DataType, UserError, direct

from ._repro import Described, repro_script


class FusionDefinition:
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
        for executor in ("fec", "ke"):  # of an earlier definition
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

    @property
    def fusion(self):
        """The Fusion; None before the definition."""
        return self.fec.fusion() if hasattr(self, "fec") else self._fusion

    def __repr__(self):
        """The definition as a Python function `nvfuser_fusion(fd)`, which defines it again."""
        fusion = self.fusion
        return object.__repr__(self) if fusion is None else direct.translate_fusion(fusion)

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

    def from_pytorch(self, tensor, static_sizes=False):
        """An input tensor like this one, on the CPU or a CUDA device: dtype, memory order, and sizes if static."""
        import torch

        from .pytorch_utils import torch_dtype_to_nvfuser_dtype

        self._require_open("from_pytorch")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"from_pytorch: a torch.Tensor is needed, not a {type(tensor).__name__}")
        if tensor.layout != torch.strided:
            raise ValueError(
                f"from_pytorch: the tensor's layout is {tensor.layout}, which has no strides; use to_dense()"
            )
        if tensor.device.type not in ("cpu", "cuda"):
            raise ValueError(
                f"Found unsupported device {tensor.device}, only scalar CPU or CUDA tensors are supported"
                " (and CPU tensors of any rank)"
            )
        return self.define_tensor(
            sizes=tuple(tensor.size()),
            strides=tuple(tensor.stride()),
            dtype=torch_dtype_to_nvfuser_dtype(tensor.dtype),
            static_sizes=static_sizes,
        )

    def validate_definition(self):
        """(True, None) if it can be executed, else (False, why not)."""
        if self.fusion is None:
            return False, "Fusion does not exist! Use `with FusionDefinition() as fd: ...` to define a fusion."
        if not self.fusion.outputs() or not self.fusion.vals():
            return False, "Fusion is empty!"
        return True, None

    def _require_defined(self):
        valid, why = self.validate_definition()
        if not valid:
            raise NotImplementedError(why)

    # Execution ------------------------------------------------------------------------------------

    def execute(
        self, inputs, *, device=None, save_repro_inputs=False, _enable_options=(), _disable_options=()
    ):  # options as nvFuser spells them
        executor = getattr(self, "fec", None)
        if executor is None:
            self._require_defined()
            assert not hasattr(self, "ke"), "KernelExecutor already exists! Use manual_execute() to execute the fusion."
            executor = self.fec = direct.FusionExecutorCache(self._fusion)
        if save_repro_inputs:
            self._saved_inputs = [Described(value) for value in inputs]
        return executor.execute(
            inputs,
            device=device,
            _enable_options=list(_enable_options or ()),
            _disable_options=list(_disable_options or ()),
        )

    # A frame of Python's would be a tenth of a short call: without options, and once there is an executor, it is not
    # needed.
    _execute = execute
    execute = direct.execute

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

    # Looking into it ------------------------------------------------------------------------------

    def explain(self, html=None, inputs=None):
        """Text about the last execute(): the definition, how it was cut into kernels and why, and the kernels.

        `html`: a path, to which a page is written as well: the fusion as a picture, why it is several kernels, each
        kernel beside the loops that it came from, and bytes, milliseconds and fraction of a copy's speed, measured with
        `inputs` or, without them, with others of the last call's sizes.
        """
        assert hasattr(self, "fec"), "explain: execute the fusion first; what is done depends on the inputs"
        told = self.fec.explain()
        if html is not None:
            from nvfuser import _explain_page

            _explain_page.write(html, repr(self), self.fec.describe(inputs))
        return told

    def last_repro_script(self):
        """A program that repeats the last execute(inputs, save_repro_inputs=True), with other values."""
        assert self._saved_inputs is not None, (
            "fd.last_repro_script() cannot provide a repro because "
            "fd.execute(inputs, save_repro_inputs=True) was not executed!"
        )
        return repro_script(repr(self), self._saved_inputs)

    def repro_script_for(self, inputs=None):
        """A program that defines the fusion and runs it with inputs like these."""
        if inputs is not None and not isinstance(inputs, (list, tuple)):
            raise TypeError(
                f"repro_script_for: inputs must be a list of tensors and numbers, not a {type(inputs).__name__}"
            )
        return repro_script(repr(self), None if inputs is None else [Described(value) for value in inputs])

    def validate(self, inputs, reference_outputs=None, device=None, **kwargs):
        """Runs execute(inputs, **kwargs), compares its outputs and gives them.

        Without reference outputs, expected values are what the fusion means, computed operation by operation. An
        AssertionError or RuntimeError names the output that differs.
        """
        before = self._inputs_before(inputs)
        outputs = self.execute(inputs, device=device, **kwargs)
        self._compare(outputs, before, reference_outputs)
        return outputs

    def manual_validate(self, inputs, reference_outputs=None):
        """The same with manual_execute()."""
        before = self._inputs_before(inputs)
        outputs = self.manual_execute(inputs)
        self._compare(outputs, before, reference_outputs)
        return outputs

    def _inputs_before(self, inputs):
        """The inputs, copied if the fusion writes to some."""
        self._require_defined()
        if not self.fusion.updates_inputs():
            return inputs
        return [value.clone() if hasattr(value, "clone") else value for value in inputs]

    def _compare(self, outputs, inputs, reference_outputs):
        if reference_outputs is None:
            direct.validate_with_auto_inferred_outputs(self.fusion, outputs, inputs)
            return
        import torch

        if not isinstance(reference_outputs, (list, tuple)):
            kind = type(reference_outputs).__name__
            raise TypeError(f"validate: reference_outputs must be a list of tensors, not a {kind}")
        assert len(outputs) == len(reference_outputs), (
            f"validate: {len(outputs)} outputs, but {len(reference_outputs)} reference outputs"
        )
        tolerances = direct.get_val_tolerances(self.fusion, inputs)
        for index, (output, reference) in enumerate(zip(outputs, reference_outputs, strict=True)):
            atol, rtol = tolerances[index]
            torch.testing.assert_close(
                output,
                reference,
                atol=atol,
                rtol=rtol,
                equal_nan=True,
                check_dtype=True,
                msg=lambda text, index=index: f"output {index}: {text}",
            )
