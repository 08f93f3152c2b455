"""Image input, detection, and bytes with scales."""

import torch
import torch.nn.functional as F

from ..program import Table, boxes, integers, normal, uniform

TABLE = Table("further images", tolerance=1e-4)
add = TABLE.add


# Image input


def train_transform(img, mean, std):
    x = img.permute(2, 0, 1).flip(-1).float() / 255
    x = F.pad(x[None], (4, 4, 4, 4), mode="reflect")[0][:, 3:-5, 2:-6]
    return (x - mean) / std


add(
    "image: flip, reflect, crop, normalise",
    train_transform,
    lambda h: [
        integers(256, h, h, 3, dtype=torch.uint8),
        uniform(3, 1, 1),
        uniform(3, 1, 1) + 0.5,
    ],
    (32,),
    (256,),
    (4096,),
)


def rotated_batch(x):
    return torch.stack([x, x.rot90(1, (-2, -1)), x.rot90(2, (-2, -1)), x.rot90(3, (-2, -1))], 0)


add(
    "four rotations",
    rotated_batch,
    lambda n, h: [normal(n, 3, h, h)],
    (1, 32),
    (4, 128),
    (128, 128),
)


def rot_loss(x, w):
    return ((x.rot90(1, (-2, -1)) * w).square()).mean()


add(
    "rotated, weighted, trained",
    rot_loss,
    lambda n, h: [normal(n, 3, h, h), normal(h, h)],
    (1, 32),
    (4, 128),
    (128, 128),
    trained=True,
)


def box_blur(x):
    p = F.pad(x, (1, 1, 1, 1), mode="replicate")
    h, w = x.shape[-2:]
    return sum(p[..., i : i + h, j : j + w] for i in range(3) for j in range(3)) / 9


add(
    "box blur, replicate",
    box_blur,
    lambda n, h: [normal(n, 3, h, h)],
    (1, 32),
    (4, 192),
    (64, 192),
)


def sobel(x):
    p = F.pad(x, (1, 1, 1, 1), mode="reflect")
    a, b, c = p[..., :-2, :], p[..., 1:-1, :], p[..., 2:, :]
    gx = (a[..., 2:] - a[..., :-2]) + 2 * (b[..., 2:] - b[..., :-2]) + (c[..., 2:] - c[..., :-2])
    gy = (c[..., 2:] - a[..., 2:]) + 2 * (c[..., 1:-1] - a[..., 1:-1]) + (c[..., :-2] - a[..., :-2])
    return (gx * gx + gy * gy + 1e-6).sqrt()


add("Sobel, reflect", sobel, lambda n, h: [normal(n, 1, h, h)], (1, 32), (4, 256), (128, 256))
add(
    "Sobel, reflect, trained",
    sobel,
    lambda n, h: [normal(n, 1, h, h)],
    (1, 32),
    (4, 256),
    (128, 256),
    trained=True,
)


def circ_stencil(u):
    for _ in range(3):
        p = F.pad(u[None, None], (1, 1, 1, 1), mode="circular")[0, 0]
        u = u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
    return u


add("stencil, circular", circ_stencil, lambda h: [normal(h, h)], (64,), (384,), (3072,))


def yuv(x):
    r, g, b = x.float().div(255).unbind(-1)
    y = 0.299 * r + 0.587 * g + 0.114 * b
    return torch.stack([y, (b - y) * 0.564 + 0.5, (r - y) * 0.713 + 0.5], -1)


add(
    "bytes HWC to YUV",
    yuv,
    lambda n, h: [integers(256, n, h, h, 3, dtype=torch.uint8)],
    (1, 32),
    (4, 224),
    (128, 224),
)


def hsv_shift(img, shift):
    r, g, b = img.unbind(-3)
    mx, mn = img.amax(-3), img.amin(-3)
    d = mx - mn
    s = torch.where(mx > 0, d / mx.clamp(min=1e-8), torch.zeros_like(mx))
    dd = torch.where(d > 0, d, torch.ones_like(d))
    h = (
        torch.where(
            mx == r,
            ((g - b) / dd) % 6,
            torch.where(mx == g, (b - r) / dd + 2, (r - g) / dd + 4),
        )
        / 6
    )
    h = (h + shift) % 1
    i = torch.floor(h * 6)
    f = h * 6 - i
    p = mx * (1 - s)
    q = mx * (1 - s * f)
    t = mx * (1 - s * (1 - f))
    i = i.long() % 6
    mask = i[None] == torch.arange(6, device=i.device).view(-1, 1, 1, 1)
    rr = (torch.stack([mx, q, p, p, t, mx]) * mask).sum(0)
    gg = (torch.stack([t, mx, mx, q, p, p]) * mask).sum(0)
    bb = (torch.stack([p, p, t, mx, mx, q]) * mask).sum(0)
    return torch.stack([rr, gg, bb], -3)


add(
    "hue shifted",
    hsv_shift,
    lambda n, h: [uniform(n, 3, h, h), uniform(1)],
    (1, 32),
    (4, 160),
    (128, 160),
    tolerance=1e-2,
)


def posterize(x):
    q = (x.float() * (15 / 255)).round()
    return (q * 17).clamp(0, 255).to(torch.uint8)


add(
    "posterised bytes",
    posterize,
    lambda n, h: [integers(256, n, 3, h, h, dtype=torch.uint8)],
    (1, 32),
    (4, 224),
    (128, 224),
)


# Quantisation


def affine_quant(x):
    lo, hi = (
        x.amin(-1, keepdim=True).clamp(max=0),
        x.amax(-1, keepdim=True).clamp(min=0),
    )
    s = (hi - lo).clamp(min=1e-8) / 255
    z = (-lo / s).round()
    q = (x / s + z).round().clamp(0, 255).to(torch.uint8)
    return q, s, z.to(torch.uint8)


add(
    "affine bytes by rows",
    affine_quant,
    lambda n, m: [normal(n, m)],
    (16, 64),
    (256, 1024),
    (8192, 1024),
    tolerance=1e-2,
)


def sym_int8(x):
    s = x.abs().amax(-1, keepdim=True) / 127
    return (x / s).round().clamp(-127, 127).to(torch.int8), s


add(
    "symmetric int8 by rows",
    sym_int8,
    lambda n, m: [normal(n, m)],
    (16, 64),
    (256, 1024),
    (8192, 1024),
    tolerance=1e-2,
)


def dequant_groups(q, s, z):
    n, m = q.shape
    g = q.view(n, m // 32, 32).float()
    return ((g - z[..., None].float()) * s[..., None]).view(n, m)


add(
    "bytes by groups to floats",
    dequant_groups,
    lambda n, m: [
        integers(256, n, m, dtype=torch.uint8),
        uniform(n, m // 32),
        integers(256, n, m // 32, dtype=torch.uint8),
    ],
    (16, 64),
    (256, 2048),
    (8192, 2048),
)


# Vision and detection


def giou_matrix(a, b):
    lt, rb = (
        torch.maximum(a[:, None, :2], b[:, :2]),
        torch.minimum(a[:, None, 2:], b[:, 2:]),
    )
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    aa = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    bb = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    u = aa[:, None] + bb - inter
    lt2, rb2 = (
        torch.minimum(a[:, None, :2], b[:, :2]),
        torch.maximum(a[:, None, 2:], b[:, 2:]),
    )
    c = (rb2 - lt2).prod(-1)
    return inter / u - (c - u) / c


add(
    "pairs of boxes, generalised",
    giou_matrix,
    lambda n, m: [boxes(n), boxes(m)],
    (32, 8),
    (1024, 128),
    (32768, 128),
)


def yolo_decode(x, anchors):
    h, w = x.shape[2:4]
    gy, gx = torch.meshgrid(
        torch.arange(h, device=x.device),
        torch.arange(w, device=x.device),
        indexing="ij",
    )
    grid = torch.stack([gx, gy], -1).to(x.dtype)
    xy = (x[..., :2].sigmoid() * 2 - 0.5 + grid) * 8
    wh = (x[..., 2:4].sigmoid() * 2) ** 2 * anchors[None, :, None, None]
    return torch.cat([xy, wh, x[..., 4:].sigmoid()], -1).flatten(1, 3)


add(
    "decoded grid of boxes",
    yolo_decode,
    lambda n, h, c: [normal(n, 3, h, h, c), uniform(3, 2)],
    (1, 8, 9),
    (4, 32, 25),
    (128, 32, 25),
)


def dice(x, y):
    p = x.softmax(1)
    t = F.one_hot(y, x.shape[1]).permute(0, 3, 1, 2).to(x.dtype)
    i = (p * t).sum((2, 3))
    s = (p + t).sum((2, 3))
    return 1 - ((2 * i + 1) / (s + 1)).mean()


add(
    "dice, trained",
    dice,
    lambda n, c, h: [normal(n, c, h, h), integers(c, n, h, h)],
    (1, 4, 16),
    (4, 8, 96),
    (128, 8, 96),
    trained=True,
)


def pixel_shuffle_act(x, b):
    return F.leaky_relu(F.pixel_shuffle(x + b[:, None, None], 2), 0.2)


add(
    "pixel shuffle, leaky relu",
    pixel_shuffle_act,
    lambda n, c, h: [normal(n, c, h, h), normal(c)],
    (1, 16, 16),
    (2, 64, 64),
    (32, 64, 64),
)
add(
    "pixel shuffle, leaky relu, trained",
    pixel_shuffle_act,
    lambda n, c, h: [normal(n, c, h, h), normal(c)],
    (1, 16, 16),
    (2, 64, 64),
    (32, 64, 64),
    trained=True,
)
