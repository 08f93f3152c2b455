"""What a plan with one collective costs the host, over the backend called directly.

    torchrun --nproc-per-node 2 benchmarks/multidevice.py [--own]
    python benchmarks/multidevice.py --host

Each line of the first: microseconds of the host for one call (calls in a row, the median of 7 rounds), and for one
call whose result is waited for. `--own` has NCCL itself instead of torch.distributed's group; without GPUs the group is
gloo. `--host` is a group of two of which only one is there, whose backend ("fake") moves nothing: processor time of the
calling thread for one call, which other load of the machine does not change; the median of 9 rounds in turns.
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

    def prepare(self, *_):
        return lambda given, results: None

    def numbers_of_all(self, team, own):
        return [own] * len(team)

    def barrier(self):
        pass


def rivals(fd, x, communicator):
    total = torch.empty(x.shape[1], device=x.device)
    on_gpu = x.is_cuda
    handle = communicator
    team = list(range(handle.size))
    silent = multidevice.direct.group_communicator(Silent(), handle.rank, handle.size, on_gpus=on_gpu)
    ours, alone = (multidevice.MultiDeviceExecutor(fd.fusion, communicator=one) for one in (handle, silent))

    def broadcast():
        stream = torch.cuda.current_stream().cuda_stream if on_gpu else 0
        gpu = x.get_device() if on_gpu else None
        handle.broadcast(team, DataType.Float, total.numel(), total.data_ptr(), gpu, stream, "a broadcast")

    def direct():
        torch.sum(x, 0, out=total)
        dist.all_reduce(total)

    return {
        "torch.sum": lambda: torch.sum(x, 0, out=total),
        "torch.sum and all_reduce": direct,
        "the plan": lambda: ours.run([x]),
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


class OneOfTwo(multidevice.ProcessGroup):
    """A group whose other process, which is not there, runs the same fusions."""

    def numbers_of_all(self, team, own):
        return [own] * len(team)


def on_the_host(calls=500, rounds=9):
    """What each call takes of the thread's processor time."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.set_num_threads(1)
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    communicator = multidevice.direct.group_communicator(OneOfTwo(dist, False), 0, 2)
    all_calls = rivals(allreduce_of(multidevice.DeviceMesh([0, 1])), torch.ones(2, 256), communicator)
    taken = {name: [] for name in all_calls}
    for _ in range(rounds):
        for name, call in all_calls.items():
            for _ in range(50):
                call()
            begin = time.thread_time_ns()
            for _ in range(calls):
                call()
            taken[name].append((time.thread_time_ns() - begin) / calls / 1e3)
    for name, found in taken.items():
        print(f"256 columns, {name}: {statistics.median(found):.1f} µs of the host's processor")


def main():
    if "--host" in sys.argv:
        on_the_host()
        return
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
        for name, call in rivals(fd, x, multidevice.Communicator.instance().handle).items():
            queued, waited = times(call, synchronize)
            if rank == 0:
                print(f"{columns} columns, {name}: {queued:.1f} µs on the host, {waited:.1f} µs with its result")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
