"""What a step takes on so many devices, by a few figures: a program's time on one device, and those of the links.

    python -m benchmarks.ranks.simulate RESULTS.json

A step is its computation, of which the part that is cut shrinks with the devices, and its exchanges. What can go beside
an exchange hides it but for a quarter. docs/multi_device.md has the assumptions.
"""

import json
import sys
from dataclasses import dataclass

EXPOSED = 0.25  # of an exchange beside which there is enough to compute
FLOPS, MEMORY = 700e12, 3.0e12  # of an H100: products, and bytes a second (docs/performance.md)
BETWEEN_HOSTS = 50e9  # bytes a second and GPU: a network of 400 Gbit/s for each
LATENCY_BETWEEN_HOSTS_US = 20.0
HOST = 8  # GPUs that NVLink connects


@dataclass(frozen=True)
class Link:
    us: float
    bytes_per_s: float

    def seconds(self, received):
        return self.us * 1e-6 + received / self.bytes_per_s


def cut_share(work):
    """Of the time on one device, what shrinks with the devices."""
    cut = work.flops / FLOPS + work.bytes_cut / MEMORY
    whole = work.bytes_whole / MEMORY
    return cut / (cut + whole) if cut + whole > 0 else 1.0


def received_bytes(kind, devices, bytes_of_part):
    return (2 / devices if kind == "allreduce" else 1) * (devices - 1) * bytes_of_part


def predict_ms(one_ms, work, devices, asked, links, pipelined, growth=1):
    """`asked`: kind and bytes of a part of each exchange; `growth`: how much more there is than on one device."""
    share = cut_share(work)
    cut = one_ms * growth * share / devices
    exchanges = 1e3 * sum(
        Link(links[kind]["us"], links[kind]["bytes_per_s"]).seconds(received_bytes(kind, devices, size))
        for kind, size in asked
    )
    exposed = max(EXPOSED * exchanges, exchanges - cut) if pipelined else exchanges
    return cut + one_ms * growth * (1 - share) + exposed


# The transformer block on more hosts than one --------------------------------------------------------


def block_ms(results, devices):
    """The sequence-parallel block on the GPUs of a host, whose hosts share the batch: tokens for each host as
    for one, gradients summed between hosts while the backward pass runs.
    """
    lines = [line for line in results["lines"] if line["program"] == "transformer block, sequence-parallel"]
    one = next(line for line in lines if line["ranks"] == 1)
    most = max(lines, key=lambda line: line["ranks"])
    in_host = min(devices, HOST)
    hosts = devices // in_host
    # Parts shrink with the devices where whole tensors do not, and a gathered part is one device's.
    asked = [(kind, size * most["ranks"] / in_host if kind != "allreduce" else size) for kind, size in most["asked"]]
    links = results["links"][str(most["ranks"])]
    work = _Work(**one["work"])
    inside = predict_ms(one["ms"]["ours"], work, in_host, asked, links, pipelined=True)
    gradients = one["parameters"] * 2 / in_host
    between = Link(LATENCY_BETWEEN_HOSTS_US, BETWEEN_HOSTS).seconds(received_bytes("allreduce", hosts, gradients))
    backward = inside * 2 / 3
    return inside, inside + max(EXPOSED * between * 1e3, between * 1e3 - backward) * (hosts > 1)


@dataclass(frozen=True)
class _Work:
    flops: float
    bytes_cut: float
    bytes_whole: float


def main(path):
    with open(path) as file:
        results = json.load(file)
    for devices in (8, 64, 512):
        inside, whole = block_ms(results, devices)
        print(
            f"{devices} GPUs: {whole:.2f} ms a step of {4096 * max(1, devices // HOST)} tokens ({inside:.2f} in a host)"
        )


if __name__ == "__main__":
    main(sys.argv[1])
