"""Calls of one group again and again: what may differ between them is seen, in any order and from several threads."""

import itertools
import threading

import torch
from torchscript_programs import layer_norm
from torchscript_support import DEVICE, assert_equal, groups_in, rand


def scaled(x, s: float):
    return (x * s + 1.0).relu()


def strided(x):
    return (x * 2.0 + 1.0).relu()


def shifted(x, n: int, up: bool):
    return (x + n).relu() * 2.0 if up else (x - n).relu() * 3.0


def summed(x, dims: list[int]):
    return (x * 2.0).sum(dims).relu()


def two_results(x, y):
    return (x * y + 1.0).relu(), (x - y).tanh().t()


def in_rounds(function, calls, rounds=4):
    """Results of the scripted function equal those of eager; the function."""
    scripted = torch.jit.script(function)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for _ in range(rounds):
            for arguments in calls:
                assert_equal(scripted(*arguments), function(*arguments))
    assert groups_in(scripted) > 0
    return scripted


def test_more_sizes_than_are_known():
    in_rounds(scaled, [[rand(rows, 7), 0.5 * rows] for rows in range(2, 22)])


def test_sizes_in_turn():
    few = [[rand(4, 6), 2.0], [rand(6, 4), -1.0], [rand(0, 6), 3.0]]
    in_rounds(scaled, [*few, few[0], few[0], few[2], few[1], few[0]])


def test_addresses():
    """Kernels read in vectors where addresses allow it."""
    base = rand(133)
    calls = [[base[begin : begin + 64]] for begin in (0, 1, 2, 3, 4, 8, 16, 1, 0)]
    in_rounds(strided, [*calls, [base.double()[1:65]], [base[3:67].clone()]])


def test_strides():
    base = rand(12, 16)
    in_rounds(strided, [[base], [base[:, :8]], [base[::2]], [base.t()], [base.t().contiguous()], [base[:, 1:9]]])


def test_memory_of_its_own():
    scripted = torch.jit.script(strided)
    x = rand(8, 8)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        results = [scripted(x + i) for i in range(6)]
    for i, result in enumerate(results):
        assert_equal(result, strided(x + i))
    assert len({result.data_ptr() for result in results}) == 6


def test_nothing_is_kept_of_a_call():
    """Neither inputs nor results live longer than in eager."""
    import gc
    import weakref

    scripted = torch.jit.script(two_results)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for _ in range(6):
            x, y = rand(5, 5), rand(5, 5)
            results = scripted(x, y)
            alive = [weakref.ref(tensor) for tensor in (x, y, *results)]
            del x, y, results
            gc.collect()
            assert not any(ref() is not None for ref in alive)


def test_integers_and_flags():
    x = rand(5, 6)
    in_rounds(shifted, [[x, n, up] for n, up in itertools.product((1, 2, 1, -3), (True, False, True))])


def test_lists():
    x = rand(3, 4, 5)
    in_rounds(summed, [[x, dims] for dims in ([0], [1, 2], [0], [0, 1], [2])])


def test_updates_are_seen():
    scripted = torch.jit.script(strided)
    x = rand(6, 6)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for i in range(6):
            x.add_(1.0 + i)
            assert_equal(scripted(x), strided(x))


def test_threads_share_a_call():
    """All with the same sizes at the same time; each gets its own result."""
    scripted = torch.jit.script(two_results)
    x, y = rand(16, 16), rand(16, 16)
    errors = []

    def work(number):
        try:
            with torch.no_grad():
                for i in range(200):
                    mine = x + number * 1000.0 + i
                    assert_equal(scripted(mine, y), two_results(mine, y))
        except BaseException as error:
            errors.append(error)

    with torch.jit.fuser("fuser2"):
        in_rounds(two_results, [[x, y]])
        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors, errors


def test_threads_with_their_own_sizes():
    scripted = torch.jit.script(layer_norm)
    errors = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        try:
            for rows in (8, 3, 8, 5, 1, 8, 2):
                arguments = [torch.randn(rows, 16, generator=generator).to(DEVICE) for _ in range(3)]
                arguments = [arguments[0], arguments[1][0], arguments[2][0]]
                with torch.no_grad():
                    assert_equal(scripted(*arguments), layer_norm(*arguments))
        except BaseException as error:
            errors.append(error)

    with torch.jit.fuser("fuser2"):
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors, errors
    assert groups_in(scripted) > 0


def two_operations(x):
    return (x + 1.0).relu()


def test_many_shapes_one_group():
    """Sizes may change without another group or kernel text; extent 1 and other ranks take the fallback graph."""
    scripted = torch.jit.script(two_operations)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for rows in range(2, 30):
            x = rand(rows, 7)
            assert_equal(scripted(x), two_operations(x))
        for sizes in ((1, 7), (3,), (2, 3, 4)):
            x = rand(*sizes)
            for _ in range(3):
                assert_equal(scripted(x), two_operations(x))
    assert groups_in(scripted) == 1


def in_modes(x):
    return (x * 3.0 - 1.0).relu()


def test_modes():
    """The same sizes with and without gradients, and in inference mode, in turn."""
    scripted = torch.jit.script(in_modes)
    with torch.jit.fuser("fuser2"):
        for _ in range(4):
            x = rand(6, 5)
            with torch.inference_mode():
                y = rand(6, 5)
                for given in (x, y):
                    got, want = scripted(given), in_modes(given)
                    assert_equal(got, want)
                    assert got.is_inference() and want.is_inference()
            for given in (x, rand(6, 5, grad=True), y):
                got, want = scripted(given), in_modes(given)
                assert_equal(got, want)
                assert got.requires_grad == want.requires_grad and not got.is_inference()
            with torch.no_grad():
                got = scripted(rand(6, 5, grad=True))
                assert not got.requires_grad
    assert groups_in(scripted) > 0
