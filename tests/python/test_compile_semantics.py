"""What a graph compiled by torch.compile(backend="nvfuser") keeps of PyTorch's semantics, beside its numbers."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import nvfuser
import pytest
import torch
from nvfuser.dynamo import explain
from nvfuser.dynamo.backend import backend, observing
from tested_device import DEVICE, tensors_there
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with tensors_there():
        yield
    torch._dynamo.reset()


def compiled(function, dynamic=False):
    return torch.compile(function, backend=backend, dynamic=dynamic)


def both(function, *inputs, dynamic=False):
    """Results of the function as it is and compiled, each on inputs of its own; and the inputs after the call."""
    eager_inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    our_inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    with observing() as seen:
        ours = compiled(function, dynamic)(*our_inputs)
    theirs = function(*eager_inputs)
    torch.testing.assert_close(ours, theirs, equal_nan=True)
    for mine, other in zip(our_inputs, eager_inputs, strict=True):
        torch.testing.assert_close(mine, other, equal_nan=True)
    assert not [reason for graph in seen.graphs for reason in graph.failures()]
    return ours, theirs, seen.graphs


def test_updates_of_inputs_and_of_views():
    def function(x, y):
        x.add_(y)
        x[0].mul_(2)
        x.t()[1] = 7
        return x * 2

    both(function, torch.randn(4, 5), torch.randn(4, 5))


def test_a_copy_is_made_before_an_update():
    def function(x):
        before = x.clone()
        x.mul_(3)
        return before + 1, before

    both(function, torch.randn(4, 5))


def test_an_input_and_views_of_it_come_back_as_such():
    def function(x):
        return x, x.t(), x.view(-1), x * 2

    x = torch.randn(4, 5)
    same, turned, flat, _ = compiled(function)(x)
    assert same is x or same.data_ptr() == x.data_ptr()
    assert turned.data_ptr() == flat.data_ptr() == x.data_ptr()
    x.fill_(3)
    assert bool((turned == 3).all() and (flat == 3).all())


def test_results_that_share_memory_share_it():
    def function(x):
        y = x + 1
        return y, y.t(), y[1:]

    y, turned, part = compiled(function)(torch.randn(4, 5))
    y.fill_(3)
    assert bool((turned == 3).all() and (part == 3).all())


def test_equal_results_do_not_share_memory():
    def function(x):
        return x.clone(), (x + 0.0).clone(), x.to(torch.float32, copy=True)

    x = torch.randn(4, 5)
    results = compiled(function)(x)
    assert len({t.data_ptr() for t in (x, *results)}) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(4, 6, 5),
        lambda: torch.randn(4, 6, 5).transpose(0, 2),
        lambda: torch.randn(4, 6, 5).permute(1, 2, 0),
        lambda: torch.randn(4, 12, 5)[:, ::2],
        lambda: torch.randn(6, 5).expand(4, 6, 5),
        lambda: torch.randn(4, 1, 5).expand(4, 6, 5),
        lambda: torch.randn(4, 1, 5),
        lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        lambda: torch.randn(1, 3, 1, 5).to(memory_format=torch.channels_last),
    ],
)
def test_strides_are_pytorchs(make):
    def function(x):
        return x * 2, torch.relu(x).contiguous(), torch.exp(x).transpose(0, 1), x.sum(1), (x + 1).clone(), x[..., 0] + 1

    x = make()
    ours = compiled(function)(x)
    for mine, theirs in zip(ours, function(x), strict=True):
        torch.testing.assert_close(mine, theirs)
        wide = [axis for axis in range(mine.dim()) if mine.shape[axis] > 1]
        assert [mine.stride(axis) for axis in wide] == [theirs.stride(axis) for axis in wide]


def test_running_statistics_are_updated():
    net = nn.BatchNorm1d(6)
    fast = compiled(net)
    for _ in range(3):
        fast(torch.randn(8, 6))
    assert net.num_batches_tracked == 3
    assert bool((net.running_mean != 0).all())


def test_sizes_of_one_and_none():
    def function(x, y):
        return x * y + x.sum(0), torch.softmax(x, 1).exp()

    for rows in (5, 1, 0, 7, 2):
        ours = compiled(function, dynamic=True)(torch.ones(rows, 4), torch.ones(4))
        torch.testing.assert_close(ours, function(torch.ones(rows, 4), torch.ones(4)))


def test_one_compilation_for_all_sizes():
    def function(x, y):
        rows = x.shape[0]
        return F.layer_norm(x * rows + y, (x.shape[1],)).view(-1, 2).sum(1), x.new_full((rows, 2), 3.0) * 2

    fast = compiled(function, dynamic=True)
    with observing() as seen:
        for rows, columns in ((3, 4), (5, 6), (8, 10)):
            x, y = torch.randn(rows, columns), torch.randn(columns)
            torch.testing.assert_close(fast(x, y), function(x, y), rtol=1e-5, atol=1e-5)
    assert len(seen.graphs) == 1
    assert not seen.graphs[0].failures()


def test_scalars_that_change():
    def function(x, factor):
        return torch.relu(x * factor) + factor

    fast = compiled(function, dynamic=None)
    x = torch.randn(5)
    for factor in (2.0, 3.5, -1.25, 4):
        torch.testing.assert_close(fast(x, factor), function(x, factor))


def test_tensors_without_axes():
    def function(x, a, b):
        return x * a + b, a * b, a.sum(), torch.where(a > 0, x, b)

    both(function, torch.randn(3, 4), torch.tensor(2.0, dtype=torch.float64), torch.tensor(3))


def test_dtypes_are_promoted_as_in_pytorch():
    def function(i, h, f, t):
        return (
            i + 1.5,
            i / 2,
            h * f,
            h + 1,
            t + i,
            t * 2,
            i.sum(),
            t.sum(),
            h.sum(),
            (h > 0) & t,
            i.float().mean(),
            i * h,
        )

    both(
        function,
        torch.arange(-3, 3),
        torch.randn(6, dtype=torch.bfloat16),
        torch.randn(6),
        torch.rand(6) > 0.5,
    )


def test_special_values():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-42, 3.0])

    def function(x):
        bounded = x.clamp(-1, 1), torch.maximum(x, x.flip(0)), torch.relu(x), torch.sign(x)
        return *bounded, x.amax(), torch.exp(x), torch.sigmoid(x), x == x, torch.where(x.isnan(), 1.0, x)

    both(function, x)


def test_division_and_remainders():
    def function(a, b):
        floor = torch.div(a, b, rounding_mode="floor")
        return floor, torch.div(a, b, rounding_mode="trunc"), a % b, torch.fmod(a, b), a // 0.1, a**3, a.abs() ** 0.5

    values = torch.tensor([7.5, -7.5, 1.0, -1.0, 0.3, 0.0, 5.0])
    both(function, values, values.flip(0) * 0.7 + 0.1)


def test_complex_numbers_are_left_to_pytorch():
    def function(x):
        return (x * 2).abs() + 1

    _, _, (graph,) = both(function, torch.randn(4, dtype=torch.complex64))
    assert "dtype complex64" in graph.cut.reasons.values()


def test_indices():
    def function(table, rows, columns):
        return (
            F.embedding(rows, table) * 2,
            table.gather(1, columns) + 1,
            table.index_select(0, rows) - 1,
            table[rows] * 3,
        )

    both(function, torch.randn(7, 5), torch.tensor([0, 3, 6, 3]), torch.randint(0, 5, (7, 2)))


def test_autocast():
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))

    def function(x):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            return net(x)

    x = torch.randn(4, 8)
    ours, theirs = compiled(function)(x), function(x)
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(ours, theirs, rtol=3e-2, atol=3e-2)


def test_an_optimizer_step():
    weights = [torch.randn(4, 5, requires_grad=True) for _ in range(2)]
    copies = [w.detach().clone().requires_grad_() for w in weights]
    ours, theirs = torch.optim.AdamW([weights[0], weights[1]], lr=0.1), torch.optim.AdamW(copies, lr=0.1)
    step = compiled(ours.step)
    for _ in range(3):
        for mine, other in zip(weights, copies, strict=True):
            mine.grad = torch.randn(4, 5)
            other.grad = mine.grad.clone()
        step()
        theirs.step()
    for mine, other in zip(weights, copies, strict=True):
        torch.testing.assert_close(mine, other)


def test_gradients_of_gradients_and_hooks():
    def function(x):
        return (torch.tanh(x) * x).sum()

    x = torch.randn(5, requires_grad=True)
    seen = []
    x.register_hook(seen.append)
    compiled(function)(x).backward()
    y = x.detach().clone().requires_grad_()
    function(y).backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert len(seen) == 1


def test_intermediate_results_are_freed():
    """Arguments that nobody else holds and intermediate results go after their last reader."""

    def function(x):
        return (torch.relu(x) @ x) @ torch.sin(x)

    with observing() as seen:
        compiled(function)(torch.randn(4, 4))
    steps, result = str(seen.graphs[0].run).split("return")
    made = set(re.findall(r"\bv\d+", steps))
    dropped = set(re.findall(r"\bv\d+", " ".join(re.findall(r"drops (.*)", steps))))
    assert len(made) > 3 and made - dropped == set(re.findall(r"\bv\d+", result))


# Looking into it, and being found -----------------------------------------------------------------


def test_explain_tells_what_and_why():
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))
    text = explain(net, torch.randn(4, 8))
    assert "graph 1 (forward): " in text and "graph 2 (backward): " in text
    assert "gelu, var_mean" in text
    assert "PyTorch: addmm: products of matrices are a library's" in text
    assert "runs in 1 kernel" in text


def test_kernels_are_named_by_their_region():
    def named(function, x):
        return set(re.findall(r"runs in \d+ kernels?, (nvfuser_\d+_)…", explain(function, x)))

    x = torch.randn(4, 8)
    gelu, tanh = named(nn.GELU(), x), named(nn.Tanh(), x)
    assert len(gelu) == len(tanh) == 1 and gelu != tanh
    assert named(nn.GELU(), x) == gelu
    with observing() as seen:
        compiled(nn.GELU())(x)
    cache = seen.graphs[0].regions[0].executor.cache
    assert f"{gelu.pop()}1(" in cache.get_cuda_kernel([x])


def test_found_without_an_import(tmp_path):
    """The entry point of the package is enough for backend="nvfuser"."""
    if not os.environ.get("NVFUSER_TEST_INSTALLED"):  # as an installed package declares it
        info = tmp_path / "nvfuser_jit-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvfuser-jit\nVersion: 0\n")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        declared = Path(root, "pyproject.toml").read_text()
        group, name, target = re.search(r"\[project\.entry-points\.(\w+)\].*\n(\w+) = \"(.*)\"", declared).groups()
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
    program = (
        "import torch, sys\n"
        "y = torch.compile(lambda x: x * 2 + 1, backend='nvfuser')(torch.ones(3))\n"
        "assert y.tolist() == [3, 3, 3] and 'nvfuser' in sys.modules\n"
        "assert 'nvfuser' in torch._dynamo.list_backends()\n"  # that of PyTorch 2.4 has it once it was used
    )
    package = os.path.dirname(nvfuser.__path__[0])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), package))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_no_warnings_in_an_ordinary_call():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(lambda x: torch.softmax(x, -1) * 2)(torch.randn(4, 5))
    assert not [w for w in caught if "nvfuser" in str(w.message)]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.float32])
def test_a_threshold_has_the_dtype_of_its_operand(dtype):
    def program(x):
        return F.threshold(x, 2, 0.1), F.threshold(x, 0.5, -1.5)

    x = torch.arange(-4, 8).to(dtype)
    torch.testing.assert_close(compiled(program)(x), program(x), rtol=0, atol=0)


def test_truth_values_over_no_axes():
    """An empty list of axes: none for `any` and `all`, all of them for sums and extremes."""
    both(
        lambda x: ((x > 0).any(()), (x > 0).all((), keepdim=True), x.sum(()), x.amax(()), (x > 0).any()),
        torch.randn(3, 4),
    )


def test_gradients_behind_an_assertion():
    """Its token is the first of the forward's outputs, and none that a gradient keeps."""

    def function(x, y):
        return torch.linalg.inv(x + 5 * torch.eye(3)) @ y

    def gradients(function):
        x, y = torch.ones(3, 3, requires_grad=True), torch.linspace(-1, 1, 12).view(3, 4).requires_grad_()
        return torch.autograd.grad(function(x, y).square().sum(), (x, y))

    torch.testing.assert_close(gradients(compiled(function)), gradients(function))


def test_a_buffer_is_moved_before_it_is_used():
    """The backward has the value that the forward had, which PyTorch's cut of the graph does not keep."""

    class Centred(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.ones(6))

        def forward(self, x):
            with torch.no_grad():
                self.mean.lerp_(x.mean(0), 0.2)
            return (x - self.mean).square().sum(), self.mean.view(2, 3) * 2

    x = torch.randn(4, 6)
    for dynamic in (False, True):
        found = []
        for compiled_ in (lambda module: module, lambda module: compiled(module, dynamic)):  # noqa: B023
            module, given = Centred(), x.clone().requires_grad_()
            call = compiled_(module)
            losses = [call(given)[0] for _ in range(3)]
            found.append((*torch.autograd.grad(sum(losses), given), module.mean, torch.stack(losses)))
        torch.testing.assert_close(*found)
        torch._dynamo.reset()


def test_spectral_norm_is_trained_as_in_eager():
    found = []
    for compile_ in (lambda module: module, compiled):
        torch.manual_seed(0)
        module = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5)).double()
        call, optimizer = compile_(module), torch.optim.SGD(module.parameters(), 0.1)
        for _ in range(4):
            optimizer.zero_grad()
            call(torch.randn(3, 4, dtype=torch.float64)).square().sum().backward()
            optimizer.step()
        found.append([p.detach() for p in (*module.parameters(), *module.buffers())])
    torch.testing.assert_close(*found)


PARTS_BEYOND = {
    "behind the end": lambda x: x[5:] * 2,
    "each second one": lambda x: x[5::2] * 2,
    "an end in front of the beginning": lambda x: x[7:2] * 2 + x[:1].sum(),
    "a part beside the whole": lambda x: x[4:6].sum() + x.sum(),
    "turned around": lambda x: torch.cat([x[5:], x[:5]]) * 2,
    "a part of a part": lambda x: x[1:][5:] * 2,
    "written to": lambda x: torch.slice_scatter(x, x[5:] * 2, 0, 5),
    "flipped": lambda x: x.flip(0)[5:] * 2,
}


@pytest.mark.parametrize("name", PARTS_BEYOND)
def test_gradients_of_parts_that_changing_sizes_do_not_reach(name):
    ours = compiled(PARTS_BEYOND[name], dynamic=True)
    for size in (9, 8, 6, 5, 4):
        mine, theirs = (torch.arange(1.0, size + 1, device=DEVICE).requires_grad_() for _ in range(2))
        found, wanted = ours(mine), PARTS_BEYOND[name](theirs)
        torch.testing.assert_close(found, wanted)
        torch.autograd.backward([found.sum(), wanted.sum()])
        torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("size", [5, 33, 1000])
@pytest.mark.parametrize("dim", [0, 1])
def test_equal_numbers_deviate_by_nothing(size, dim):
    x = (torch.randn(50, 1, device=DEVICE) * 2).expand(50, size).contiguous()
    x = (x if dim else x.t().contiguous()).requires_grad_()
    deviation, variance = compiled(lambda x: (x.std(dim), x.var(dim, correction=0)))(x)
    deviation.sum().backward()
    assert not deviation.any() and not variance.any() and not x.grad.any()


def test_a_row_that_is_shown_several_times_is_selected():
    def function(x, y):
        shown = (y * 2).expand(x.shape[0], 3)
        return shown[0] + 1, shown[:1] + x

    both(function, torch.randn(2, 3), torch.randn(3), dynamic=True)
