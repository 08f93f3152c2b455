"""Parts of arguments that a compiled function writes: the part alone is written, with eager's values."""

import random

import pytest
import torch
from compile_support import compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo import explain, part_writes
from nvfuser.dynamo.backend import observing
from part_programs import PROGRAMS
from tested_device import ON_GPU


def run(function, make, calls=2):
    """Results and arguments of some calls, and how these lie."""
    torch.manual_seed(1)
    arguments = make()
    found = []
    for _ in range(calls):
        result = function(*arguments)
        result = result if isinstance(result, tuple) else (result,)
        own = [None if r is None else [is_of(r, a) for a in arguments] for r in result]
        found.append(([None if r is None else r.clone() for r in result], own, [a.clone() for a in arguments]))
    return found, [(a.stride(), a._version > 0) for a in arguments]


def is_of(result, argument):
    """Whether it is the argument, and whether it is of its memory."""
    return result is argument, result.untyped_storage().data_ptr() == argument.untyped_storage().data_ptr()


def left(graphs):
    """Operations that are left to PyTorch, without those that find sizes."""
    nodes = [node for graph in graphs for node in graph.cut.reasons if node.op == "call_function"]
    nodes = [node for node in nodes if isinstance(node.meta["val"], torch.Tensor)]
    return {node.target.__name__.partition(".")[0] for node in nodes}


@pytest.fixture
def always(monkeypatch):
    """Small arguments are written by parts, too."""
    monkeypatch.setattr(part_writes, "SMALL_BYTES", 0)


@pytest.mark.parametrize("name", PROGRAMS)
@torch.no_grad()
def test_small_arguments_as_eager(name):
    program = PROGRAMS[name]
    theirs = run(program.run, program.make)
    with observing() as seen:
        ours = run(compiled(program.run), program.make)
    assert not failures(seen.graphs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
@torch.no_grad()
def test_as_eager(name, dynamic):
    program = PROGRAMS[name]
    theirs = run(program.run, program.make)
    with observing() as seen:
        ours = run(compiled(program.run, dynamic=dynamic), program.make)
    assert not failures(seen.graphs)
    torch.testing.assert_close(ours, theirs)
    if not dynamic:
        assert left(seen.graphs) == set(program.pytorch)


# Random programs ------------------------------------------------------------------------------------

PARTS = {
    "columns": lambda x, at: x[:, at : at + 2],
    "row": lambda x, at: x[at],
    "turned": lambda x, at: x.t()[at],
    "halves": lambda x, at: x.view(2, 3, 6)[1, :, at],
    "rows of columns": lambda x, at: x[:, 1:5][at],
    "all": lambda x, at: x,
    "steps": lambda x, at: x[at::2],
}


def random_program(seed):
    """Writes to parts of x and y in turn, and reads of them by fused operations, products and indices in between."""
    chosen = random.Random(seed)
    lines = [
        (chosen.choice("wwwapmgc"), chosen.choice("xy"), chosen.choice(list(PARTS)), chosen.choice("xy"))
        for _ in range(chosen.randint(2, 7))
    ]

    def program(x, y, w, places):
        given, results = {"x": x, "y": y}, []
        for at, (act, into, part, other) in enumerate(lines):
            target = PARTS[part](given[into], at % 4)
            match act:
                case "w":  # what the other one was, somewhere else
                    target.copy_(given[other].mean() + target * 0.5)
                case "a":
                    target.mul_(0.5).add_(results[-1].mean() if results else 1)
                case "p":
                    results.append(given[into] @ w)
                case "m":
                    results.append((target * 2 + given[other].sum(0).mean()).sin())
                case "g":
                    results.append(given[into][places])
                case "c":
                    given[into].index_copy_(0, places, given[other][1:3] * 0.5)
        return tuple(results)

    return program


@pytest.mark.parametrize("seed", range(60))
@torch.no_grad()
def test_random_programs(seed, monkeypatch):
    monkeypatch.setattr(part_writes, "SMALL_BYTES", [0, 1 << 14][seed % 2])

    def make():
        return torch.randn(6, 6), torch.randn(6, 6), torch.randn(6, 6), torch.tensor([4, 1])

    program = random_program(seed)
    theirs = run(program, make)
    with observing() as seen:
        ours = run(compiled(program), make)
    assert not failures(seen.graphs)
    torch.testing.assert_close(ours, theirs)


# What is kept of PyTorch ----------------------------------------------------------------------------


@pytest.mark.usefixtures("always")
@torch.no_grad()
def test_a_position_that_changes_compiles_once():
    def step(keys, position, k):
        keys[:, position : position + 1] = k * 2
        keys[:, position - 1 : position] *= 2
        return keys.sum()

    ours, theirs = torch.zeros(3, 8), torch.zeros(3, 8)
    with observing() as seen:
        call = compiled(step, dynamic=True)
        for position in (2, 3, 5, 7):
            k = torch.randn(3, 1)
            torch.testing.assert_close(call(ours, position, k), step(theirs, position, k))
    torch.testing.assert_close(ours, theirs)
    assert len(seen.graphs) == 1
    assert "copy_" not in left(seen.graphs)


@pytest.mark.skipif(ON_GPU, reason="there PyTorch asserts in a kernel, and the process has no device any more")
@torch.no_grad()
def test_an_index_that_there_is_not():
    def by_index(x, places, y):
        x.index_copy_(0, places, y * 2)

    with pytest.raises(IndexError, match=r"out of (bounds|range)"):
        compiled(by_index)(torch.randn(3, 4), torch.tensor([9]), torch.randn(1, 4))


@pytest.mark.usefixtures("always")
@torch.no_grad()
def test_arguments_that_share_memory():
    def function(p, q):
        p[2:4] = q[:2] * 2
        q[1:3] += 1
        return p.sum()

    def shifted():
        base = torch.arange(12.0)
        return base[:8], base[4:]

    def same():
        x = torch.arange(6.0)
        return x, x

    for make in (shifted, same):
        theirs, ours = make(), make()
        torch.testing.assert_close(compiled(function)(*ours), function(*theirs))
        torch.testing.assert_close(ours, theirs)


@pytest.mark.usefixtures("always")
def test_autograd_hears_of_it():
    p = torch.randn(4, 4)
    x = torch.randn(4, 4, requires_grad=True)
    y = (x * p).sum()

    def function(p):
        p[1].add_(1)

    compiled(function)(p)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_buffers_of_a_module_that_is_trained():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.register_buffer("seen", torch.zeros(3, 4))
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            y = self.linear(x).tanh()
            with torch.no_grad():
                self.seen[1] = y.mean(0)
                self.seen[2:].mul_(0.9).add_(y.var(0), alpha=0.1)
                self.count += 1
            return y * self.seen.mean(0)

    def trained(wrap):
        torch.manual_seed(3)
        module = Module()
        call = wrap(module)
        for _ in range(2):
            call(torch.randn(5, 4)).sum().backward()
        return [*module.buffers()], [p.grad for p in module.parameters()]

    torch.testing.assert_close(trained(compiled), trained(lambda module: module))


@torch.no_grad()
def test_what_is_not_the_arguments_leaves_as_its_own():
    def function(x, y):
        z = torch.select_scatter(x, y, 0, 1)
        x.copy_(z)
        return z

    ours, theirs = (torch.arange(12.0).view(3, 4), torch.ones(4)), (torch.arange(12.0).view(3, 4), torch.ones(4))
    found = compiled(function)(*ours)
    torch.testing.assert_close(found, function(*theirs))
    torch.testing.assert_close(ours, theirs)
    assert found.data_ptr() != ours[0].data_ptr()


@torch.no_grad()
def test_a_cache_is_not_copied():
    def step(keys, position, k, q):
        keys.index_copy_(2, position, k * 2)
        return q @ keys.transpose(-1, -2), keys[:, :, :8]

    keys = torch.zeros(1, 2, 4096, 64)
    arguments = keys, torch.tensor([7]), torch.randn(1, 2, 1, 64), torch.randn(1, 2, 1, 64)
    call = compiled(step)
    call(*arguments)
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call(*arguments)
    most = max((event.cpu_memory_usage for event in profile.events()), default=0)
    assert most < keys.numel() * keys.element_size() / 8


@pytest.mark.usefixtures("always")
@torch.no_grad()
def test_what_is_said_of_it_counts_the_part():
    def step(keys, k):
        keys[:, :, 3:4] = k * 2

    text = explain(step, torch.zeros(1, 2, 64, 4), torch.randn(1, 2, 1, 4))
    assert "reads 32 bytes, writes 32\n" in text


# A decoder ------------------------------------------------------------------------------------------


class Decoder(torch.nn.Module):
    """Two layers of attention to caches that are written in place: a prompt's positions, then one at a time."""

    def __init__(self, write, length=16, heads=2, width=8):
        super().__init__()
        torch.manual_seed(5)
        self.write, self.heads, self.length = write, heads, length
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleDict({name: torch.nn.Linear(width, width) for name in "qkvo"}) for _ in range(2)
        )
        for layer in range(2):
            self.register_buffer(f"keys{layer}", torch.zeros(1, heads, length, width // heads))
            self.register_buffer(f"values{layer}", torch.zeros(1, heads, length, width // heads))

    def forward(self, x, places, first):
        for number, layer in enumerate(self.layers):
            shape = (1, x.shape[1], self.heads, -1)
            q, k, v = (layer[name](x).view(shape).transpose(1, 2) for name in "qkv")
            q, k = q * torch.cos(places)[:, None], k * torch.cos(places)[:, None]
            keys, values = getattr(self, f"keys{number}"), getattr(self, f"values{number}")
            self.write(keys, k, places, first)
            self.write(values, v, places, first)
            seen = torch.arange(self.length, device=places.device) <= places[:, None]
            y = torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
            x = x + layer["o"](y.transpose(1, 2).flatten(2)).tanh()
        return x


WRITES = {
    "index_copy_": lambda cache, x, places, first: cache.index_copy_(2, places, x),
    "by index": lambda cache, x, places, first: cache.__setitem__((slice(None), slice(None), places), x),
    "slice": lambda cache, x, places, first: cache[:, :, first : first + x.shape[2]].copy_(x),
    "scatter_": lambda cache, x, places, first: cache.scatter_(2, places.view(1, 1, -1, 1).expand(x.shape), x),
}


@pytest.mark.parametrize("write", WRITES)
@torch.no_grad()
def test_a_decoder(write):
    theirs, ours = Decoder(WRITES[write]), Decoder(WRITES[write])
    with observing() as seen:
        call = compiled(ours)
        first = 0
        for count in (5, 1, 1, 1, 1):
            x, places = torch.randn(1, count, 8), torch.arange(first, first + count)
            torch.testing.assert_close(call(x, places, first), theirs(x, places, first))
            first += count
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))
    assert not failures(seen.graphs)
    for graph in seen.graphs:
        whole = [node for node in graph.cut.reasons if getattr(node.meta.get("val"), "shape", None) == (1, 2, 16, 4)]
        assert all(node.target.__name__.partition(".")[0].endswith("_") for node in whole)  # in place alone
