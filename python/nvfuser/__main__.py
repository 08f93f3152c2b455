"""python -m nvfuser info | cache | demo | bench | build-torchscript: this machine, what is kept, what fusion does."""

import argparse
import datetime
import statistics
import sys
import time

import nvfuser
from nvfuser import _C, DataType, Fusion, FusionDefinition


def describe(device):
    major, minor = device["compute_capability"]
    capability = f", compute capability {major}.{minor}" if major else ""
    units = "multiprocessors" if major else "threads"
    return f"{device['name']}{capability}, {device['multiprocessors']} {units}"


def info(arguments):
    machine = _C.machine()
    print(f"nvfuser        {machine['version']}, Python {sys.version.split()[0]}")
    print(f"CPU            {describe(machine['cpu'])}")
    for index, device in enumerate(machine["cuda"]):
        print(f"CUDA device {index}  {describe(device)}, {device['memory_bytes'] / 2**30:.0f} GiB")
    if not machine["cuda"]:
        print(f"CUDA devices   none: {machine['why_no_cuda']}")
    print(f"NVRTC          {machine['nvrtc'] or 'none; pip install nvidia-cuda-nvrtc, to compile for a GPU'}")
    print(
        f"C++ compiler   {machine['host_compiler'] or 'none: fusions on the CPU are interpreted; pip install ziglang'}"
    )
    if machine["cache_folder"]:
        size = sum(bytes_ for _, bytes_, _ in _C.cache_entries())
        cap = machine["cache_cap_bytes"]
        print(f"cache          {machine['cache_folder']}, {size / 2**20:.1f} of {cap / 2**20:.0f} MiB")
    else:
        print("cache          off")
    for name in ("torch", "numpy", "cupy", "jax"):
        print(f"{name:<14} {version_of(name)}")


def version_of(name):
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def cache(arguments):
    if arguments.action == "clear":
        print(f"{_C.cache_clear()} entries removed")
        return
    entries = _C.cache_entries()
    if arguments.action == "list":
        for file, size, used in entries:
            print(f"{datetime.datetime.fromtimestamp(used):%Y-%m-%d %H:%M:%S}  {size:>9}  {file}")
    folder = _C.machine()["cache_folder"] or "off"
    size = sum(size for _, size, _ in entries)
    print(f"{len(entries)} entries (kernels, and how fusions were cut), {size} bytes in {folder}")


def define_softmax():
    """exp(x - max) / sum over the last axis of a matrix."""
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        x = fd.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True, True], dtype=DataType.Float)
        fd.add_output(fd.ops.softmax(x, 1))
    return fusion


def rows_of_numbers(shape, device):
    """A torch tensor where the device or the user needs one, else NumPy's."""
    if device == "cuda":
        import torch

        return torch.randn(*shape, device="cuda")
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def demo(arguments):
    fusion = define_softmax()
    x = rows_of_numbers((300, 517), arguments.device)
    print("The definition:\n")
    print(fusion.definition())
    begin = time.perf_counter()
    (out,) = fusion.execute([x])
    print(
        f"First call, compiled: {(time.perf_counter() - begin) * 1e3:.1f} ms. Each row sums to one: {out.sum(1)[:3]}\n"
    )
    print(fusion.explain())


def microseconds(function, seconds=0.5):
    """Median time of a call."""
    for _ in range(3):
        function()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def bench(arguments):
    fusion = define_softmax()
    on_gpu = arguments.device == "cuda"
    torch = sys.modules.get("torch")
    if torch is None:
        try:
            import torch
        except ImportError:
            torch = None
    print("softmax of rows, Float; median time of a call in µs")
    print(f"{'shape':>14} {'nvfuser':>10} {'PyTorch, eager' if torch else '':>16}")
    for shape in ((4, 4), (1024, 1024), (4096, 1000), (64, 65536)):
        x = torch.randn(*shape, device=arguments.device) if torch else rows_of_numbers(shape, arguments.device)

        def wait(call):
            def waited():
                call()
                if on_gpu:
                    torch.cuda.synchronize()

            return waited

        own = microseconds(wait(lambda x=x: fusion.execute([x])))
        other = f"{microseconds(wait(lambda x=x: torch.softmax(x, 1))):16.1f}" if torch else ""
        print(f"{f'{shape[0]}x{shape[1]}':>14} {own:>10.1f} {other}")


def build_torchscript(arguments):
    import torch  # noqa: F401  whose version it is built for

    from nvfuser import torchscript

    try:
        print(torchscript.build(arguments.folder))
    except torchscript.BuildError as error:
        raise nvfuser.UserError(str(error)) from None


def main():
    parser = argparse.ArgumentParser(prog="python -m nvfuser", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="info | cache | demo | bench | build-torchscript")
    commands.add_parser("info", help="devices, compilers, cache, versions").set_defaults(run=info)
    of_cache = commands.add_parser("cache", help="the compiled kernels on the disk")
    of_cache.add_argument("action", nargs="?", choices=("list", "size", "clear"), default="size")
    of_cache.set_defaults(run=cache)
    for name, run, text in (
        ("demo", demo, "a softmax: its definition, its kernels and why they are as they are"),
        ("bench", bench, "a softmax of several sizes, beside PyTorch if it is installed"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        command.set_defaults(run=run)
    command = commands.add_parser("build-torchscript", help="build TorchScript's extension for the installed PyTorch")
    command.add_argument("--folder", help="where to; programs look for it in NVFUSER_CACHE_DIR/torchscript")
    command.set_defaults(run=build_torchscript)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (nvfuser.UserError, ImportError) as error:
        parser.exit(1, f"nvfuser: {error}\n")


if __name__ == "__main__":
    main()
