"""Fusions over a mesh of devices: processes of torch.distributed (gloo), and threads of one process."""

import os
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from multidevice_models import MODELS
from multidevice_programs import share
from nvfuser_direct import FusionDefinition, ParallelType, UserError, multidevice

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_a_group(size, *command):
    """Runs the command in so many processes of a group; what each prints."""
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    processes = [
        subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, **where, "RANK": str(rank), "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output
    return outputs


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_processes_of_a_group(size):
    for output in as_a_group(size, str(Path(__file__).with_name("multidevice_programs.py"))):
        assert "all agree" in output


def test_the_page_runs():
    page = (Path(__file__).resolve().parents[2] / "docs" / "multidevice.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    as_a_group(2, "-c", program)


def on_threads(size, define, inputs, limit_s=60):
    """What each device has, or the error that it ended with."""
    results = [None] * size
    handles = multidevice.thread_communicators(size, limit_s)

    def device(rank):
        try:
            mesh = multidevice.DeviceMesh(range(size))
            with FusionDefinition() as fd:
                tensors = [fd.define_tensor([-1] * value.dim(), contiguity=True) for value in inputs(rank)]
                define(fd, mesh, rank, *tensors)
            executor = multidevice.MultiDeviceExecutor(fd.fusion, communicator=handles[rank])
            parts = [multidevice.shard_tensor(value, t, rank) for value, t in zip(inputs(rank), tensors, strict=True)]
            results[rank] = executor.run(parts), executor.exchanges, executor.report()
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=device, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def gathered(fd, mesh, rank, x):
    y = fd.ops.neg(x)
    fd.add_output(y)
    share(x, mesh, 0)
    share(y, mesh)


def test_threads():
    x = torch.arange(24.0).reshape(12, 2)
    for outputs, exchanges, report in on_threads(3, gathered, lambda rank: [x]):
        torch.testing.assert_close(outputs[0], -x)
        assert len(exchanges) == 1 and exchanges[0].startswith("allgather of T")
        assert "allgather, run by threads" in report
        assert "64 bytes received by each of 3 devices" in report  # 4 rows of each other device


def test_gradients_go_together():
    def gradients(fd, mesh, rank, x):
        share(x, mesh, 0)
        for y in (fd.ops.sum(x, [0]), fd.ops.sum(fd.ops.mul(x, x), [0, 1])):
            fd.add_output(y)
            share(y, mesh)

    x = torch.arange(24.0).reshape(12, 2)
    for outputs, exchanges, _ in on_threads(2, gradients, lambda rank: [x]):
        torch.testing.assert_close(outputs, [x.sum(0), (x * x).sum()])
        assert len(exchanges) == 1 and exchanges[0].startswith("allreduce of T") and " and T" in exchanges[0]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [2, 4])
def test_models_on_threads(model, size):
    """What `multidevice_programs.py` runs in processes."""
    torch.manual_seed(0)
    define, inputs, reference = model(share)
    wanted = reference(*inputs)
    handles = multidevice.thread_communicators(size, 60)

    def device(rank):
        with FusionDefinition() as fd:
            tensors = [fd.define_tensor([-1] * value.dim(), contiguity=True) for value in inputs]
            define(fd, multidevice.DeviceMesh(range(size)), *tensors)
        executor = multidevice.MultiDeviceExecutor(fd.fusion, communicator=handles[rank])
        outputs = executor.run(
            [multidevice.shard_tensor(value, t, rank) for value, t in zip(inputs, tensors, strict=True)]
        )
        for output, whole, tensor in zip(outputs, wanted, fd.fusion.outputs(), strict=True):
            torch.testing.assert_close(output, multidevice.shard_tensor(whole, tensor, rank), atol=1e-4, rtol=1e-4)

    with ThreadPoolExecutor(size) as pool:
        list(pool.map(device, range(size)))


def test_nccl_that_is_not_there():
    """An error that says what is missing, where there is no GPU or no NCCL; processes that are not told so wait."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    where = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    program = "from nvfuser_direct import multidevice; multidevice.NcclCommunicator(limit_s=5)"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **where, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert "UserError: NCCL cannot connect the devices: no CUDA driver" in run.stderr


def test_parts_of_unlike_sizes():
    errors = on_threads(2, gathered, lambda rank: [torch.ones(4 + 2 * rank, 2)])
    for error in errors:
        assert isinstance(error, UserError) and "device 0 brings allgather of 4 elements of dtype float" in str(error)


def test_a_size_that_devices_cannot_share():
    with pytest.raises(
        ValueError, match=r"axis 0 of T0\S* .*has 5 elements, which 2 devices cannot share equally; pad it"
    ):
        mesh = multidevice.DeviceMesh([0, 1])
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1], contiguity=True)
            share(x, mesh, 0)
            fd.add_output(fd.ops.neg(x))
        multidevice.shard_tensor(torch.ones(5), x, 0)


def test_shardings():
    mesh = multidevice.DeviceMesh(torch.arange(4).reshape(2, 2))
    assert mesh.size == 4 and list(mesh.shape) == [2, 2] and repr(mesh) == "DeviceMesh{0 1 | 2 3}"
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        x.set_device_mesh(mesh)
        x.outer_split(1, 2)
        x.axis(1).parallelize(ParallelType.mesh_y)
        fd.add_output(fd.ops.neg(x))
    sharding = multidevice.Sharding(x)
    assert sharding.mesh == mesh
    assert sharding.axis_sharded_on(ParallelType.mesh_y) == 1
    assert sharding.axis_sharded_on(ParallelType.mesh_x) == -1


@pytest.mark.parametrize(
    "bind, words",
    [
        (lambda x: x.inner_split(0, 2), "is not the outer part of one of its axes"),
        (lambda x: x.outer_split(0, 3), "has not 2 elements, as many as"),
    ],
)
def test_loops_that_are_no_sharding(bind, words):
    mesh = multidevice.DeviceMesh([0, 1])
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        x.set_device_mesh(mesh)
        bind(x)
        x.axis(1 if "outer part" in words else 0).parallelize(ParallelType.mesh_x)
        fd.add_output(fd.ops.neg(x))
    with pytest.raises(UserError, match=words):
        multidevice.MultiDeviceExecutor(fd.fusion, communicator=multidevice.thread_communicators(2)[0])


@pytest.mark.parametrize("devices, words", [([], "at least one device"), ([0, 0], "is there twice"), ([-1], "from 0")])
def test_meshes_that_are_none(devices, words):
    with pytest.raises(UserError, match=words):
        multidevice.DeviceMesh(devices)
