"""What a plan with one collective costs the host, over the backend called directly; run it by torchrun.

Each line: microseconds of the host for one call (calls in a row, the median of 7 rounds), and for one call whose result
is waited for. `--own` has NCCL itself instead of torch.distributed's group; without GPUs the group is gloo.
"""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from nvfuser_direct import DataType, FusionDefinition, multidevice


def allreduce_of(mesh):
    """Rows are cut, and their sum is whole: one kernel and one allreduce."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.sum(x, [0])
        fd.add_output(y)
        for tensor in (x, y):
            tensor.set_device_mesh(mesh)
        x.outer_split(0, mesh.size)
        x.axis(0).parallelize(multidevice.ParallelType.mesh_x)
    return fd


class Silent:
    """A transport that moves nothing."""

    def exchange(self, *_):
        pass

    def numbers_of_all(self, team, own):
        return [own] * len(team)

    def barrier(self):
        pass


def rivals(fd, x):
    total = torch.empty(x.shape[1], device=x.device)
    on_gpu = x.is_cuda
    handle = multidevice.Communicator.instance().handle
    team = list(range(handle.size))
    silent = multidevice.direct.python_communicator(Silent(), handle.rank, handle.size, on_gpus=on_gpu)
    alone = multidevice.MultiDeviceExecutor(fd.fusion, communicator=silent)

    def broadcast():
        stream = torch.cuda.current_stream().cuda_stream if on_gpu else 0
        handle.broadcast(team, DataType.Float, total.numel(), total.data_ptr(), on_gpu, stream, "a broadcast")

    def direct():
        torch.sum(x, 0, out=total)
        dist.all_reduce(total)

    return {
        "torch.sum": lambda: torch.sum(x, 0, out=total),
        "torch.sum and all_reduce": direct,
        "the plan": lambda: fd.execute([x]),
        "the plan, which exchanges nothing": lambda: alone.run([x]),
        "a broadcast by its transport": broadcast,
    }


def times(call, synchronize, calls=200, rounds=7):
    """Microseconds of the host, and until the result is there."""
    for _ in range(20):
        call()
    queued, waited = [], []
    for _ in range(rounds):
        synchronize()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        queued.append((time.perf_counter() - begin) / calls * 1e6)
        synchronize()
        begin = time.perf_counter()
        for _ in range(calls // 4):
            call()
            synchronize()
        waited.append((time.perf_counter() - begin) / (calls // 4) * 1e6)
    return statistics.median(queued), statistics.median(waited)


def main():
    on_gpus = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpus else "gloo")
    rank = dist.get_rank()
    if on_gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if "--own" in sys.argv:
        multidevice.Communicator.set_instance(multidevice.NcclCommunicator())
    synchronize = torch.cuda.synchronize if on_gpus else (lambda: None)
    mesh = multidevice.DeviceMesh(list(range(dist.get_world_size())))
    fd = allreduce_of(mesh)
    for columns in (256, 1 << 20):
        x = torch.ones(2, columns, device="cuda" if on_gpus else "cpu")
        for name, call in rivals(fd, x).items():
            queued, waited = times(call, synchronize)
            if rank == 0:
                print(f"{columns} columns, {name}: {queued:.1f} µs on the host, {waited:.1f} µs with its result")
    if rank == 0:
        print(fd.mde.report())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
