"""How much of a collective a product in parts hides, and what a plan with one costs the host, on two devices.

    torchrun --standalone --nproc-per-node 2 -m benchmarks.ranks.overlap [--seconds S]

Each line of the last table is a product with an allgather before it, or a reduce-scatter behind it, of one number of
tokens by one transport: milliseconds of the product alone (the plan whose exchanges do nothing), of the exchange alone
(torch.distributed's collective), of both in order and beside each other, and the share of the exchange that costs no
time, 1 - (beside - product) / exchange. What a plan chooses by itself is marked. Before it comes the table of
benchmarks/multidevice.py, by each transport: on GPUs NCCL itself and torch.distributed's group, else gloo. Sizes are
gone through from small to large until the time is over.
"""

import argparse
import dataclasses
import os
import time

import torch
import torch.distributed as dist
from nvfuser_direct import multidevice
from torch.distributed.device_mesh import init_device_mesh

from ..multidevice import allreduce_of, rivals, times
from .measure import Clock, Ours, exchanges_alone
from .program import LARGE, SMALL, Place
from .transfers import gathered_product, scattered_product

GAINS = 0.97  # of the time in order: less is beside each other


def transports(on_gpus):
    """Names and communicators."""
    if not on_gpus:
        return {"gloo": multidevice.Communicator()}
    return {"NCCL itself": multidevice.NcclCommunicator(limit_s=60), "the group": multidevice.Communicator()}


class Process:
    def __init__(self):
        self.on_gpus = torch.cuda.is_available()
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if self.on_gpus else torch.device("cpu")
        if self.on_gpus:
            torch.cuda.set_device(self.device)
            dist.init_process_group("cpu:gloo,cuda:nccl", device_id=self.device)
        else:
            torch.set_num_threads(1)
            dist.init_process_group("gloo")
        self.mesh = init_device_mesh(self.device.type, (self.size,))
        self.round_s = 0.1 if self.on_gpus else 0.02

    def agree(self, value, by=dist.ReduceOp.MAX):
        number = torch.tensor([float(value)], dtype=torch.float64)
        dist.all_reduce(number, by)
        return number.item()

    def say(self, *words):
        if self.rank == 0:
            print(*words, flush=True)

    def overlap_of(self, make, sizes, name):
        place = Place(self.rank, self.size, self.device, self.mesh, sizes)
        program = make(sizes)
        inputs = [one.scale * torch.randn(one.sizes, device=self.device, dtype=sizes.dtype) for one in program.inputs]
        ours = Ours(program, place, inputs)
        inputs.clear()
        product, asked = ours.silent()
        calls = {
            "product": product,
            "exchange": exchanges_alone(asked, place),
            "in order": ours.step_in_order,
            "beside": lambda: ours.executor.run(ours.parts, enable=["overlap"]),
            "chosen": ours.step,
        }
        ms = Clock(place, self.agree).milliseconds(calls, self.round_s)
        hidden = 1 - (ms["beside"] - ms["product"]) / ms["exchange"]
        figures = " | ".join(f"{ms[way]:.3f}" for way in calls)
        chosen = "beside" if ms["chosen"] < GAINS * ms["in order"] else "in order"
        self.say(f"| {program.name} | {sizes.tokens} | {name} | {figures} ({chosen}) | {100 * hidden:.0f} % |")

    def host_of(self, communicator, name):
        mesh = multidevice.DeviceMesh(range(self.size))
        x = torch.ones(2, 256, device=self.device)
        synchronize = torch.cuda.synchronize if self.on_gpus else (lambda: None)
        for way, call in rivals(allreduce_of(mesh), x, communicator.handle).items():
            queued, waited = times(call, synchronize)
            self.say(f"| {name} | {way} | {queued:.1f} | {waited:.1f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=200, help="how long (200)")
    until = time.time() + parser.parse_args().seconds
    process = Process()
    process.say(process.size, torch.cuda.get_device_name() if process.on_gpus else "CPU", torch.__version__)
    communicators = transports(process.on_gpus)
    process.say("| transport | call of 256 columns | µs on the host | µs with its result |\n|---|---|---|---|")
    for name, communicator in communicators.items():
        process.host_of(communicator, name)
    process.say(
        "\n| program | tokens | transport | product, ms | exchange | in order | beside | chosen | hidden |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    of_layer = LARGE if process.on_gpus else SMALL
    for factor in (1, 2, 4, 8):
        sizes = dataclasses.replace(of_layer, tokens=of_layer.tokens * factor)
        for make in (gathered_product, scattered_product):
            for name, communicator in communicators.items():
                if process.agree(time.time() > until):
                    return
                multidevice.Communicator.set_instance(communicator)
                process.overlap_of(make, sizes, name)


if __name__ == "__main__":
    main()
    dist.barrier()
    os._exit(0)  # threads of communicators are not waited for
