"""One process of `./dev bench --ranks N`: runs the programs named and adds what it finds to FILE, line by line.

torchrun --nproc-per-node N -m benchmarks.ranks.worker FILE SIZES LIMIT_S NAME...
"""

import json
import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
from nvfuser_direct import multidevice
from torch.distributed.device_mesh import init_device_mesh

from .measure import Clock, Ours, errors, exchanges_alone, links
from .program import LARGE, SMALL, Place
from .programs import programs


class Process:
    def __init__(self, path, sizes, limit_s):
        self.on_gpus = torch.cuda.is_available()
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if self.on_gpus else torch.device("cpu")
        limit = timedelta(seconds=limit_s)
        if self.on_gpus:
            torch.cuda.set_device(device)
            dist.init_process_group("cpu:gloo,cuda:nccl", device_id=device, timeout=limit)
            multidevice.Communicator.set_instance(multidevice.NcclCommunicator(limit_s=limit_s))
        else:
            torch.set_num_threads(1)
            dist.init_process_group("gloo", timeout=limit)
        mesh = init_device_mesh(device.type, (self.size,))
        self.place = Place(self.rank, self.size, device, mesh, sizes)
        self.clock = Clock(self.place, self.agree)
        self.path, self.limit_s = path, limit_s
        self.round_s = 0.06 if self.on_gpus else 0.02

    def agree(self, value, by=dist.ReduceOp.MAX):
        """The largest of all processes' numbers, by way of the host."""
        number = torch.tensor([float(value)], dtype=torch.float64)
        dist.all_reduce(number, by)
        return number.item()

    def write(self, **found):
        if self.rank == 0:
            with open(self.path, "a") as file:
                file.write(json.dumps({"ranks": self.size} | found) + "\n")

    def together(self, make):
        """What `make` gives, and None, or None and what went wrong on some process."""
        try:
            made, problem = make(), None
        except Exception as error:  # whatever it is, the other programs are to be measured
            made, problem = None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
        if self.agree(problem is not None):
            return None, problem or "failed on another device"
        return made, None

    def run(self, program):
        """Ours first, then one peer after the other, each beside ours once more. False: ours failed."""
        self.write(program=program.name, begins=True)
        torch.manual_seed(0)
        inputs = [
            one.scale * torch.randn(one.sizes, device=self.place.device, dtype=self.place.sizes.dtype)
            for one in program.inputs
        ]
        ours, problem = self.together(lambda: Ours(program, self.place, inputs))
        found = {}
        if problem is None:
            found, problem = self.together(lambda: self.ours(program, ours, inputs))
        if problem is not None and ours is not None:
            self.write(program=program.name, overlap_problem=problem)  # what there is without it
            ours.disabled = ["overlap"]
            found, problem = self.together(lambda: self.ours(program, ours, inputs))
        self.write(program=program.name, problem=problem, **(found or {}))
        inputs.clear()  # peers have their own
        for name, make in program.peers.items():
            self.peer(program, name, make, ours if problem is None else None)
        self.write(program=program.name, done=True)
        return problem is None

    def ours(self, program, ours, inputs):
        error, eager_error = errors(program, ours, inputs)
        error, eager_error = self.agree(error), self.agree(eager_error)
        compute, asked = ours.silent()
        calls = {"ours": ours.step, "in order": ours.step_in_order, "compute": compute}
        alone = exchanges_alone(asked, self.place) if self.size > 1 else None
        if alone is not None:
            calls["exchanges"] = alone
        times = self.clock.milliseconds(calls, self.round_s)
        ours.step()
        found = {"ms": times, "error": error, "eager_error": eager_error, "received": ours.received_bytes()}
        if alone is not None:
            found["hidden"] = 1 - (times["ours"] - times["compute"]) / times["exchanges"]
            found["asked"] = [
                [kind, sum(count * dtype.itemsize for dtype, count in tensors)] for kind, tensors in asked
            ]
        return found

    def peer(self, program, name, make, ours):
        step, problem = self.together(lambda: make(self.place))
        times = None
        if problem is None:
            _, problem = self.together(lambda: (step(), self.clock.finish()))
        if problem is None:
            calls = ({"ours": ours.step} if ours else {}) | {"peer": step}
            times, problem = self.together(lambda: self.clock.milliseconds(calls, self.round_s))
        self.write(program=program.name, peer=name, peer_ms=times, peer_problem=problem)


def watched(what, limit_s):
    """Ends this process, and with it all that wait for it, after so long."""

    def end():
        print(f"{what}: not done within {limit_s:g} s", flush=True)
        os._exit(3)

    watch = threading.Timer(limit_s, end)
    watch.daemon = True
    watch.start()
    return watch


def main(path, sizes, limit_s, *names):
    sizes = {"large": LARGE, "small": SMALL}[sizes]
    limit_s = float(limit_s)
    process = Process(path, sizes, limit_s)
    process.write(machine=torch.cuda.get_device_name() if process.on_gpus else "CPU", torch=torch.__version__)
    large = (32 << 20) // process.size if process.on_gpus else 1 << 14
    watch = watched("links", limit_s)
    process.write(links=links(process.place, process.clock, large))
    watch.cancel()
    for program in programs(sizes, process.size):
        if program.name not in names:
            continue
        watch = watched(program.name, limit_s)
        worked = process.run(program)
        watch.cancel()
        if not worked:
            os._exit(4)  # a communicator that has failed does not work again: others go on with the rest
        if process.on_gpus:
            torch.cuda.empty_cache()
    process.agree(0)
    os._exit(0)  # threads of communicators are not waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
