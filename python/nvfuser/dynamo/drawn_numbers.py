"""What a call does for masks that kernels draw themselves (dropout.py): the numbers come from PyTorch's generator."""

import torch

BLOCK = 256  # threads of a block of eager's kernel
DRAWN = 4  # numbers that a thread draws at once


def moves(elements, threads):
    """How far a mask of so many elements moves the generator on; `threads`: of the largest grid of eager's kernel."""
    blocks = min(-(-elements // BLOCK), threads // BLOCK)
    return ((elements - 1) // (BLOCK * blocks * DRAWN) + 1) * DRAWN


def take_numbers(index, elements, threads):
    """(seed, place of the first number in blocks of four) for a mask; the GPU's generator is then behind it."""
    generator = torch.cuda.default_generators[index]
    offset = generator.get_offset()
    generator.set_offset(offset + moves(elements, threads))
    seed = generator.initial_seed()
    return seed - 2**64 if seed >= 2**63 else seed, offset // DRAWN


take_numbers.tags = (torch.Tag.nondeterministic_seeded,)


def dropout_mask(x, p, seed, offset, threads, width):
    """The mask that eager draws for x from this place of this seed, by eager. (Its rule is in operators/draws.py.)"""
    generator = torch.cuda.default_generators[x.device.index]
    state = generator.get_state()
    try:
        generator.manual_seed(seed % 2**64)
        generator.set_offset(offset * DRAWN)
        like = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
        return torch.ops.aten.native_dropout(like, p, None)[1]
    finally:
        generator.set_state(state)
