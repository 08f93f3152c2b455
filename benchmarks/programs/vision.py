"""Images in, detectors' boxes, upsampling, norms beside convolutions, colours."""

import torch
import torch.nn.functional as F

from .program import Table, boxes, channels_last, integers, normal, uniform

TABLE = Table("vision")


def normalized_planes(image, mean, scale):
    """Bytes [n, h, w, 3] to floats [n, 3, h, w]."""
    return ((image.permute(0, 3, 1, 2).float() / 255 - mean) * scale).contiguous()


def normalized_channels_last(image, mean, scale):
    x = (image.permute(0, 3, 1, 2).float() / 255 - mean) * scale
    return x.contiguous(memory_format=torch.channels_last)


def intersection_over_union(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]) for box in (a, b)]
    return shared / (areas[0][:, None] + areas[1][None] - shared)


def decoded_anchors(moves, anchors, scores):
    size = anchors[:, 2:] - anchors[:, :2]
    centre = anchors[:, :2] + 0.5 * size + moves[..., :2] * size
    half = 0.5 * size * moves[..., 2:].clamp(max=4.0).exp()
    found, label = scores.sigmoid().max(-1)
    return torch.cat([centre - half, centre + half], -1).clamp(0, 1), found, label


def sampling_grid(turn):
    """Coordinates of each pixel of a batch of turned images, as grid_sample reads them."""
    n, h, w = turn.shape[0], 128, 128
    y, x = torch.meshgrid(
        torch.linspace(-1, 1, h, device=turn.device, dtype=turn.dtype),
        torch.linspace(-1, 1, w, device=turn.device, dtype=turn.dtype),
        indexing="ij",
    )
    at = torch.stack([x, y, torch.ones_like(x)], -1).view(1, h, w, 1, 3)
    return (at * turn.view(n, 1, 1, 2, 3)).sum(-1)


def upsampled_sum(fine, coarse):
    return F.relu(fine + F.interpolate(coarse, scale_factor=2, mode="nearest"))


def bilinear_blend(fine, coarse, weight):
    wide = F.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
    return torch.lerp(fine, wide, weight.sigmoid())


def residual_block(x, w1, g1, b1, w2, g2, b2):
    y = F.silu(F.group_norm(x, 8, g1, b1))
    y = F.conv2d(y, w1, padding=1)
    y = F.silu(F.group_norm(y, 8, g2, b2))
    return x + F.conv2d(y, w2, padding=1)


def scaled_residual(x, shortcut, scale, shift):
    """A folded batch norm, a shortcut and a relu, channels last."""
    return F.relu(x * scale[:, None, None] + shift[:, None, None] + shortcut)


def squeeze_excite(x, down, up):
    pooled = x.mean((2, 3))
    gate = torch.sigmoid(F.silu(pooled @ down) @ up)
    return x * gate[:, :, None, None]


def hue_and_value(image):
    red, green, blue = image.unbind(1)
    most, least = image.amax(1), image.amin(1)
    span = most - least
    safe = torch.where(span == 0, 1.0, span)
    hue = torch.where(
        most == red,
        (green - blue) / safe % 6,
        torch.where(most == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    return torch.stack([hue / 6, span / (most + 1e-6), most], 1)


def brightness_and_contrast(image, gain, contrast):
    grey = (image * image.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    x = image * gain
    mean = (grey * gain).mean((1, 2, 3), keepdim=True)
    return (mean + (x - mean) * contrast).clamp(0, 1)


def patches(image, weight, bias):
    n, c, h, w = image.shape
    x = image.view(n, c, h // 8, 8, w // 8, 8).permute(0, 2, 4, 1, 3, 5).reshape(n, -1, c * 64)
    return F.gelu(F.layer_norm(x, (c * 64,)) @ weight + bias)


def _bytes(n, h):
    return [integers(256, n, h, h, 3, dtype=torch.uint8), uniform(3, 1, 1), uniform(3, 1, 1, low=1, high=5)]


def _block(n, c, h):
    weights = [normal(c, c, 3, 3) / (3 * c**0.5), normal(c), normal(c)]
    return [normal(n, c, h, h), *weights, normal(c, c, 3, 3) / (3 * c**0.5), normal(c), normal(c)]


def _last(inputs):
    return [channels_last(x) if x.dim() == 4 else x for x in inputs]


TABLE.add("bytes to normalised planes", normalized_planes, _bytes, (1, 32), (4, 224), (32, 512))
TABLE.add("bytes to floats, channels last", normalized_channels_last, _bytes, (1, 32), (4, 224), (32, 512))
TABLE.add(
    "boxes against boxes",
    intersection_over_union,
    lambda n, m: [boxes(n), boxes(m)],
    (64, 32),
    (1024, 256),
    (8192, 1024),
)
TABLE.add(
    "anchors decoded",
    decoded_anchors,
    lambda n, m: [normal(n, m, 4) * 0.2, boxes(m), normal(n, m, 20)],
    (1, 128),
    (4, 4096),
    (16, 16384),
)
TABLE.add("grid of turned images", sampling_grid, lambda n: [normal(n, 2, 3)], (1,), (8,), (128,))
_pyramid = lambda n, c, h: [normal(n, c, 2 * h, 2 * h), normal(n, c, h, h)]  # noqa: E731
TABLE.add("upsampled and added", upsampled_sum, _pyramid, (1, 16, 8), (2, 64, 32), (16, 64, 128))
TABLE.add("upsampled and added, trained", upsampled_sum, _pyramid, (1, 16, 8), (2, 64, 32), (16, 64, 128), trained=True)
TABLE.add(
    "bilinear blend",
    bilinear_blend,
    lambda n, c, h: [*_pyramid(n, c, h), normal(c, 1, 1)],
    (1, 16, 8),
    (2, 64, 32),
    (16, 64, 128),
)
TABLE.add("residual block, group norm", residual_block, _block, (1, 16, 16), (2, 64, 32), (8, 128, 64), tolerance=1e-4)
TABLE.add(
    "residual block, trained",
    residual_block,
    _block,
    (1, 16, 16),
    (2, 64, 32),
    (8, 128, 64),
    trained=True,
    tolerance=1e-4,
)
TABLE.add(
    "residual block, channels last",
    residual_block,
    lambda *sizes: _last(_block(*sizes)),
    (1, 16, 16),
    (2, 64, 32),
    (8, 128, 64),
    tolerance=1e-4,
)
TABLE.add(
    "scale, shortcut, relu, channels last",
    scaled_residual,
    lambda n, c, h: [*_last([normal(n, c, h, h), normal(n, c, h, h)]), normal(c), normal(c)],
    (1, 32, 16),
    (4, 64, 56),
    (32, 128, 112),
)
TABLE.add(
    "squeeze and excite",
    squeeze_excite,
    lambda n, c, h: [normal(n, c, h, h), normal(c, c // 4), normal(c // 4, c)],
    (1, 32, 14),
    (8, 96, 28),
    (64, 128, 56),
)
TABLE.add("hue, saturation, value", hue_and_value, lambda n, h: [uniform(n, 3, h, h)], (1, 32), (4, 224), (32, 512))
TABLE.add(
    "brightness and contrast",
    brightness_and_contrast,
    lambda n, h: [uniform(n, 3, h, h), uniform(n, 1, 1, 1), uniform(n, 1, 1, 1)],
    (1, 32),
    (4, 224),
    (32, 512),
)
TABLE.add(
    "patches, norm, product",
    patches,
    lambda n, h: [normal(n, 3, h, h), normal(192, 64) / 14, normal(64)],
    (1, 32),
    (4, 224),
    (32, 512),
)
