"""Seed and offset of a call's random operations, from PyTorch's generator: torch.manual_seed repeats them."""

import sys
from collections import OrderedDict

# States of the CPU's generator that a call began with, and the offset it had then: a state that comes back (because
# somebody set it) gives the same numbers again. The latest ones are kept.
_KNOWN_STATES = OrderedDict()
_MOST_STATES = 4096
_last_offset = 0


def take_state(draws, cuda_index):
    """(seed, offset) of a call that draws so many times. PyTorch's generator is then behind them."""
    torch = sys.modules["torch"]
    if cuda_index >= 0:
        generator = torch.cuda.default_generators[cuda_index]
        offset = generator.get_offset()
        generator.set_offset(offset + 4 * draws)  # a unit of ours is a counter of four numbers
        return generator.initial_seed(), offset // 4
    return _take_cpu_state(torch, draws)


def _take_cpu_state(torch, draws):
    """The CPU's generator does not count: offset 0 is where it was seeded, others follow call by call."""
    global _last_offset
    generator = torch.default_generator
    seed = generator.initial_seed()
    state = generator.get_state().numpy().tobytes()
    key = (seed, hash(state))
    offset = _KNOWN_STATES.get(key)
    if offset is None:
        fresh = torch.Generator().manual_seed(seed).get_state().numpy().tobytes() == state
        offset = 0 if fresh else _last_offset
        _KNOWN_STATES[key] = offset
        if len(_KNOWN_STATES) > _MOST_STATES:
            _KNOWN_STATES.popitem(last=False)
    _last_offset = offset + draws
    torch.randint(0, 2, (), generator=generator)  # so that the next state is another one
    return seed % 2**64, offset
