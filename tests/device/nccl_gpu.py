"""Several GPUs by NCCL: the programs of tests/python/multidevice_programs.py, and what must not hang.

Run by hand where there are GPUs: `python tests/device/nccl_gpu.py [processes [programs|faults]]`.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
PROGRAMS = HERE.parents[1] / "python" / "multidevice_programs.py"
LIMIT_S = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(size, *command):
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    path = os.pathsep.join([str(PROGRAMS.parent), *(entry for entry in sys.path if entry)])
    return [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**os.environ, **where, "RANK": str(rank), "LOCAL_RANK": str(rank), "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]


def finish(processes):
    outputs = []
    for process in processes:
        try:
            outputs.append(process.communicate(timeout=90)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            outputs.append("HANGS\n" + process.communicate()[0])
    return outputs


def programs(size):
    good = True
    for transport in ("own", "launch", "nccl"):
        begin = time.time()
        outputs = finish(start(size, PROGRAMS, transport))
        agrees = all("all agree" in output for output in outputs)
        good &= agrees
        print(
            f"programs, {transport}: {'all agree' if agrees else 'FAILED'} in {time.time() - begin:.1f} s", flush=True
        )
        if not agrees:
            print("\n".join(output[-2500:] for output in outputs), flush=True)
    return good


# One process of a fault ------------------------------------------------------------------------------


def gather_of(mesh, is_other=False):
    from multidevice_programs import share
    from nvfuser_direct import FusionDefinition

    with FusionDefinition() as fd:
        t = fd.define_tensor([-1], contiguity=True)
        y = fd.ops.abs(t) if is_other else fd.ops.neg(t)
        fd.add_output(y)
        share(t, mesh, 0)
        share(y, mesh)
    return fd


def fault(kind):
    """Process 1 is killed, before or within a collective, does not come, or runs another fusion. The others have to end
    with an error.
    """
    import torch
    from nvfuser_direct import UserError, multidevice

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    communicator = multidevice.NcclCommunicator(limit_s=LIMIT_S if kind != "late" else 3)
    multidevice.Communicator.set_instance(communicator)
    fd = gather_of(multidevice.DeviceMesh(list(range(communicator.size()))), kind == "other" and rank == 1)
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(2 if kind != "other" else 0):
        fd.execute([x])
    torch.cuda.synchronize()
    if rank == 1 and kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 1 and kind == "late":
        time.sleep(8)
        return
    if rank == 1 and kind == "stuck":  # agrees, but its GPU does not come to the collective
        torch.cuda._sleep(10**12)
        fd.execute([x])
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.time()
    try:
        fd.execute([x])
        torch.cuda.synchronize()
        print(f"synchronised after {time.time() - begin:.2f} s", flush=True)
        fd.execute([x])
    except UserError as error:
        print(f"error after {time.time() - begin:.2f} s: {error}", flush=True)
    else:
        print("NO ERROR", flush=True)


def faults(size):
    good = True
    for kind in ("killed", "stuck", "late", "other"):
        outputs = finish(start(size, HERE, "fault", kind))
        said = [output for rank, output in enumerate(outputs) if rank != 1]
        good &= all("error after" in output for output in said)
        print(f"fault, {kind}: " + "; ".join(output.strip()[-400:] for output in said), flush=True)
    return good


if __name__ == "__main__":
    if sys.argv[1:2] == ["fault"]:
        fault(sys.argv[2])
    else:
        processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2
        parts = {"programs": programs, "faults": faults}
        asked = sys.argv[2:] or parts
        sys.exit(0 if all([parts[part](processes) for part in asked]) else 1)
