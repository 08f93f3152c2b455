"""Tensors that devices of another mesh get, as PyTorch's (csrc/multidevice/run_handover.h is for the core's own)."""

from nvfuser._C import UserError


def hand_over(communicator, handover, tensor, device):
    """This device's part on the other mesh; None where it is not there. `tensor`: its part on the mesh that has it.

    `device`: where this device's tensors are; None if it has none and goes by the one that has the tensor.
    """
    rank = communicator.rank
    given, wanted = handover.given(rank), handover.wanted(rank)
    if given is None and wanted is None:
        return None
    return _Run(communicator, handover, device).run(tensor if given is not None else None, given, wanted)


class _Run:
    def __init__(self, communicator, handover, device):
        self._communicator, self._handover, self._rank = communicator, handover, communicator.rank
        self._device = device
        self._where = None

    def run(self, tensor, given, wanted):
        import torch

        from .pytorch_utils import nvfuser_dtype_to_torch_dtype

        sizes, of_gpu = self._said_by_first(tensor, given)
        self._require_equal_parts(sizes)
        if self._device is None:
            self._device = torch.device("cuda", torch.cuda.current_device()) if of_gpu else torch.device("cpu")
        # Where the transport takes no memory of the device, by way of the host.
        self._where = self._device if self._communicator.takes(self._device.type == "cuda") else torch.device("cpu")
        own = None if tensor is None else tensor.to(self._where)
        result = None
        if wanted is not None:
            dtype = nvfuser_dtype_to_torch_dtype(self._handover.dtype)
            result = torch.empty(
                [_length(r, n) for r, n in zip(wanted, sizes, strict=True)], dtype=dtype, device=self._where
            )
        for team, ranges in self._handover.pieces:
            if self._rank in team:
                sent = _within(own, given, ranges, sizes) if team[0] == self._rank else None
                to = _within(result, wanted, ranges, sizes) if sent is None or len(team) == 1 else None
                self._move(team, sent, to)
        return None if result is None else result.to(self._device)

    def _said_by_first(self, tensor, given):
        """Sizes of the whole, and whether a GPU has it: the first device of the mesh that has it says so."""
        team = self._handover.team_of_sizes
        if tensor is None:
            said = [0] * (self._handover.axes + 1)
        else:
            said = [*(n * r[2] for n, r in zip(tensor.shape, given, strict=True)), int(tensor.is_cuda)]
        if self._rank in team and len(team) > 1:
            said = [self._communicator.numbers_of_all(team, number, self._handover.what)[0] for number in said]
        return said[:-1], bool(said[-1])

    def _require_equal_parts(self, sizes):
        handover = self._handover
        for axis, (size, parts) in enumerate(zip(sizes, handover.wanted_parts, strict=True)):
            if size % parts != 0:
                raise UserError(
                    f"{handover.what}: axis {axis} of {handover.tensor} has {size} elements, which {parts} devices "
                    "cannot share equally; pad it, or cut another axis"
                )

    def _move(self, team, sent, to):
        if len(team) == 1:
            to.copy_(sent)
            return
        # A piece that lies dense in the part is received where it belongs.
        moved = sent.contiguous() if sent is not None else to if to.is_contiguous() else to.new_empty(to.shape)
        stream, gpu = 0, None
        if self._where.type == "cuda":
            import torch

            stream, gpu = torch.cuda.current_stream(self._where).cuda_stream, moved.get_device()
        handover = self._handover
        self._communicator.broadcast(team, handover.dtype, moved.numel(), moved.data_ptr(), gpu, stream, handover.what)
        if sent is None and moved is not to:
            to.copy_(moved)


def _length(range_, size):
    begin, end, of = range_
    return (end - begin) * size // of


def _within(part, starts, ranges, sizes):
    """Where a piece of the whole is in a part."""
    for axis, (start, (begin, end, of), size) in enumerate(zip(starts, ranges, sizes, strict=True)):
        first = begin * size // of - start[0] * size // start[2]
        part = part.narrow(axis, first, (end - begin) * size // of)
    return part
