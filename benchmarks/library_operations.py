"""Library operations of a Fusion beside PyTorch's own: microseconds of a call, of many calls in a row.

    python3 benchmarks/library_operations.py [--device cuda|cpu] [NAME ...]

Each line: the operation, the bytes of its operands, our time, PyTorch's, and how they compare. Both are the middle of
several rounds that take turns. On a GPU a round is queued as a whole, so that of small tensors the host's time counts.
"""

import argparse
import functools
import statistics
import time

import torch
from nvfuser import FusionDefinition
from torch.nn.functional import scaled_dot_product_attention

ROUNDS = 9
ROUND_SECONDS = 0.02

sdpa_flash = torch.ops.aten._scaled_dot_product_flash_attention
sdpa_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_backward


def fusion(define, *tensors):
    """A call of the fusion that `define` makes of them."""
    with FusionDefinition() as fd:
        outputs = define(fd, *(fd.from_pytorch(x) for x in tensors))
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            fd.add_output(output)
    inputs = list(tensors)
    return lambda: fd.execute(inputs)


def rows_added(fd, table, index, rows):
    size = [rows.size(axis) for axis in range(rows.ndim)]
    return fd.ops.scatter(table, fd.ops.broadcast_in_dim(index, size, [0]), rows, 0, accumulate=True)


def along_rows(device):
    for rows, columns in ((8, 256), (64, 1024), (1024, 4096), (4096, 8192)):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(rows, columns, device=device).to(dtype)
            label = f"[{rows}, {columns}] {str(dtype)[6:]}"
            yield f"topk, 8 of {label}", x, lambda fd, t: fd.ops.topk(t, 8, -1, True, True), lambda x: x.topk(8)
            yield (
                f"argsort {label}",
                x,
                lambda fd, t: fd.ops.argsort(t, -1),
                lambda x: torch.argsort(x, dim=-1, stable=True),
            )
            if dtype == torch.float32:
                yield f"cumsum {label}", x, lambda fd, t: fd.ops.cumsum(t, -1), lambda x: x.cumsum(-1)
                yield f"cumsum, columns {label}", x, lambda fd, t: fd.ops.cumsum(t, 0), lambda x: x.cumsum(0)
                yield f"cummax {label}", x, lambda fd, t: fd.ops.cummax(t, -1), lambda x: x.cummax(-1)
            else:
                yield (
                    f"cumsum {label}",
                    x,
                    lambda fd, t: fd.ops.cumsum(t, -1),
                    lambda x: x.cumsum(-1, dtype=torch.float32).to(x.dtype),
                )


def by_index(device):
    for count, rows, columns in ((256, 64, 64), (8192, 1024, 256), (65536, 32768, 512)):
        index = torch.randint(0, rows, (count,), device=device)
        table = torch.zeros(rows, columns, device=device)
        values = torch.randn(count, columns, device=device)
        places = torch.randint(0, rows, (rows, columns), device=device)
        source = torch.randn(rows, columns, device=device)
        label = f"{count} of [{rows}, {columns}]"
        yield (
            f"rows added, {label}",
            (table, index, values),
            rows_added,
            lambda t, i, v: t.index_put((i,), v, accumulate=True),
        )
        yield (
            f"scatter [{rows}, {columns}]",
            (table, places, source),
            lambda fd, t, i, s: fd.ops.scatter(t, i, s, 0),
            lambda t, i, s: t.scatter(0, i, s),
        )
        yield (
            f"scatter_add [{rows}, {columns}]",
            (table, places, source),
            lambda fd, t, i, s: fd.ops.scatter(t, i, s, 0, accumulate=True),
            lambda t, i, s: t.scatter_add(0, i, s),
        )


def attentions(device):
    of_cuda = device == "cuda"
    sizes = ((1, 4, 64, 64), (2, 8, 512, 64), (4, 16, 2048, 128)) if of_cuda else ((1, 2, 32, 32), (2, 8, 256, 64))
    for batch, heads, length, depth in sizes:
        for dtype in (torch.bfloat16, torch.float32):
            if dtype == torch.float32 and length > 512:
                continue
            q, k, v, grad = (torch.randn(batch, heads, length, depth, device=device).to(dtype) for _ in range(4))
            label = f"[{batch}, {heads}, {length}, {depth}] {str(dtype)[6:]}"
            yield (
                f"sdpfa_fwd {label}",
                (q, k, v),
                lambda fd, q, k, v: fd.ops.sdpfa_fwd(q, k, v, is_causal=True)[:2],
                lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
            )
            if not of_cuda or dtype == torch.float32:
                continue
            out, lse, _, _, _, _, seed, offset, _ = sdpa_flash(q, k, v, 0.0, True)
            states = torch.zeros(2, dtype=torch.int64, device=device), torch.zeros((), dtype=torch.int64, device=device)
            yield (
                f"sdpfa_bwd {label}",
                (grad, q, k, v, out, lse, *states),
                lambda fd, g, q, k, v, o, lse, s, f: fd.ops.sdpfa_bwd(g, q, k, v, o, lse, 0.0, True, s, f, None),
                lambda g, q, k, v, o, lse, *_, n=length, s=seed, f=offset: sdpa_flash_backward(
                    g, q, k, v, o, lse, None, None, n, n, 0.0, True, s, f
                ),
            )


def products(device):
    if device != "cuda":
        return
    for tokens, depth, width, groups in ((64, 64, 64, 2), (4096, 2048, 2048, 8)):
        x = torch.randn(tokens, depth, device=device).bfloat16()
        w = torch.randn(groups, depth, width, device=device).bfloat16()
        ends = torch.arange(1, groups + 1, device=device, dtype=torch.int32) * (tokens // groups)
        yield (
            f"grouped_mm [{tokens}, {depth}], [{groups}, {depth}, {width}]",
            (x, w, ends),
            lambda fd, x, w, o: fd.ops.grouped_mm(x, w, o),
            lambda x, w, o: torch._grouped_mm(x, w, o),
        )
        a = torch.randn(tokens, depth, device=device).to(torch.float8_e4m3fn)
        b = torch.randn(width, depth, device=device).to(torch.float8_e4m3fn).T
        one, two = torch.tensor(0.5, device=device), torch.tensor(2.0, device=device)
        yield (
            f"scaled_mm [{tokens}, {depth}], [{depth}, {width}]",
            (a, b, one, two),
            lambda fd, a, b, s, t: fd.ops.scaled_mm(a, b, s, t)[0],
            lambda a, b, s, t: torch._scaled_mm(a, b, s, t, out_dtype=torch.bfloat16),
        )


def one_round(call, count, device):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def compare(ours, theirs, device):
    for call in (ours, theirs):
        for _ in range(3):
            call()
    once = max(one_round(ours, 3, device), one_round(theirs, 3, device))
    count = max(3, int(ROUND_SECONDS / once))
    rounds = [(one_round(ours, count, device), one_round(theirs, count, device)) for _ in range(ROUNDS)]
    return tuple(statistics.median(times) * 1e6 for times in zip(*rounds, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("names", nargs="*", help="only operations whose line begins so")
    given = parser.parse_args()
    torch.manual_seed(0)
    for group in (along_rows, by_index, attentions, products):
        for label, tensors, define, theirs in group(given.device):
            if given.names and not label.startswith(tuple(given.names)):
                continue
            tensors = tensors if isinstance(tensors, tuple) else (tensors,)
            size = sum(x.numel() * x.element_size() for x in tensors)
            try:
                ours = fusion(define, *tensors)
                mine, own = compare(ours, functools.partial(theirs, *tensors), given.device)
            except (RuntimeError, TypeError) as error:
                print(f"{label:55} failed: {str(error).splitlines()[0]}", flush=True)
                continue
            print(f"{label:55} {size:11,} bytes {mine:10.1f} {own:10.1f} us  {mine / own:5.2f}", flush=True)


if __name__ == "__main__":
    main()
