"""Augmentation, colours, flow, depth, and what comes before and after a detector."""

import torch
import torch.nn.functional as F

from ..program import Table, boxes, integers, normal, uniform

TABLE = Table("later pictures", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def turned_and_zoomed(x, angle, zoom):
    c, s = angle.cos() * zoom, angle.sin() * zoom
    zero = torch.zeros_like(c)
    theta = torch.stack([c, -s, zero, s, c, zero], -1).view(-1, 2, 3)
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


add(
    "turned and zoomed",
    turned_and_zoomed,
    lambda n, h: [uniform(n, 3, h, h), normal(n), 0.8 + uniform(n) * 0.4],
    (1, 24),
    (4, 96),
    (32, 224),
)


def flow_loss(first, second, flow):
    _, _, h, w = first.shape
    ys, xs = torch.meshgrid(
        torch.linspace(-1, 1, h, device=flow.device, dtype=flow.dtype),
        torch.linspace(-1, 1, w, device=flow.device, dtype=flow.dtype),
        indexing="ij",
    )
    grid = torch.stack([xs, ys], -1) + flow.permute(0, 2, 3, 1) * 2 / max(h, w)
    warped = F.grid_sample(second, grid, align_corners=True)
    inside = (grid.abs() <= 1).all(-1)[:, None]
    light = (((warped - first) ** 2 + 1e-6) ** 0.45 * inside).sum() / inside.sum().clamp(min=1)
    edges_x = torch.exp(-10 * first.diff(dim=-1).abs().mean(1, keepdim=True))
    edges_y = torch.exp(-10 * first.diff(dim=-2).abs().mean(1, keepdim=True))
    smooth = (flow.diff(dim=-1).abs() * edges_x).mean() + (flow.diff(dim=-2).abs() * edges_y).mean()
    return light + 0.1 * smooth


both(
    "photometric loss of a flow",
    flow_loss,
    lambda n, h, w: [uniform(n, 3, h, w), uniform(n, 3, h, w), normal(n, 2, h, w)],
    (1, 20, 28),
    (2, 96, 80),
    (8, 192, 208),
)


def bilateral(x):
    n, c, h, w = x.shape
    near = F.unfold(F.pad(x, (2, 2, 2, 2), mode="reflect"), 5).view(n, c, 25, h, w)
    steps = torch.arange(-2, 3, device=x.device)
    space = (steps[:, None] ** 2 + steps**2).flatten()[:, None, None] / (2 * 1.5**2)
    weight = torch.exp(-((near - x[:, :, None]) ** 2) / 0.02 - space)
    return (weight * near).sum(2) / weight.sum(2)


add("bilateral filter", bilateral, lambda n, h: [uniform(n, 1, h, h)], (1, 24), (2, 72), (4, 224))


def lab(image):
    c = image.float() / 255
    c = torch.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = torch.tensor(
        [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]], device=image.device
    )
    xyz = c @ to_xyz.T / torch.tensor([0.9505, 1.0, 1.089], device=image.device)
    f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-8) ** (1 / 3), 7.787 * xyz + 16 / 116)
    x, y, z = f.unbind(-1)
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


add(
    "bytes to Lab",
    lab,
    lambda n, h: [integers(256, n, h, h, 3, dtype=torch.uint8)],
    (1, 24),
    (2, 100),
    (3, 500),
)


def equalised(x):
    flat = x.flatten(1).long()
    counts = torch.zeros(x.shape[0], 256, dtype=torch.int64, device=x.device)
    counts = counts.scatter_add(1, flat, torch.ones_like(flat))
    below = counts.cumsum(1)
    least = torch.where(counts > 0, below, below[:, -1:]).amin(1, keepdim=True)
    table = (below - least) * 255 / (below[:, -1:] - least).clamp(min=1)
    return table.round().clamp(0, 255).to(torch.uint8).gather(1, flat).view_as(x)


add(
    "histograms equalised",
    equalised,
    lambda n, h: [integers(200, n, h, h, dtype=torch.uint8)],
    (1, 24),
    (4, 128),
    (32, 384),
)


def letterbox(frame):
    h, w, _ = frame.shape
    x = frame.permute(2, 0, 1)[None].float()
    x = F.interpolate(x, size=(h // 2, w // 2), mode="bilinear", align_corners=False)
    band = (w // 2 - h // 2) // 2
    x = F.pad(x, (0, 0, band, w // 2 - h // 2 - band), value=114.0)
    return (x / 255).flip(1).half()


add(
    "letterbox",
    letterbox,
    lambda h, w: [integers(256, h, w, 3, dtype=torch.uint8)],
    (36, 64),
    (180, 320),
    (1080, 1920),
)


def aligned_assignment(scores, predicted, true, labels, real):
    low = torch.maximum(predicted[:, None, :, :2], true[:, :, None, :2])
    high = torch.minimum(predicted[:, None, :, 2:], true[:, :, None, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (predicted[..., 2:] - predicted[..., :2]).prod(-1)[:, None]
    area = area + (true[..., 2:] - true[..., :2]).prod(-1)[:, :, None]
    overlap = shared / (area - shared + 1e-9)
    picked = scores.transpose(1, 2).gather(1, labels[..., None].expand(-1, -1, scores.shape[1]))
    metric = picked.sigmoid().sqrt() * overlap**6 * real[..., None]
    best = metric.topk(10, -1).indices
    chosen = torch.zeros_like(metric).scatter(-1, best, 1.0) * (metric > 1e-9)
    only = F.one_hot(overlap.argmax(1), true.shape[1]).transpose(1, 2)
    chosen = torch.where(chosen.sum(1, keepdim=True) > 1, chosen * only, chosen)
    positive = chosen.sum(1) > 0
    owner = chosen.argmax(1)
    target = torch.where(positive, labels.gather(1, owner), scores.shape[-1])
    weight = (chosen * metric / metric.amax(-1, keepdim=True).clamp(min=1e-9)).amax(1)
    return target, true.gather(1, owner[..., None].expand(-1, -1, 4)), weight


add(
    "anchors assigned by alignment",
    aligned_assignment,
    lambda n, anchors, true, classes: [
        normal(n, anchors, classes),
        boxes(n * anchors).view(n, anchors, 4),
        boxes(n * true).view(n, true, 4),
        integers(classes, n, true),
        integers(4, n, true) > 0,
    ],
    (1, 64, 4, 5),
    (2, 840, 8, 20),
    (8, 8400, 16, 80),
)


def normals_loss(depth, focal, true, valid):
    _, h, w = depth.shape
    v = torch.arange(h, device=depth.device).view(1, h, 1) - h / 2
    u = torch.arange(w, device=depth.device).view(1, 1, w) - w / 2
    focal = focal[:, None, None]
    points = torch.stack([u * depth / focal, v * depth / focal, depth], -1)
    across = points[:, 1:-1, 2:] - points[:, 1:-1, :-2]
    down = points[:, 2:, 1:-1] - points[:, :-2, 1:-1]
    normals = F.normalize(torch.cross(across, down, dim=-1), dim=-1)
    cosine = F.cosine_similarity(normals, true, dim=-1)
    return torch.where(valid, 1 - cosine, 0.0).sum() / valid.sum().clamp(min=1), normals


both(
    "normals of depth",
    normals_loss,
    lambda n, h: [
        1 + uniform(n, h, h),
        50 + uniform(n),
        normal(n, h - 2, h - 2, 3),
        integers(3, n, h - 2, h - 2) > 0,
    ],
    (1, 24),
    (1, 96),
    (3, 320),
)


def cut_and_mixed(x, labels, corner, extent):
    n, _, h, w = x.shape
    ys = torch.arange(h, device=x.device).view(1, h, 1)
    xs = torch.arange(w, device=x.device).view(1, 1, w)
    y0, x0 = corner.view(n, 2, 1, 1).unbind(1)
    dy, dx = extent.view(n, 2, 1, 1).unbind(1)
    mask = (ys >= y0) & (ys < y0 + dy) & (xs >= x0) & (xs < x0 + dx)
    mixed = torch.where(mask[:, None], x.roll(1, 0), x)
    share = mask.flatten(1).float().mean(1, keepdim=True)
    one_hot = F.one_hot(labels, 100).float()
    return mixed, one_hot * (1 - share) + one_hot.roll(1, 0) * share


add(
    "cut and mixed",
    cut_and_mixed,
    lambda n, h: [uniform(n, 3, h, h), integers(100, n), integers(h, n, 2), integers(h // 2, n, 2)],
    (2, 16),
    (8, 64),
    (64, 160),
)
