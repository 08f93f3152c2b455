"""Programs that write parts of their arguments, in place: caches, windows, statistics, buffers."""

from dataclasses import dataclass

import torch
from tested_device import ON_GPU


@dataclass
class Program:
    run: object
    make: object  # () → arguments
    pytorch: tuple = ()  # operations that are left to PyTorch


def cache():
    return torch.randn(1, 2, 8, 4)


# One row of queries times the keys: sums of a kernel on the CPU.
ROW_TIMES_MATRIX = ("bmm",) if ON_GPU else ()


def programs():
    found = {}

    def program(make, pytorch=()):
        def enter(function):
            found[function.__name__] = Program(function, make, pytorch)
            return function

        return enter

    # Caches of keys ---------------------------------------------------------------------------------

    @program(lambda: (cache(), torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4)), ROW_TIMES_MATRIX)
    def one_position(keys, k, q):
        keys[:, :, 3:4] = k * 2
        return q @ keys.transpose(-1, -2)

    @program(lambda: (cache(), torch.randn(1, 2, 4), torch.randn(1, 2, 1, 4)), ROW_TIMES_MATRIX)
    def one_position_without_its_axis(keys, k, q):
        keys[:, :, -1] = k * 2
        return q @ keys.transpose(-1, -2)

    @program(lambda: (cache(), torch.randn(1, 1, 2, 4), torch.randn(1, 2, 1, 4)), ROW_TIMES_MATRIX)
    def heads_turned(keys, k, q):
        keys.transpose(1, 2)[:, 3:4] = k.sin()
        return q @ keys.transpose(-1, -2)

    @program(lambda: (cache(), torch.tensor([3, 4]), torch.randn(1, 2, 2, 4)), ("index_copy_",))
    def positions(keys, places, k):
        keys.index_copy_(2, places, k * 2)
        return keys.sum(2)

    @program(lambda: (cache(), torch.tensor([3, 4]), torch.randn(1, 2, 2, 4)), ("index_put_",))
    def positions_by_index(keys, places, k):
        keys[:, :, places] = k * 2
        return keys.sum(2)

    @program(
        lambda: (torch.randn(3, 8, 4), torch.tensor([0, 2]), torch.tensor([7, 1]), torch.randn(2, 4)), ("index_put_",)
    )
    def rows_and_positions(keys, rows, places, k):
        keys[rows, places] = k.exp()

    @program(lambda: (cache(), cache(), torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4)), ROW_TIMES_MATRIX)
    def keys_and_values(keys, values, k, q):
        k = k * 2
        keys[:, :, 5:6] = k
        values[:, :, 5:6] = k + 1
        return (q @ keys.transpose(-1, -2)).softmax(-1) @ values

    @program(lambda: (torch.randn(2, 2, 8, 4), torch.randn(2, 8, 4), torch.randn(4, 4)), ("mm", "bmm"))
    def layers_in_one_tensor(keys, x, w):
        for layer in range(2):
            keys[layer, :, 2:4] = (x @ w)[:, 2:4] * 2
            x = (x @ keys[layer].transpose(-1, -2)).softmax(-1) @ keys[layer]
        return x

    @program(lambda: (torch.randn(2, 16).half(), torch.randn(2, 4)))
    def cache_of_less_precision(keys, k):
        keys[:, 4:8] = k.sin()

    @program(lambda: (cache(), torch.tensor([3]), torch.randn(1, 2, 1, 4)), ("index_copy_",))
    def read_by_index_afterwards(keys, place, k):
        keys.index_copy_(2, place, k + 1)
        return keys.index_select(2, place) * 2

    # Windows, rings, statistics ---------------------------------------------------------------------

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 1)))
    def window(x, y):
        x.copy_(torch.cat([x[:, 1:], y * 2], 1))
        return x.mean(1)

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 1)))
    def window_by_parts(x, y):
        x[:, :-1] = x[:, 1:].clone()
        x[:, -1:] = y.cos()

    @program(lambda: (torch.randn(5, 4), torch.randn(4)))
    def ring(x, y):
        x[3] = y * 2
        return x.mean(0)

    @program(lambda: (torch.randn(5, 4), torch.randn(4)))
    def row_added_to(x, y):
        x[1].add_(y)

    @program(lambda: (torch.randn(3, 6), torch.randn(7, 3)))
    def statistics(x, y):
        x[:, 0] = y.mean(0)
        x[:, 1] = y.var(0)
        x[:, 2].mul_(0.9).add_(y.amax(0), alpha=0.1)

    @program(lambda: (torch.randn(6, 4), torch.randn(6, 1), torch.tensor([1, 5]), torch.randn(2, 4)), ("index_put_",))
    def replay(buffer, rewards, at, seen):
        buffer[at] = seen * 2
        rewards[at] = seen.sum(1, keepdim=True)
        return buffer.mean()

    @program(lambda: (torch.randn(6, 4), torch.tensor([1, 1, 0]), torch.randn(3, 4)), ("index_add_",))
    def histogram(x, at, y):
        x.index_add_(0, at, y * 2, alpha=3)

    @program(lambda: (torch.randn(6, 4), torch.randint(6, (2, 4)), torch.randn(2, 4)), ("scatter_add_",))
    def scattered_sum(x, at, y):
        x.scatter_add_(0, at, y * 2)

    @program(lambda: (torch.randn(6, 4), torch.randint(6, (1, 4)), torch.randn(1, 4)), ("scatter_",))
    def scattered(x, at, y):
        x.scatter_(0, at, y * 2)
        return x + 1

    # Parts of parts, several writes -----------------------------------------------------------------

    @program(lambda: (torch.randn(3, 8),))
    def scaled(x):
        x[:, :4] *= 2

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 4)))
    def two_that_overlap(x, y):
        x[:, :4] *= 2
        x[:, 2:6] += y

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 4)))
    def two_apart(x, y):
        x[:, :4] = y.sin()
        x[:, 4:] = y.cos()
        return x.sum()

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 4), torch.randn(8, 2)), ("mm", "copy_"))
    def read_in_between(x, y, w):
        x[:, :4] = y.sin()
        z = x @ w
        x[:, 2:6] = y.cos()
        return z, x @ w

    @program(lambda: (torch.randn(3, 4, 8), torch.randn(4, 1)))
    def nested(x, y):
        x[1, :, 2:3].copy_(y * 2)

    @program(lambda: (torch.randn(3, 4, 8), torch.randn(3, 4)))
    def nested_twice(x, y):
        x[:, :, 2:6][:, :, 1] = y * 2
        x[2].t()[3:5].add_(1)

    @program(lambda: (torch.randn(4, 6), torch.randn(2, 3)))
    def as_another_shape(x, y):
        x.view(2, 2, 6)[:, 1, 1:4] = y * 2

    @program(lambda: (torch.randn(4, 4), torch.randn(4)))
    def diagonal(x, y):
        x.diagonal().add_(y)

    @program(lambda: (torch.randn(4, 9), torch.randn(4, 3)))
    def each_third(x, y):
        x[:, ::3] = y * y

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 8)))
    def of_what_was_there(x, y):
        old = x[:, 2:4] * 2
        x[:, :2] = y[:, :2] + x.sum()
        return old + x[:, :2]

    @program(lambda: (torch.randn(3, 8), torch.randn(8, 8)), ("mm",))
    def read_before_by_a_product(x, w):
        y = x @ w
        x[:, 1:2] = y[:, :1] * 2
        return y

    @program(
        lambda: (torch.randn(3, 8), torch.randn(3, 8)),
        ("_to_copy", "copy_"),
    )
    def exchanged(x, y):
        part = x[:, :4].clone()
        x[:, :4] = y[:, 4:]
        y[:, 4:] = part

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 8), torch.tensor([2, 0])), ("index_put_",))
    def all_then_a_part(x, y, at):
        x.copy_(y * 2)
        x[at] = y[:2] + 1

    @program(lambda: (torch.randn(3, 8, 2), torch.randn(3, 8)))
    def where_a_mask_is_true(x, y):
        x[y > 1] = 0
        x[:, y[0] > 0] = y.sum()

    @program(lambda: (torch.randn(6, 6),), ("copy_",))
    def shifted_in_itself(x):
        x[1:] = x[:-1].clone()
        x[:, 0] = 0

    @program(lambda: (torch.randn(3, 8), torch.randn(3, 1)))
    def used_elsewhere_too(x, y):
        z = y * 2
        x[:, 3:4] = z
        return z, z.sum()

    @program(lambda: (torch.randn(4, 9)[:, 1:6], torch.randn(4, 2)))
    def of_an_argument_with_gaps(x, y):
        x[:, 1:3] = y * 2
        return x.exp()

    @program(lambda: (torch.randn(6, 4).t(), torch.randn(2, 6), torch.randn(6, 3)), ("mm",))
    def of_a_turned_argument(x, y, w):
        x[1:3] = y * 2
        return x @ w

    @program(lambda: (torch.randn(3, 8), torch.randn(3)))
    def returned(x, y):
        x[:, 2] = y * 2
        return x

    @program(lambda: (torch.randn(3, 8), torch.randn(3)))
    def a_view_returned(x, y):
        x[:, 2] = y * 2
        return x[:, 1:3]

    @program(lambda: (torch.randn(3, 8), torch.randn(3)))
    def several_views_returned(x, y):
        x[:, 2] = y * 2
        return y + 1, x[:, 1:3], x.t(), x.view(2, 12)[1]

    @program(lambda: (torch.randn(300, 400), torch.randn(300)))
    def large_and_summed(x, y):
        x[:, 2] = y * 2
        return x.sum()

    @program(lambda: (torch.zeros(4, 6, dtype=torch.int64), torch.arange(6)))
    def integers(x, y):
        x[1] = y * 2
        x[2:] += 1

    @program(lambda: (torch.randn(2, 3), torch.randn(3)))
    def a_part_that_is_all(x, y):
        x[:] = y * 2
        x[0:2] += 1

    return found


PROGRAMS = programs()
