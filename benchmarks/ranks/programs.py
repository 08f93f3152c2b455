"""All programs, in the order in which they run."""

from .layers import attention, block, mlp
from .transfers import experts, gathered_product, scattered_product, shared_batch


def programs(sizes, devices):
    return [
        gathered_product(sizes),
        scattered_product(sizes),
        mlp(sizes, sequences=False),
        mlp(sizes, sequences=True),
        shared_batch(sizes, devices),
        experts(sizes),
        attention(sizes),
        block(sizes, sequences=False),
        block(sizes, sequences=True),
    ]
