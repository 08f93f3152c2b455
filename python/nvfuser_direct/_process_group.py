"""torch.distributed as the transport of fusions over a mesh (multidevice.py): a call of its backend an exchange."""

_SMALL = 1 << 20  # bytes up to which tensors that are combined are joined, which costs a copy


class ProcessGroup:
    """What python/src/direct/group_communicator.h asks a transport for, in memory of the host (gloo) or of GPUs (nccl).

    Options and groups are made once for each kind of exchange and team. What PyTorch's own functions do around the
    backend's call in each call costs more than most calls of a plan.
    """

    def __init__(self, dist, on_gpus):
        self._dist = dist
        self._on_gpus = on_gpus
        self._groups = {}

    def _group(self, team):
        """The group of a team that is a row of a mesh. Torch asks that all processes make as many groups in one order:
        each is in one row along each axis of the mesh. What goes from mesh to mesh is sent without groups.
        """
        team = tuple(sorted(team))  # the order that torch gives a group's devices
        if team == tuple(range(self._dist.get_world_size())):
            return self._dist.group.WORLD
        if team not in self._groups:
            self._groups[team] = self._dist.new_group(list(team), use_local_synchronization=True)
        return self._groups[team]

    # ---- exchanges ----

    def prepare(self, kind, reduction, team, shift, gpu):
        """The function that carries out exchanges of a kind."""
        if kind == "broadcast":
            return self._broadcast(team)
        group = self._group(team)
        if kind == "shift":
            return self._shift(group, team, shift)
        if kind == "allreduce":
            return self._allreduce(group, reduction)
        order = _Order(team)
        if kind == "allgather":
            return self._allgather(group, order)
        if kind == "alltoall":
            return self._alltoall(group, order)
        if gpu is None:
            return self._reduce_scatter_on_host(self._alltoall(group, order), reduction)
        return self._reduce_scatter(group, order, reduction)

    def beside(self, call, given, results, stream, gpu):
        import torch

        with torch.cuda.stream(torch.cuda.ExternalStream(stream, gpu) if stream else torch.cuda.default_stream(gpu)):
            call(given, results)

    def _options(self, name, **values):
        """Of a call whose result the current stream, or the host, waits for."""
        options = getattr(self._dist.distributed_c10d, name)()
        if hasattr(options, "asyncOp"):  # since PyTorch 2.8
            options.asyncOp = False
        for key, value in values.items():
            setattr(options, key, value)
        return options

    def _of_reduction(self, name, reduction):
        """The options for numbers, and those for truth values, which are combined as bytes."""
        of_numbers = {"add": "SUM", "mul": "PRODUCT", "max": "MAX", "min": "MIN"}
        of_truths = {"add": "MAX", "mul": "MIN", "max": "MAX", "min": "MIN"}
        op = self._dist.ReduceOp
        return tuple(self._options(name, reduceOp=getattr(op, by[reduction])) for by in (of_numbers, of_truths))

    def _allreduce(self, group, reduction):
        import torch

        of_numbers, of_truths = self._of_reduction("AllreduceOptions", reduction)
        allreduce = group.allreduce

        def one(given, result):
            if given is not result:
                result.copy_(given)
            is_truth = result.dtype is torch.bool
            _finish(allreduce([_combinable(result)], of_truths if is_truth else of_numbers))

        def call(given, results):
            """Small tensors of one dtype go together."""
            if len(results) == 1:
                one(given[0], results[0])
                return
            joined = {}
            for operand, result in zip(given, results, strict=True):
                if operand.nbytes <= _SMALL:
                    joined.setdefault(operand.dtype, []).append((operand, result))
                else:
                    one(operand, result)
            for pairs in joined.values():
                if len(pairs) == 1:
                    one(*pairs[0])
                    continue
                together = torch.cat([operand for operand, _ in pairs])
                one(together, together)
                for part, (_, result) in zip(together.split([x.numel() for x, _ in pairs]), pairs, strict=True):
                    result.copy_(part)

        return call

    def _allgather(self, group, order):
        options = self._options("AllgatherOptions")
        gather = _method(group, "all_gather_single", "_allgather_base")

        def call(given, results):
            for operand, result in zip(given, results, strict=True):
                came = order.place_of(result)
                _finish(gather(came, operand, options))
                order.from_group(came, result)

        return call

    def _alltoall(self, group, order):
        options = self._options("AllToAllOptions")
        exchange = _method(group, "all_to_all_single", "alltoall_base")

        def call(given, results):
            for operand, result in zip(given, results, strict=True):
                came = order.place_of(result)
                _finish(exchange(came, order.to_group(operand), [], [], options))
                order.from_group(came, result)

        return call

    def _reduce_scatter(self, group, order, reduction):
        import torch

        of_numbers, of_truths = self._of_reduction("ReduceScatterOptions", reduction)
        scatter = _method(group, "reduce_scatter_single", "_reduce_scatter_base")

        def call(given, results):
            for operand, result in zip(given, results, strict=True):
                options = of_truths if result.dtype is torch.bool else of_numbers
                _finish(scatter(_combinable(result), _combinable(order.to_group(operand)), options))

        return call

    def _reduce_scatter_on_host(self, alltoall, reduction):
        """gloo has none: each device gets the others' numbers for its part, and combines them itself."""
        import torch

        def combine(parts, result):
            if reduction in ("max", "min"):
                {"max": torch.amax, "min": torch.amin}[reduction](parts, 0, out=result)
            else:
                by = {"add": torch.sum, "mul": torch.prod}[reduction]
                by(parts, 0, dtype=result.dtype, out=result)

        def call(given, results):
            for operand, result in zip(given, results, strict=True):
                came = torch.empty_like(operand)
                alltoall([operand.view(torch.uint8)], [came.view(torch.uint8)])
                combine(came.view(-1, result.numel()), result)

        return call

    def _broadcast(self, team):
        dist = self._dist
        is_first = team[0] == dist.get_rank()

        def call(given, results):
            moves = []
            for operand, result in zip(given, results, strict=True):
                if is_first:
                    moves += [dist.P2POp(dist.isend, operand, other) for other in team[1:]]
                else:
                    moves.append(dist.P2POp(dist.irecv, result, team[0]))
            self._finish_all(moves)

        return call

    def _finish_all(self, moves):
        for work in self._dist.batch_isend_irecv(moves) if moves else ():
            work.wait()

    def _shift(self, group, team, shift):
        dist = self._dist
        place = team.index(dist.get_rank())
        to, source = team[(place + shift) % len(team)], team[(place - shift) % len(team)]

        def call(given, results):
            moves = []
            for operand, result in zip(given, results, strict=True):
                moves.append(dist.P2POp(dist.isend, operand, to, group))
                moves.append(dist.P2POp(dist.irecv, result, source, group))
            self._finish_all(moves)

        return call

    # ---- agreement ----

    def numbers_of_all(self, team, own):
        import torch

        dist, where = self._dist, "cuda" if self._on_gpus else "cpu"
        numbers = torch.full((len(team),), own, dtype=torch.int64, device=where)
        mine = numbers.new_full((1,), own)
        others = [(place, device) for place, device in enumerate(team) if device != dist.get_rank()]
        moves = [dist.P2POp(dist.isend, mine, device) for _, device in others]
        moves += [dist.P2POp(dist.irecv, numbers[place : place + 1], device) for place, device in others]
        self._finish_all(moves)
        return numbers.tolist()

    def barrier(self):
        self._dist.barrier()


class _Order:
    """A team's order of parts beside the group's, which is that of the devices' numbers."""

    def __init__(self, team):
        is_other = list(team) != sorted(team)
        self._places = _places(team) if is_other else None
        self._team_places = [team.index(device) for device in sorted(team)] if is_other else None

    def to_group(self, parts):
        return parts if self._places is None else parts.view(len(self._places), -1)[self._team_places].view(-1)

    def place_of(self, result):
        """Where parts go to in the group's order."""
        return result if self._places is None else result.clone()

    def from_group(self, came, result):
        if self._places is not None:
            result.view(len(self._places), -1).copy_(came.view(len(self._places), -1)[self._places])


def _places(team):
    """Of a team's devices among those of its group."""
    in_group = sorted(team)
    return [in_group.index(device) for device in team]


def _method(group, *names):
    """What newer versions of PyTorch call by the first name."""
    return next(getattr(group, name) for name in names if hasattr(group, name))


def _finish(work):
    if work is not None:  # None: the backend has waited
        work.wait()


def _combinable(tensor):
    """As numbers that backends add: complex ones are two, truth values bytes."""
    import torch

    if tensor.dtype is torch.bool:
        return tensor.view(torch.uint8)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
