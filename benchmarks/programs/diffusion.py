"""Blocks of diffusion models and their samplers' steps."""

import math

import torch
import torch.nn.functional as F

from .program import Table, integers, normal, uniform

TABLE = Table("diffusion")


def timestep_embedding(t, w1, b1, w2, b2):
    half = 128
    rates = torch.exp(-math.log(10000) * torch.arange(half, device=t.device, dtype=w1.dtype) / half)
    angle = t[:, None].to(w1.dtype) * rates
    x = torch.cat([angle.cos(), angle.sin()], -1)
    return F.silu(x @ w1 + b1) @ w2 + b2


def adaptive_norm(x, condition, w, b):
    shift, scale, gate = (F.silu(condition) @ w + b).chunk(3, -1)
    normed = F.layer_norm(x, x.shape[-1:])
    return x + gate[:, None] * F.gelu(normed * (1 + scale[:, None]) + shift[:, None], approximate="tanh")


def euler_step(x, velocity, sigma, following):
    denoised = x - sigma * velocity
    slope = (x - denoised) / sigma
    return x + slope * (following - sigma), denoised


def ddim_step(x, noise, alphas, t, before):
    now, then = alphas[t][:, None, None, None], alphas[before][:, None, None, None]
    start = ((x - (1 - now).sqrt() * noise) / now.sqrt()).clamp(-3, 3)
    return then.sqrt() * start + (1 - then).sqrt() * noise


def guided_noise(both, scale):
    """Classifier-free guidance with its deviation put back."""
    with_text, without = both.chunk(2)
    guided = without + scale * (with_text - without)
    ratio = with_text.std((1, 2, 3), keepdim=True) / guided.std((1, 2, 3), keepdim=True)
    return torch.lerp(guided, guided * ratio, 0.7)


def noise_loss(x, noise, alphas, t, predicted):
    level = alphas[t][:, None, None, None]
    noisy = level.sqrt() * x + (1 - level).sqrt() * noise
    target = level.sqrt() * noise - (1 - level).sqrt() * x
    weight = (level / (1 - level)).clamp(max=5)
    return (weight * (predicted * noisy - target).square()).mean()


def _adaptive(n, tokens, w):
    return [normal(n, tokens, w), normal(n, w), normal(w, 3 * w) / w**0.5, normal(3 * w)]


def _latents(n, h):
    return [normal(n, 4, h, h), normal(n, 4, h, h)]


def _levels(n, h):
    return [*_latents(n, h), uniform(1000, low=0.05, high=0.95), integers(1000, n)]


TABLE.add(
    "timestep embedding",
    timestep_embedding,
    lambda n, w: [integers(1000, n), normal(256, w) / 16, normal(w), normal(w, w) / w**0.5, normal(w)],
    (4, 64),
    (32, 512),
    (1024, 1024),
    tolerance=1e-3,
)
TABLE.add("adaptive layer norm", adaptive_norm, _adaptive, (1, 16, 64), (4, 64, 384), (16, 1024, 768))
TABLE.add(
    "adaptive layer norm, trained", adaptive_norm, _adaptive, (1, 16, 64), (4, 64, 384), (16, 1024, 768), trained=True
)
TABLE.add(
    "Euler step",
    euler_step,
    lambda n, h: [*_latents(n, h), uniform(n, 1, 1, 1) + 1, uniform(n, 1, 1, 1)],
    (1, 16),
    (8, 64),
    (64, 128),
)
TABLE.add("DDIM step", ddim_step, lambda n, h: [*_levels(n, h), integers(1000, n)], (1, 16), (8, 64), (64, 128))
TABLE.add(
    "guided noise",
    guided_noise,
    lambda n, h: [normal(2 * n, 4, h, h), uniform(n, 1, 1, 1)],
    (1, 16),
    (8, 64),
    (64, 128),
)
TABLE.add(
    "noise loss, trained",
    noise_loss,
    lambda n, h: [*_levels(n, h), normal(n, 4, h, h)],
    (1, 16),
    (8, 64),
    (64, 128),
    trained=True,
)
