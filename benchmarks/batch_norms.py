"""Norms of batches in training, channels innermost, as ResNet-50 has them: kernels' time beside Inductor's, on a GPU.

    PYTHONPATH=build/python python benchmarks/batch_norms.py [--backend nvfuser inductor] [--cold]

Each is norm, sum with a residual (or none) and relu, forward and backward, of 32 images in bfloat16. Its operands were
just written, as by the convolution in front of it; with --cold they are not in any cache. Times are sums of kernels of
a step, by PyTorch's profiler, in microseconds; "bytes" is what each byte read and written once takes at 2.8 TB/s.
"""

import argparse
import warnings

import torch
import torch.nn.functional as F

SHAPES = [(64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7)]
IMAGES = 32
BYTES_PER_US = 2.8e6


def step_of(channels, places, has_residual, backend, cold):
    options = {"device": "cuda", "dtype": torch.bfloat16}

    def image():
        return torch.randn(IMAGES, channels, places, places, **options).to(memory_format=torch.channels_last)

    x, residual = image().requires_grad_(), image().requires_grad_()
    weight, bias = (torch.rand(channels, **options).requires_grad_() for _ in range(2))
    mean, variance, grad = torch.zeros(channels, **options), torch.ones(channels, **options), image()
    other = torch.empty(1 << 27, device="cuda", dtype=torch.int8)

    def norm(x, residual, weight, bias, mean, variance):
        y = F.batch_norm(x, mean, variance, weight, bias, True, 0.1, 1e-5)
        return F.relu(y + residual if has_residual else y)

    compiled = torch.compile(norm, backend=backend, fullgraph=True)

    def step():
        for tensor in (x, residual, weight, bias):
            tensor.grad = None
        with torch.no_grad():
            other.zero_() if cold else x.mul_(1.0)
        y = compiled(x, residual, weight, bias, mean, variance)
        other.zero_() if cold else grad.mul_(1.0)
        y.backward(grad)

    return step


def kernels_us(step, repeats=5):
    from torch.profiler import ProfilerActivity, profile

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(repeats):
            step()
        torch.cuda.synchronize()
    own = ("FillFunctor", "vectorized_elementwise", "cuda")  # what step() itself does, and the runtime
    rows = [row for row in seen.key_averages() if not any(word in row.key for word in own)]
    return sum(row.self_device_time_total for row in rows) / repeats


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backend", nargs="+", default=["inductor", "nvfuser"])
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    warnings.filterwarnings("ignore")
    torch._dynamo.config.automatic_dynamic_shapes = False
    torch._dynamo.config.recompile_limit = 64
    print("| channels | places | residual | bytes | " + " | ".join(options.backend) + " |")
    print("|---" * (4 + len(options.backend)) + "|")
    for channels, places in SHAPES:
        for has_residual in (False, True):
            tensors = 9 + 2 * has_residual  # read or written, forward and backward
            ideal = IMAGES * channels * places * places * 2 * tensors / BYTES_PER_US
            cells = [channels, f"{places}x{places}", "yes" if has_residual else "no", f"{ideal:.0f}"]
            for backend in options.backend:
                cells.append(f"{kernels_us(step_of(channels, places, has_residual, backend, options.cold)):.1f}")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
