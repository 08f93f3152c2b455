"""Tensors that devices of another mesh get, as PyTorch's (csrc/multidevice/run_handover.h is for the core's own)."""

from nvfuser._C import UserError


def hand_over(communicator, handover, tensor, device):
    """This device's part on the other mesh; None where it is not there. `tensor`: its part on the mesh that has it."""
    rank = communicator.rank
    given, wanted = handover.given(rank), handover.wanted(rank)
    if given is None and wanted is None:
        return None
    return _Run(communicator, handover, device).run(tensor if given is not None else None, given, wanted)


class _Run:
    def __init__(self, communicator, handover, device):
        import torch

        self._communicator, self._handover, self._rank = communicator, handover, communicator.rank
        # Where the transport takes no memory of the device, by way of the host.
        self._where = device if communicator.takes(device.type == "cuda") else torch.device("cpu")
        self._device = device

    def run(self, tensor, given, wanted):
        import torch

        from .pytorch_utils import nvfuser_dtype_to_torch_dtype

        own = None if tensor is None else tensor.to(self._where)
        sizes = self._sizes(own, given)
        self._require_equal_parts(sizes)
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

    def _sizes(self, own, given):
        """Of the whole: the first device of the mesh that has it says them."""
        team = self._handover.team_of_sizes
        sizes = [0] * self._handover.axes if own is None else [n * r[2] for n, r in zip(own.shape, given, strict=True)]
        if self._rank not in team or len(team) == 1:
            return sizes
        return [self._communicator.numbers_of_all(team, size, self._handover.what)[0] for size in sizes]

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
