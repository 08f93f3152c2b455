"""Random graphs of PyTorch as models are made of them: layers, norms, reductions, views, parts, joins, indices,
broadcasts, forward and backward."""

import random

import torch

from .inputs import LAYOUTS
from .program import Builder

# {x}: floating point; {y}: the same sizes; {w}: a new parameter; {r}: an axis; each a template and what x has to be.
ANY = """
    {x} + {y}|{x} - {y}|{x} * {y}|{x} / ({y}.abs() + 1)|{x} * {s}|{x} + {s}|torch.where({x} > {y}, {x}, {y})|-{x}
    {x}.tanh()|{x}.sigmoid()|F.relu({x})|F.gelu({x})|F.silu({x})|F.softplus({x})|F.elu({x})|F.leaky_relu({x}, 0.1)
    {x}.sin()|{x}.exp().clamp(max=20.0)|({x}.abs() + 0.5).log()|({x} * {x} + 0.25).rsqrt()|{x}.abs().sqrt() + {y}
    {x}.clamp(-1.5, 2.0)|torch.maximum({x}, {y})|torch.addcmul({x}, {y}, {y}, value=0.5)|torch.lerp({x}, {y}, 0.3)
    F.hardswish({x})|F.hardsigmoid({x})|F.mish({x})|F.logsigmoid({x})|{x}.erf()|{x} ** 2|{x}.square() + 1|{x}.clone()
    {x}.masked_fill({x} > 0.7, {s})|torch.pow({x}.abs() + 0.5, 1.5)|torch.atan2({x}, {y}.abs() + 1)|{x}.detach() * {y}
    F.dropout({x}, 0.0)|{x}.float()|{x}.double()|F.mse_loss({x}, {y}, reduction="none")|{x} * ({x} > 0)
""".strip()
AXES = """
    {x}.sum({r})|{x}.mean({r}, keepdim=True)|{x} - {x}.mean({r}, keepdim=True)|{x}.amax({r}, keepdim=True)|{x}.sum()
    F.softmax({x}, {r})|F.log_softmax({x}, {r})|{x}.var({r}, keepdim=True)|{x}.std({r}, correction=0)|{x}.logsumexp({r})
    {x}.cumsum({r})|{x}.norm(dim={r}, keepdim=True) + {x}|{x}.amin({r})|{x}.prod({r})
    {x} / ({x}.abs().sum({r}, True) + 1)
    F.layer_norm({x}, {x}.shape[-1:])|F.normalize({x}, dim={r})|{x}.flip({r})|{x}.unsqueeze({r})|{x}.roll(1, {r})
    torch.cat([{x}, {y}], {r})|torch.stack([{x}, {y}], {r})|{x}.narrow({r}, 0, 1)|{x}.select({r}, 0)
    {x}.repeat_interleave(2, {r})
    {x}.transpose({r}, 0)|{x}.movedim({r}, 0).contiguous()|{x}.flatten()|{x}.unsqueeze(0).expand(3, *{x}.shape)
    {x}.chunk(2, {r})[0]|{x}.split(1, {r})[-1]|{x}.diff(dim={r})|{x}[..., ::2]|{x}[..., 1:]|{x}[..., :1] * {x}
    F.pad({x}, (1, 2))
    {x}.index_select({r}, torch.tensor([0, 0]))|{x}.gather({r}, torch.zeros_like({x}, dtype=torch.int64))
    {x}.softmax({r}) @ {y}.mT
    torch.nn.functional.rms_norm({x}, {x}.shape[-1:])|F.layer_norm({x}, {x}.shape[-1:], {w}, {w2})|{x} * {w} + {w2}
    F.linear({x}, {m})|F.linear({x}, {m}).relu()|{x} @ {x}.mT|F.glu(torch.cat([{x}, {y}], -1))
    {x}.reshape(-1, {x}.shape[-1])
    {x}.triu()|{x}.tril() + {y}|torch.outer({x}.flatten()[:9], {y}.flatten()[:7])|{x}.sort({r})[0]|{x}.topk(1, {r})[0]
""".strip()
PICTURES = """
    F.max_pool2d({x}, 2)|F.avg_pool2d({x}, 2)|F.conv2d({x}, {k}, padding=1)|F.batch_norm({x}, None, None, training=True)
    F.group_norm({x}, 1)|F.interpolate({x}, scale_factor=2.0)|F.adaptive_avg_pool2d({x}, 1)
    F.pixel_shuffle(torch.cat([{x}] * 4, 1), 2)
    F.instance_norm({x})|{x}.to(memory_format=torch.channels_last) * 2
""".strip()
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33]


def _listed(text):
    return [each.strip() for line in text.splitlines() for each in line.split("|") if each.strip()]


_ANY, _AXES, _PICTURES = _listed(ANY), _listed(AXES), _listed(PICTURES)


class _Draw:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.builder = Builder(seed, self.rng)
        self.dtype = self.rng.choices([torch.float64, torch.float32, torch.bfloat16], [6, 3, 1])[0]
        rank = self.rng.choice([1, 2, 2, 3, 3, 4])
        self.shape = tuple(self.rng.choice(SIZES) for _ in range(rank))
        while torch.Size(self.shape).numel() > 4000:
            self.shape = tuple(max(1, size // 2) for size in self.shape)

    def program(self):
        rng, builder = self.rng, self.builder
        for _ in range(rng.randint(1, 3)):
            self._input(self.shape)
        wanted = rng.choice([2, 3, 5, 8, 12, 20])
        return builder.fill(wanted, 6 * wanted, self._statement)

    def _input(self, shape, values="ordinary"):
        layout = self.rng.choice(list(LAYOUTS)) if self.rng.random() < 0.3 else "contiguous"
        grad = self.rng.random() < 0.7
        facts = {"layout": layout, "values": values, "requires_grad": grad}
        return self.builder.add_input(dtype=self.dtype, shape=tuple(shape), **facts)

    def _like(self, shape):
        """A tensor that can stand beside one of this shape."""
        found = self.builder.pick(lambda t: t.is_floating_point() and t.shape == shape)
        if found is None or self.rng.random() < 0.1:
            stretched = [1 if self.rng.random() < 0.4 else size for size in shape]
            return self._input(stretched[self.rng.randint(0, len(shape)) :] if shape else shape)
        return found

    def _statement(self):
        rng, builder = self.rng, self.builder
        x = builder.pick(lambda t: t.is_floating_point() and t.numel() > 0)
        tensor = builder.values[x]
        templates = [*_ANY, *_AXES] if tensor.dim() else _ANY
        template = rng.choice(_PICTURES if tensor.dim() == 4 and rng.random() < 0.4 else templates)
        shape = tensor.shape
        words = {"x": x, "s": rng.choice([0.5, 2, -1.5, 3.0]), "r": rng.randrange(tensor.dim()) if tensor.dim() else 0}
        if "{y}" in template:
            words["y"] = self._like(shape)
        if "{w}" in template:
            words["w"], words["w2"] = self._input(shape[-1:]), self._input(shape[-1:])
        if "{m}" in template:
            words["m"] = self._input((rng.choice(SIZES), shape[-1]))
        if "{k}" in template:
            words["k"] = self._input((rng.choice([1, 2, 4]), shape[1], 3, 3))
        builder.add(template.format(**words), self._fits)

    @staticmethod
    def _fits(tensor):
        plain = tensor.is_floating_point() and 0 < tensor.numel() <= 20_000 and tensor.dim() <= 6
        return plain and bool(tensor.isfinite().all()) and bool((tensor.abs() < 1e6).all())


def draw(seed):
    """The program of a seed; None where nothing was drawn."""
    return _Draw(seed).program()
