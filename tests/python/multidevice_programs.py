"""Fusions over a mesh, run by each process of a group: `python multidevice_programs.py` with RANK and WORLD_SIZE set.

Each program defines a fusion for whole tensors, shares them, runs its own parts, and compares them with what PyTorch
computes of the whole ones. The argument says by what they are exchanged: `gloo` (the default), on GPUs `nccl` (a group
of torch.distributed), `own` (NCCL itself, which meets by the group's store) or `launch` (the same without a group).
"""

import os
import sys

import torch
import torch.distributed as dist
from multidevice_models import MODELS
from nvfuser_direct import FusionDefinition, ParallelType, UserError, execute_with_dtensors, multidevice

DEVICE = "cpu"


def share(tensor, mesh, axis=None):
    tensor.set_device_mesh(mesh)
    if axis is not None:
        # Among the loops, of which reduced axes are some.
        axis = [i for i, loop in enumerate(tensor.get_loop_domain()) if not loop.is_reduction()][axis]
        tensor.outer_split(axis, mesh.size)
        tensor.axis(axis).parallelize(ParallelType.mesh_x)


def run(define, inputs, mesh):
    """Outputs of this process, and the shardings of all outputs; `inputs` are whole."""
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1] * value.dim(), contiguity=True) for value in inputs]
        define(fd, mesh, *tensors)
    parts = [multidevice.shard_tensor(value, tensor) for value, tensor in zip(inputs, tensors, strict=True)]
    outputs = fd.execute(parts)
    return fd, [
        (part, multidevice.shard_tensor, tensor) for part, tensor in zip(outputs, fd.fusion.outputs(), strict=True)
    ]


def compare(define, inputs, reference, mesh, tolerance=1e-5):
    for seed in range(2):  # planned, then known
        inputs = [(value * (1 + seed / 2)).to(DEVICE) for value in inputs]
        _, outputs = run(define, inputs, mesh)
        wanted = reference(*inputs)
        for (part, shard, tensor), whole in zip(outputs, wanted, strict=True):
            torch.testing.assert_close(part, shard(whole, tensor), atol=tolerance, rtol=tolerance)


def mlp(fd, mesh, x, w1, b1, w2, b2):
    middle = fd.ops.relu(fd.ops.linear(x, w1, b1))
    y = fd.ops.linear(middle, w2, b2)
    fd.add_output(y)
    for tensor, axis in ((x, None), (w1, 0), (b1, 0), (w2, 1), (b2, None), (y, None)):
        share(tensor, mesh, axis)


def mlp_reference(x, w1, b1, w2, b2):
    linear = torch.nn.functional.linear
    return [linear(torch.relu(linear(x, w1, b1)), w2, b2)]


def gradient_sum(fd, mesh, gradient):
    y = fd.ops.sum(gradient, [0])
    fd.add_output(y)
    share(gradient, mesh, 0)
    share(y, mesh)


def transposed(fd, mesh, x):
    y = fd.ops.neg(x)
    fd.add_output(y)
    share(x, mesh, 0)
    share(y, mesh, 1)


def gathered(fd, mesh, x):
    y = fd.ops.neg(x)
    fd.add_output(y)
    share(x, mesh, 0)
    share(y, mesh)


def scattered(fd, mesh, x):
    y = fd.ops.sum(x, [0])
    fd.add_output(y)
    share(x, mesh, 0)
    share(y, mesh, 0)


def softmax(fd, mesh, x):
    top = fd.ops.broadcast(fd.ops.max(x, [1]), [False, True])
    powers = fd.ops.exp(fd.ops.sub(x, top))
    y = fd.ops.div(powers, fd.ops.broadcast(fd.ops.sum(powers, [1]), [False, True]))
    fd.add_output(y)
    share(x, mesh, 1)
    share(y, mesh, 1)


def combined(by, *cut):
    """Rows of numbers and truth values, combined over the devices: whole, and cut along an axis."""

    def define(fd, mesh, *tensors):
        for x in tensors:
            share(x, mesh, 0)
            for axis in (None, *cut):
                y = getattr(fd.ops, by)(x, [0])
                fd.add_output(y)
                share(y, mesh, axis)

    return define


def combinations(mesh):
    """All ways to combine numbers, of dtypes that transports have no numbers for among them."""
    numbers = torch.randint(-3, 4, (mesh.size * 2, mesh.size * 3))
    of_numbers = [numbers.float(), numbers.double(), numbers, numbers.int(), numbers.bfloat16()]
    for by, reference in (("sum", torch.sum), ("max", torch.amax), ("min", torch.amin), ("prod", torch.prod)):
        pairs = [torch.complex(numbers.float(), numbers.flip(0).float())] if by == "sum" else []
        compare_exactly(combined(by, 0), of_numbers + pairs, reference, mesh)


def compare_exactly(define, inputs, reference, mesh):
    inputs = [value.to(DEVICE) for value in inputs]
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(value) for value in inputs]
        define(fd, mesh, *tensors)
    parts = [multidevice.shard_tensor(value, tensor) for value, tensor in zip(inputs, tensors, strict=True)]
    outputs = fd.execute(parts)
    for place, (part, tensor) in enumerate(zip(outputs, fd.fusion.outputs(), strict=True)):
        whole = reference(inputs[place // 2], 0).to(part.dtype)
        torch.testing.assert_close(part, multidevice.shard_tensor(whole, tensor), atol=0, rtol=0)


def with_dtensors(mesh):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    device_mesh = init_device_mesh(DEVICE, (mesh.size,))
    x = torch.arange(mesh.size * 12, dtype=torch.float32, device=DEVICE).reshape(mesh.size * 2, 6)
    with FusionDefinition() as fd:
        t = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.add(t, fd.ops.neg(fd.ops.mul(t, t)))
        fd.add_output(y)
        share(t, mesh, 0)
        share(y, mesh, 0)
    (out,) = execute_with_dtensors(fd, [distribute_tensor(x, device_mesh, [Shard(0)])])
    assert isinstance(out, DTensor) and out.placements == (Shard(0),)
    torch.testing.assert_close(out.full_tensor(), x - x * x)
    with FusionDefinition() as fd:  # which says nothing of meshes: as the DTensors are placed
        t = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(t, [1]))
        fd.add_output(fd.ops.sum(t, [0]))
    rows, columns = execute_with_dtensors(fd, [distribute_tensor(x, device_mesh, [Shard(0)])])
    torch.testing.assert_close(rows.full_tensor(), x.sum(1))
    torch.testing.assert_close(columns.full_tensor(), x.sum(0))
    if mesh.size > 1:
        assert rows.placements == (Shard(0),)
        refused = {
            "argument 0 is placed (Replicate(),), but the fusion has it as (Shard(dim=0),)": [(x, Replicate())],
            f"has {mesh.size * 2 + 1} elements, which {mesh.size} devices cannot share equally": [
                (torch.cat([x, x[:1]]), Shard(0))
            ],
            "the fusion has 1 inputs, but 2 were given": [(x, Shard(0)), (x, Shard(0))],
        }
        for words, given in refused.items():
            try:
                execute_with_dtensors(fd, [distribute_tensor(value, device_mesh, [how]) for value, how in given])
            except ValueError as error:
                assert words in str(error), error
            else:
                raise AssertionError(f"no error: {words}")


def unlike(mesh):
    with FusionDefinition() as fd:
        t = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.neg(t) if multidevice.Communicator.instance().rank() == 0 else fd.ops.abs(t)
        fd.add_output(y)
        share(t, mesh, 0)
        share(y, mesh)
    try:
        fd.execute([torch.ones(3, device=DEVICE)])
    except UserError as error:
        assert "have unlike fusions" in str(error), error
    else:
        raise AssertionError("devices with unlike fusions went on")


def unlike_sizes(mesh):
    with FusionDefinition() as fd:
        t = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.neg(t)
        fd.add_output(y)
        share(t, mesh, 0)
        share(y, mesh)
    rank = multidevice.Communicator.instance().rank()
    for turn in range(2):  # a size of each that was agreed on before
        fd.execute([torch.ones(3 + turn, device=DEVICE)])
    try:
        fd.execute([torch.ones(3 + rank % 2, device=DEVICE)])
        torch.cuda.synchronize()
    except UserError as error:
        assert "device 0 brings allgather of" in str(error), error
    else:
        raise AssertionError("devices with unlike sizes went on")


def stages(size):
    """Two layers, each on half of the devices: what the first half has goes to the second one part by part."""
    half = size // 2
    first, second = multidevice.DeviceMesh(range(half)), multidevice.DeviceMesh(range(half, 2 * half))
    torch.manual_seed(1)
    x, w1, w2 = (0.3 * torch.randn(sizes).to(DEVICE) for sizes in ((12, 24), (48, 24), (24, 48)))
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1, -1], contiguity=True) for _ in range(3)]
        middle = fd.ops.relu(fd.ops.linear(tensors[0], tensors[1]))
        y = fd.ops.linear(middle, tensors[2])
        fd.add_output(middle)
        fd.add_output(y)
        share(tensors[0], first, 0)
        share(tensors[1], first)
        share(middle, first, 0)
        share(tensors[2], second)
        share(y, second)
    rank = multidevice.Communicator.instance().rank()
    part = x.chunk(half)[rank] if rank < half else x
    for _ in range(2):
        if rank >= 2 * half:
            break  # a device too many, which is in no mesh
        of_first, of_second = fd.execute([part, w1, w2])
        wanted = torch.relu(x @ w1.T)
        if rank < half:
            torch.testing.assert_close(of_first, wanted.chunk(half)[rank], atol=1e-5, rtol=1e-5)
            assert of_second is None
        else:
            torch.testing.assert_close(of_second, wanted @ w2.T, atol=1e-4, rtol=1e-4)
            assert of_first is None


def from_one_to_all(mesh):
    """One process has a tensor; others get their parts of it alone, and give it back."""
    rank, size = multidevice.Communicator.instance().rank(), mesh.size
    first = multidevice.DeviceMesh([0])
    x = torch.arange(24.0 * size).reshape(2 * size, 12).to(DEVICE)
    for axis in (0, 1):
        whole = x if axis == 0 else x.T.contiguous()
        with FusionDefinition() as fd:
            t = fd.define_tensor([-1, -1], contiguity=True)
            parts = fd.ops.neg(t)
            back = fd.ops.mul(parts, parts)
            fd.add_output(parts)
            fd.add_output(back)
            share(t, first)
            share(parts, mesh, axis)
            share(back, first)
        for _ in range(2):
            part, squares = fd.execute([whole if rank == 0 else 0])
            torch.testing.assert_close(part, -whole.chunk(size, axis)[rank])
            assert rank == 0 or squares is None
            if rank == 0:
                torch.testing.assert_close(squares, whole * whole)
        assert len(fd.mde.exchanges) == 2 and all(line.startswith("handing over") for line in fd.mde.exchanges)


def start(transport):
    global DEVICE
    if transport == "gloo":
        dist.init_process_group("gloo")
        return
    DEVICE = "cuda"
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", os.environ["RANK"])))
    if transport != "launch":
        dist.init_process_group("nccl")
    if transport != "nccl":
        multidevice.Communicator.set_instance(multidevice.NcclCommunicator(limit_s=60))


def main(transport="gloo"):
    start(transport)
    communicator = multidevice.Communicator.instance()
    mesh = multidevice.DeviceMesh(torch.arange(communicator.size()))
    torch.manual_seed(0)
    rand = torch.randn
    compare(mlp, [rand(5, 6), rand(24, 6), rand(24), rand(6, 24), rand(6)], mlp_reference, mesh)
    compare(gradient_sum, [rand(12, 7)], lambda g: [g.sum(0)], mesh)
    compare(transposed, [rand(12, 24)], lambda x: [-x], mesh)
    compare(scattered, [rand(12, 24)], lambda x: [x.sum(0)], mesh)
    compare(softmax, [rand(3, 24)], lambda x: [torch.softmax(x, 1)], mesh)
    for model in MODELS:
        define, inputs, reference = model(share)
        compare(define, inputs, reference, mesh, tolerance=1e-4)
    combinations(mesh)
    if mesh.size > 1:
        stages(mesh.size)
        from_one_to_all(mesh)
        # Parts in another order than that of the devices' numbers.
        other_way = multidevice.DeviceMesh([*range(1, mesh.size), 0])
        compare(transposed, [rand(12, 24)], lambda x: [-x], other_way)
        compare(scattered, [rand(12, 24)], lambda x: [x.sum(0)], other_way)
        compare(gathered, [rand(12, 24)], lambda x: [-x], other_way)
    if transport != "launch":
        with_dtensors(mesh)
    if mesh.size > 1:
        communicator.barrier()
        if transport in ("own", "launch"):
            unlike_sizes(mesh)
        else:
            unlike(mesh)
    else:
        communicator.barrier()
    if dist.is_initialized():
        dist.destroy_process_group()
    print("all agree")


def end_as_member():
    """Ends a process of a group that has done its work.

    Gloo's threads may still hold tensors that Python knows, and ask for the lock of an interpreter that is about to
    end: that aborts the process now and then (https://github.com/pytorch/pytorch/pull/179291). So it ends without
    taking the interpreter down.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
    end_as_member()
