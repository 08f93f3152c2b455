"""What a defined fusion can do: run, be compared, tell about itself. For the FusionDefinition of both modules."""

from nvfuser._C import direct

from ._repro import Described, repro_script


class Executable:
    """A FusionDefinition has it. `_fusion` is the Fusion, None before the definition; `_saved_inputs`: Described ones.

    A frame of Python's would be a tenth of a short call: `execute` is a C++ function, which calls without options take
    to the executor `fec`, and all others, and those before there is one, to `_execute`.
    """

    _module = "nvfuser_direct"  # that programs import FusionDefinition from

    @property
    def fusion(self):
        """The Fusion; None before the definition."""
        return self.fec.fusion() if hasattr(self, "fec") else self._fusion

    def __repr__(self):
        """The definition as a Python function `nvfuser_fusion(fd)`, which defines it again."""
        fusion = self.fusion
        return object.__repr__(self) if fusion is None else direct.translate_fusion(fusion)

    # Definition ------------------------------------------------------------------------------------

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
            is_cpu=tensor.dim() == 0 and tensor.device.type == "cpu",  # its value goes to kernels of any device
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
        return repro_script(self._module, repr(self), self._saved_inputs)

    def repro_script_for(self, inputs=None):
        """A program that defines the fusion and runs it with inputs like these."""
        if inputs is not None and not isinstance(inputs, (list, tuple)):
            raise TypeError(
                f"repro_script_for: inputs must be a list of tensors and numbers, not a {type(inputs).__name__}"
            )
        return repro_script(
            self._module, repr(self), None if inputs is None else [Described(value) for value in inputs]
        )

    def validate(self, inputs, reference_outputs=None, device=None, **kwargs):
        """Runs execute(inputs, **kwargs), compares its outputs and gives them.

        Without reference outputs, expected values are what the fusion means, computed operation by operation. An
        AssertionError or RuntimeError names the output that differs.
        """
        before = self._inputs_before(inputs)
        outputs = self.execute(inputs, device=device, **kwargs)
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
