"""torch.compile(backend="nvfuser") of modules that torch.distributed has wrapped: two processes of a group (gloo)."""

import os
import sys
from pathlib import Path

import pytest
import torch

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

WAYS = ["DistributedDataParallel", "fully_shard", "tensor parallel", "sequence parallel"]


class Block(torch.nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x)), approximate="tanh"))


def shared(model, way, mesh):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor import parallel as tp

    if way == "DistributedDataParallel":
        return torch.nn.parallel.DistributedDataParallel(model)
    if way == "fully_shard":
        from torch.distributed.fsdp import fully_shard

        for block in model:
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    plan = {"up": tp.ColwiseParallel(), "down": tp.RowwiseParallel()}
    if way == "sequence parallel":
        plan = {
            "norm": tp.SequenceParallel(),
            "up": tp.ColwiseParallel(input_layouts=Shard(1)),
            "down": tp.RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        }
    for block in model:
        tp.parallelize_module(block, mesh, plan)
    return model


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def steps_agree(way):
    """Three steps, compiled, beside the same model of one process."""
    from compile_support import failures
    from nvfuser.dynamo.backend import observing
    from torch.distributed.device_mesh import init_device_mesh

    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(0)
    alone = torch.nn.Sequential(Block(), Block())
    model = torch.nn.Sequential(Block(), Block())
    model.load_state_dict(alone.state_dict())
    mesh = init_device_mesh("cpu", (size,))
    model = shared(model, way, mesh)
    compiled = torch.compile(model, backend="nvfuser")
    by_batch = way in ("DistributedDataParallel", "fully_shard")
    torch.manual_seed(100 + rank if by_batch else 100)
    with observing() as seen:
        for _ in range(3):
            x = torch.randn(2, 8, 32)
            given = x
            if way == "sequence parallel":
                from torch.distributed.tensor import Shard, distribute_tensor

                given = distribute_tensor(x, mesh, [Shard(1)])
            y = whole(compiled(given))
            y.square().mean().backward()
            expected = alone(x)
            torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
            expected.square().mean().backward()
    for own, other in zip(model.parameters(), alone.parameters(), strict=True):
        grad = other.grad
        if by_batch:
            torch.distributed.all_reduce(grad)
            grad /= size
        torch.testing.assert_close(whole(own.grad), grad, rtol=1e-4, atol=1e-6)
    assert any(graph.regions for graph in seen.graphs)
    assert not failures(seen.graphs)


@pytest.mark.parametrize("way", WAYS)
def test_two_processes(way):
    from test_multidevice import as_a_group

    for output in as_a_group(2, str(Path(__file__)), way):
        assert "agree" in output


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    steps_agree(sys.argv[1])
    torch.distributed.destroy_process_group()
    print("agree")

    from multidevice_programs import end_as_member

    end_as_member()
