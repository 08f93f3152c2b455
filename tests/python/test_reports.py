"""Programs in the style of nvFuser's bug reports of 2023 to 2025 (reports/), run as they are on the tested device."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from report_references import REFERENCES, UPDATED  # noqa: E402
from tested_device import DEVICE  # noqa: E402

REPORTS = {path.stem: path for path in sorted((Path(__file__).parent / "reports").glob("*.py"))}
WITHOUT_REFERENCE = {"random_sizes_from_scalars", "uniform_with_seed"}  # their numbers are not PyTorch's


def run(name):
    """The names that the program leaves."""
    text = REPORTS[name].read_text()
    for spelling in ("cuda:0", "cuda"):
        text = text.replace(f'"{spelling}"', f'"{DEVICE}"')
    torch.manual_seed(0)
    names = {"__name__": "__main__"}
    exec(compile(text, str(REPORTS[name]), "exec"), names)
    return names


def compare(results, expected):
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    assert len(results) == len(expected)
    for index, (result, reference) in enumerate(zip(results, expected, strict=True)):
        low = result.dtype in (torch.bfloat16, torch.float16)
        torch.testing.assert_close(
            result,
            reference.to(result.device),
            rtol=2e-2 if low else 1e-4,
            atol=2e-2 if low else 1e-5,
            equal_nan=True,
            msg=lambda text, index=index: f"output {index}: {text}",
        )


def test_every_report_has_a_reference():
    assert set(REPORTS) == set(REFERENCES) | WITHOUT_REFERENCE
    assert len(REPORTS) >= 30


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_report(name):
    names = run(name)
    inputs = names.get("before", names["inputs"])
    compare(names["outputs"], REFERENCES[name](*inputs))
    if name in UPDATED:
        compare(names["inputs"], UPDATED[name](*inputs))


def test_report_uniform_with_seed():
    """Its numbers have the distributions that they should, and a second run repeats them."""
    uniform, normal = run("uniform_with_seed")["outputs"]
    assert uniform.shape == normal.shape == (16, 256)
    assert uniform.dtype == torch.float32 and normal.dtype == torch.float64
    assert -1 <= uniform.min() < -0.99 and 0.99 < uniform.max() < 1 and abs(uniform.mean()) < 0.05
    assert abs(normal.mean() + 1) < 0.05 and abs(normal.std() - 1) < 0.05
    for first, again in zip((uniform, normal), run("uniform_with_seed")["outputs"], strict=True):
        assert torch.equal(first, again)


def test_report_random_sizes_from_scalars():
    wide, plain, zeros = run("random_sizes_from_scalars")["outputs"]
    assert wide.dtype == torch.float64 and plain.dtype == torch.float32 and not zeros.any()
    for each in (wide, plain):
        assert each.shape == (13, 21) and each.min() >= -1 and each.max() < 2 and abs(each.mean() - 0.5) < 0.3


@pytest.mark.parametrize("name", ["channels_last", "matmul_transposed"])
def test_outputs_lie_in_the_order_asked_for(name):
    outputs = run(name)["outputs"]
    if name == "channels_last":
        assert [each.stride() for each in outputs[:3]] == [(280, 1, 56, 8), (280, 35, 7, 1), (280, 1, 56, 8)]
    else:
        assert outputs[0].stride() == (18, 1)
