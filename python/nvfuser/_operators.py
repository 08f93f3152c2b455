"""fd.ops: the operations, with the spellings that nvFuser's Python frontend had before today's."""

from nvfuser._C import FusionDefinitionBase, Scalar, UserError

from ._vector import Vector


def _is_scalar(value):
    return isinstance(value, (Scalar, bool, int, float))


def _is_list(value):
    return isinstance(value, (list, tuple))


class Operators(FusionDefinitionBase.Operators):
    """The operations: output = fd.ops.NAME(arguments). Operands are tensors and scalars of the fusion, or numbers.

    `axes`, `dims` and `dim` name the same parameter, as do `keepdim` and `keep_dim`, `shape` and `output_shape`. A
    wrong argument is a TypeError, one that makes no sense a UserError. Beside the operations of today there are at,
    tensor_sizes and view; reshape and squeeze also take the original_shape, batch_norm and sdpfa_fwd the orders of
    their arguments that they had before.
    """

    def shape(self, arg):
        return Vector(super().shape(arg))

    def tensor_sizes(self, arg):
        """tensor_sizes(self, arg: Tensor) -> list[Scalar]

        shape(arg) by an older name.
        """
        return list(super().shape(arg))

    def at(self, vector, index):
        """at(self, vector: list[int | Scalar], index: int) -> Scalar

        An entry of a vector, such as shape() and define_vector() give; negative counts from the end.
        """
        if not _is_list(vector):
            raise TypeError(f"at: a Vector or a list of Scalars is needed, not a {type(vector).__name__}")
        return vector.at(index) if isinstance(vector, Vector) else Vector(vector).at(index)

    def reshape(self, arg, *shapes, original_shape=None, new_shape=None):
        """reshape(self, arg: Tensor, original_shape: list[int] | None = None, new_shape: list[int | Scalar]) -> Tensor

        The same elements in another shape. By position: reshape(arg, new_shape), or with the shape that arg has before
        it, as older programs write it. `view` is the same.
        """
        if len(shapes) + (original_shape is not None) + (new_shape is not None) > 2 or len(shapes) > 2:
            raise TypeError("reshape: takes arg, at most one original_shape and one new_shape, but more were given")
        shapes = list(shapes)
        if new_shape is None and shapes:
            new_shape = shapes.pop()
        if shapes:
            original_shape = shapes.pop()
        if original_shape is not None:
            self._require_rank("reshape", arg, original_shape)
        return super().reshape(arg, new_shape) if new_shape is not None else super().reshape(arg)

    def view(self, *args, **kwargs):
        """view(self, arg: Tensor, original_shape: list[int] | None = None, new_shape: list[int | Scalar]) -> Tensor

        reshape by an older name.
        """
        return self.reshape(*args, **kwargs)

    def squeeze(self, arg, *args, original_shape=None, **kwargs):
        """squeeze(self, arg: Tensor, dims: list[int], squeeze_expanded: bool = False) -> Tensor

        Drops axes of extent 1. squeeze(arg, original_shape, dims), as older programs write it, drops those of the dims
        that are 1 in original_shape.
        """
        args = list(args)
        if len(args) > 1 and _is_list(args[1]):
            original_shape = args.pop(0)
        if original_shape is None:
            return super().squeeze(arg, *args, **kwargs)
        self._require_rank("squeeze", arg, original_shape)
        dims = args.pop(0) if args else kwargs.pop("dims", None)
        if not _is_list(dims):
            raise TypeError("squeeze: with an original_shape, a list of dims is needed")
        rank = len(original_shape)  # of dims that are not there the operation tells
        dropped = [dim for dim in dims if not -rank <= dim < rank or original_shape[dim] == 1]
        return super().squeeze(arg, dropped, *args, **kwargs) if dropped else self.set(arg)

    def batch_norm(self, *args, **kwargs):
        if len(args) > 5 and not isinstance(args[5], bool):  # the order of 2023: training behind momentum and eps
            for name, value in zip(("momentum", "eps", "training", "channels_last"), args[5:], strict=False):
                if name in kwargs:
                    raise TypeError(f"batch_norm: argument {name} was given twice")
                kwargs[name] = value
            args = args[:5]
        return super().batch_norm(*args, **kwargs)

    def sdpfa_fwd(self, *args, **kwargs):
        if any(_is_scalar(value) for value in args[3:5]):  # without bias and mask, before 2025
            args = (*args[:3], None, None, *args[3:])
        return super().sdpfa_fwd(*args, **kwargs)

    def _require_rank(self, what, arg, original_shape):
        if len(original_shape) != arg.ndim:
            raise UserError(
                f"{what}: original_shape has {len(original_shape)} entries, but {arg!r} has {arg.ndim} axes; "
                "leave it out"
            )


for _name in ("batch_norm", "sdpfa_fwd", "shape"):
    getattr(Operators, _name).__doc__ = getattr(FusionDefinitionBase.Operators, _name).__doc__
