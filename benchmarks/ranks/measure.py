"""How one process measures a program: values, times in turns, and what its exchanges cost by themselves."""

import re
import statistics
import time

import torch
import torch.distributed as dist
from nvfuser_direct import FusionDefinition, multidevice

ROUNDS = 5


class Clock:
    """Times of calls that all processes make together: of the slowest one."""

    def __init__(self, place, agree):
        self._on_gpu, self._agree = place.device.type == "cuda", agree

    def finish(self):
        if self._on_gpu:
            torch.cuda.synchronize()

    def seconds(self, call, calls):
        """Of so many calls in a row, with their results."""
        self.finish()
        self._agree(0.0)
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        self.finish()
        return self._agree(time.perf_counter() - begin)

    def milliseconds(self, calls, round_s):
        """Of each call, the median of rounds in turns."""
        counts = {}
        for name, call in calls.items():
            self.seconds(call, 3)
            each = self.seconds(call, 3) / 3
            counts[name] = max(2, min(200, int(round_s / each)))
        times = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                times[name].append(self.seconds(call, counts[name]) / counts[name] * 1e3)
        return {name: statistics.median(taken) for name, taken in times.items()}


# Ours ---------------------------------------------------------------------------------------------


class Silent:
    """A transport that moves nothing and notes what it was asked for: a plan on it is its computation alone."""

    def __init__(self):
        self.asked = []

    def prepare(self, kind, reduction, team, shift, gpu):
        parts = len(team) if kind in ("reduce_scatter", "alltoall") else 1
        return lambda given, results: self.asked.append(
            (kind, [(operand.dtype, operand.numel() // parts) for operand in given])
        )

    def beside(self, call, given, results, stream, gpu):
        call(given, results)

    def numbers_of_all(self, team, own):
        return [own] * len(team)

    def barrier(self):
        pass


class Ours:
    """A program as a fusion over the mesh, and this process's parts of its inputs."""

    def __init__(self, program, place, inputs):
        with FusionDefinition() as fd:
            tensors = [fd.from_pytorch(value, static_sizes=True) for value in inputs]
            program.define(fd, multidevice.DeviceMesh(range(place.size)), *tensors)
        self.fusion, self._place = fd.fusion, place
        self.outputs = self.fusion.outputs()
        self.parts = [multidevice.shard_tensor(value, tv) for value, tv in zip(inputs, tensors, strict=True)]
        self.executor = multidevice.MultiDeviceExecutor(self.fusion)
        self.disabled = []

    def step(self):
        return self.executor.run(self.parts, disable=self.disabled)

    def step_in_order(self):
        """Without overlap."""
        return self.executor.run(self.parts, disable=["overlap"])

    def silent(self):
        """The plan without overlap whose exchanges do nothing, and what they are."""
        transport, place = Silent(), self._place
        on_gpus = place.device.type == "cuda"
        handle = multidevice.direct.group_communicator(transport, place.rank, place.size, on_gpus=on_gpus)
        executor = multidevice.MultiDeviceExecutor(self.fusion, communicator=handle)
        executor.run(self.parts, disable=["overlap"])
        transport.asked.clear()
        executor.run(self.parts, disable=["overlap"])
        return lambda: executor.run(self.parts, disable=["overlap"]), list(transport.asked)

    def received_bytes(self):
        """By each device in a step, as the report has it."""
        return sum(int(found) for found in re.findall(r"(\d+) bytes received by each", self.executor.report()))


def exchanges_alone(asked, place):
    """The same exchanges by torch.distributed, with nothing between them; None where there are none."""
    gather, scatter = (  # what PyTorch calls the one and the other since 2.13, and before
        getattr(dist, new, None) or getattr(dist, old)
        for new, old in (
            ("all_gather_single", "all_gather_into_tensor"),
            ("reduce_scatter_single", "reduce_scatter_tensor"),
        )
    )
    calls = []
    for kind, tensors in asked:
        for dtype, elements in tensors:
            many = torch.zeros(elements * place.size, device=place.device, dtype=dtype)
            one = torch.zeros(elements, device=place.device, dtype=dtype)
            if kind == "allgather":
                calls.append(lambda one=one, many=many: gather(many, one))
            elif kind == "reduce_scatter":
                calls.append(lambda one=one, many=many: scatter(one, many))
            elif kind == "alltoall":
                to = torch.zeros_like(many)
                calls.append(lambda many=many, to=to: dist.all_to_all_single(to, many))
            else:
                calls.append(lambda one=one: dist.all_reduce(one))

    def step():
        for call in calls:
            call()

    return step if calls else None


# Values -------------------------------------------------------------------------------------------


def distance(result, reference):
    """Relative to the reference, over all elements."""
    return ((result.to(reference.dtype) - reference).norm() / reference.norm()).item()


def errors(program, ours, inputs):
    """The largest distances of our outputs, and of PyTorch's on one device, from a wider computation on one device."""
    wide = torch.float64 if inputs[0].dtype == torch.float32 else torch.float32
    wanted = program.eager(*(value.to(wide) for value in inputs))
    eager = max(map(distance, program.eager(*inputs), wanted))
    parts = [multidevice.shard_tensor(whole, tv) for whole, tv in zip(wanted, ours.outputs, strict=True)]
    return max(map(distance, ours.step(), parts)), eager


# Links --------------------------------------------------------------------------------------------


def links(place, clock, large):
    """Microseconds that a collective takes at least, and bytes a second that a device receives, by kind."""
    if place.size == 1:
        return {}
    found = {}
    for kind in ("allgather", "reduce_scatter", "allreduce", "alltoall"):
        for name, elements in (("small", 256), ("large", large)):
            found[f"{kind}, {name}"] = exchanges_alone([(kind, [(torch.float32, elements)])], place)
    times = clock.milliseconds(found, 0.02)
    figures = {}
    for kind in ("allgather", "reduce_scatter", "allreduce", "alltoall"):
        received = received_bytes(kind, place.size, large * 4)
        seconds = max(1e-9, (times[f"{kind}, large"] - times[f"{kind}, small"]) / 1e3)
        figures[kind] = {"us": times[f"{kind}, small"] * 1e3, "bytes_per_s": received / seconds}
    return figures


def received_bytes(kind, devices, bytes_of_part):
    """By each device, at least."""
    if kind == "allreduce":
        return 2 * (devices - 1) * bytes_of_part / devices
    return (devices - 1) * bytes_of_part
