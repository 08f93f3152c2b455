"""nvfuser_direct beside what nvFuser prints, returns and raises (observed_programs.py)."""

import re

import nvfuser_direct
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition
from observed_programs import PROGRAMS
from tested_device import DEVICE


def sc(fd, value):
    return fd.define_scalar(value, dtype=DataType.Double)


def given(description):
    """A tensor of the dtype, the sizes and the strides."""
    dtype, sizes, strides, device = re.fullmatch(r"(\w+) \[(.*?)\] \[(.*?)\]( cpu)?", description).groups()
    dtype = getattr(torch, dtype)
    sizes, strides = ([int(number) for number in numbers.split(", ") if number] for numbers in (sizes, strides))
    count = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if dtype.is_floating_point or dtype.is_complex:
        memory = torch.randn(count, dtype=torch.float32, device="cpu", generator=torch.Generator().manual_seed(0))
    else:
        memory = torch.arange(count) % 2 + (dtype == torch.int32)
    return memory.to(dtype).to("cpu" if device else DEVICE).as_strided(sizes, strides)


def shown(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)} {list(tensor.stride())}"


def about_tensors(text):
    """The statements without those that define scalars, whose numbers follow from the compiler's own arithmetic."""
    lines = [line.strip() for line in text.splitlines()[1:]]
    return [re.sub(r"\bc\d+\b", "c", line) for line in lines if not re.match(r"c\d+ = ", line)]


def defined(program, inputs):
    with FusionDefinition() as fd:
        exec(program.body, {"fd": fd, "i": inputs, "D": DataType, "sc": sc})
    return fd


def copies(inputs):
    return [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x) for x in inputs]


def named(condition):
    return pytest.mark.parametrize("program", [p for p in PROGRAMS if condition(p)], ids=lambda p: p.name)


@named(lambda p: p.printed)
def test_the_printed_definition(program):
    text = repr(defined(program, [given(each) for each in program.inputs]))
    assert text.startswith("def nvfuser_fusion(fd : FusionDefinition) -> None :\n")
    assert about_tensors(text) == program.printed.strip().splitlines()


@named(lambda p: not p.error)
def test_outputs(program):
    inputs = [given(each) for each in program.inputs]
    fd = defined(program, inputs)
    outputs = fd.validate(copies(inputs))  # values are those that the fusion means
    assert [shown(each) for each in outputs] == program.outputs


@named(lambda p: not p.error)
def test_what_is_printed_defines_it_again(program):
    inputs = [given(each) for each in program.inputs]
    fd = defined(program, inputs)
    scope = {"FusionDefinition": FusionDefinition, "DataType": DataType}
    exec(repr(fd), scope)
    with FusionDefinition() as again:
        scope["nvfuser_fusion"](again)
    assert len(about_tensors(repr(again))) == len(about_tensors(repr(fd)))
    first, second = copies(inputs), copies(inputs)
    for x, y in zip(fd.execute(first) + first, again.execute(second) + second, strict=True):
        assert shown(x) == shown(y)
        torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True)


@named(lambda p: p.error)
def test_errors(program):
    inputs = [given(each) for each in program.inputs]
    with pytest.raises((RuntimeError, NotImplementedError), match=re.escape(program.error)):
        defined(program, inputs).execute(inputs)


def test_the_header_of_a_program_that_repeats_a_call():
    fd = defined(PROGRAMS[0], [given("float32 [4, 5] [5, 1]")])
    lines = fd.repro_script_for([given("float32 [4, 5] [5, 1]")]).splitlines()
    devices = [f"#  {n}: {torch.cuda.get_device_name(n)}" for n in range(torch.cuda.device_count())]
    assert lines[0] == "# CUDA devices:" and lines[1 : 1 + len(devices)] == devices
    assert lines[1 + len(devices) : 6 + len(devices)] == [
        f"# torch version: {torch.__version__}",
        f"# cuda version: {torch.version.cuda}",
        f"# nvfuser version: {nvfuser_direct.version()}",
        "import torch",
        "from nvfuser_direct import FusionDefinition, DataType",
    ]


def test_domains():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[2, 4], contiguity=[True, True])
        y = fd.ops.sum(x, 1)
        fd.add_output(y)
    assert str(x) == "T0_g_float[iS0{2}, iS1{4}]" and str(x.domain()) == "[iS0{2}, iS1{4}]"
    assert "T1_g_float[iS2{2}, rS3{4}] = reduction_add( T0, init = 0.0 )" in fd.fusion.print_math()


def test_a_schedule_does_not_change_the_text():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
        y = fd.ops.sum(fd.ops.exp(x), 1)
        fd.add_output(y)
        before = repr(fd)
        x.cache_after()
        y.split(1, 8)
        y.rfactor([1])
        fd.sched.inline_most()
    assert repr(fd) == before and "tv2 = fd.ops.sum(tv1, dims=[1], dtype=DataType.Float)" in before


def test_draws_keep_their_order():
    """Unseeded numbers are counted in the order in which they were asked for, whatever output comes first."""
    with FusionDefinition() as fd:
        first = fd.ops.uniform(0.0, 1.0, [4], dtype=DataType.Float)
        second = fd.ops.normal(0.0, 1.0, [4], dtype=DataType.Float)
        fd.add_output(second)
        fd.add_output(first)
    assert about_tensors(repr(fd)) == [
        "tv1 = fd.ops.uniform(c, c, shape=[4], dtype=DataType.Float)",
        "tv2 = fd.ops.normal(c, c, shape=[4], dtype=DataType.Float)",
        "fd.add_output(tv2)",
        "fd.add_output(tv1)",
    ]


def test_a_stretched_tensor_is_written_out_by_what_reads_it():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, 1], contiguity=[True, None])
        fd.add_output(fd.ops.reshape(fd.ops.expand(x, [-1, 3]), [-1]))
    assert about_tensors(repr(fd))[1:3] == [
        "tv1 = fd.ops.expand(tv0, shape=[c, 3])",
        "tv3 = fd.ops.reshape(tv1, new_shape=[c])",
    ]
    x = torch.randn(4, 1, device=DEVICE)
    scope = {}
    exec(repr(fd), {"FusionDefinition": FusionDefinition, "DataType": DataType}, scope)
    with FusionDefinition() as again:
        scope["nvfuser_fusion"](again)
    assert torch.equal(again.execute([x])[0], x.expand(4, 3).reshape(-1))
