"""Integrators, particles, automata, rays, and cameras."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("later simulation", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def lorenz(state, sigma, rho, beta):
    def slope(state):
        x, y, z = state.unbind(-1)
        return torch.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], -1)

    dt = 0.01
    for _ in range(2):
        k1 = slope(state)
        k2 = slope(state + dt / 2 * k1)
        k3 = slope(state + dt / 2 * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


both(
    "Lorenz by Runge-Kutta",
    lorenz,
    lambda n: [normal(n, 3), 10 + uniform(n), 28 + uniform(n), 2.6 + uniform(n)],
    (64,),
    (4096,),
    (131072,),
)


def morse_energy(x, near, box):
    apart = x[near] - x[:, None]
    apart = apart - box * torch.round(apart / box)
    r = apart.square().sum(-1).add(1e-6).sqrt()
    well = (1 - torch.exp(-1.5 * (r - 1.2))) ** 2 - 1
    switch = torch.where(r < 3.0, (1 - (r / 3.0) ** 2) ** 2, 0.0)
    return 0.5 * (well * switch).sum(-1)


both(
    "Morse energy, neighbour lists",
    morse_energy,
    lambda n, k: [uniform(n, 3, high=8.0), integers(n, n, k), torch.full((3,), 8.0)],
    (32, 8),
    (1024, 16),
    (32768, 16),
)


def game_of_life(cells):
    for _ in range(4):
        around = sum(cells.roll((i, j), (-2, -1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        cells = ((around == 3) | ((around == 2) & (cells == 1))).to(torch.uint8)
    return cells, cells.sum((-2, -1))


add(
    "game of life",
    game_of_life,
    lambda n, h: [integers(2, n, h, h, dtype=torch.uint8)],
    (1, 32),
    (2, 192),
    (7, 500),
)


def blended_spheres(p, centres, radii):
    distances = (p[:, None] - centres).norm(dim=-1) - radii
    return -torch.logsumexp(-8 * distances, -1) / 8


def sphere_tracing(origin, toward, centres, radii):
    t = torch.zeros_like(origin[:, :1])
    for _ in range(4):
        t = t + blended_spheres(origin + t * toward, centres, radii)[:, None]
    inside = blended_spheres(origin + t * toward, centres, radii)
    return t.squeeze(-1).clamp(max=20.0), torch.sigmoid(-40 * inside)


add(
    "rays marched to blended spheres",
    sphere_tracing,
    lambda n, m: [normal(n, 3) * 3, F.normalize(normal(n, 3), dim=-1), normal(m, 3), uniform(m)],
    (64, 4),
    (4096, 8),
    (131072, 8),
)


def ray_boxes(origin, toward, low, high):
    inverse = toward.reciprocal()[:, None]
    t0 = (low - origin[:, None]) * inverse
    t1 = (high - origin[:, None]) * inverse
    near = torch.minimum(t0, t1).amax(-1)
    far = torch.maximum(t0, t1).amin(-1)
    hit = far >= near.clamp(min=0)
    first, which = torch.where(hit, near, float("inf")).min(-1)
    return first, torch.where(hit.any(-1), which, -1), hit.sum(-1)


def _rays_and_boxes(n, m):
    low = normal(m, 3)
    return [normal(n, 3) * 4, F.normalize(normal(n, 3), dim=-1), low, low + uniform(m, 3)]


add("first boxes of rays", ray_boxes, _rays_and_boxes, (16, 8), (512, 48), (8192, 64))


def reprojection(cameras, points, seen, camera, point):
    axis, shift, focal, k1, k2 = cameras[camera].split([3, 3, 1, 1, 1], -1)
    x = points[point]
    angle = axis.norm(dim=-1, keepdim=True).clamp(min=1e-8)
    axis = axis / angle
    x = (
        x * angle.cos()
        + torch.linalg.cross(axis, x) * angle.sin()
        + axis * (axis * x).sum(-1, keepdim=True) * (1 - angle.cos())
        + shift
    )
    xy = -x[:, :2] / x[:, 2:]
    r = xy.square().sum(-1, keepdim=True)
    return F.huber_loss(focal * (1 + r * (k1 + k2 * r)) * xy, seen, reduction="none").sum(-1).mean()


def _bundle(cameras, points, seen):
    ahead = torch.tensor([0.0, 0.0, -5.0]).expand(cameras, 3)
    return [
        torch.cat([normal(cameras, 3) * 0.2, ahead, 1 + uniform(cameras, 1), normal(cameras, 2) * 0.05], 1),
        uniform(points, 3, low=-1.0),
        normal(seen, 2),
        integers(cameras, seen),
        integers(points, seen),
    ]


add(
    "bundle adjustment, trained",
    reprojection,
    _bundle,
    (4, 32, 64),
    (32, 1024, 4096),
    (128, 16384, 150000),
    trained=True,
)


def splat_conics(means, scales, rotations, view):
    w, x, y, z = F.normalize(rotations, dim=-1).unbind(-1)
    turn = torch.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - w * z),
            2 * (x * z + w * y),
            2 * (x * y + w * z),
            1 - 2 * (x * x + z * z),
            2 * (y * z - w * x),
            2 * (x * z - w * y),
            2 * (y * z + w * x),
            1 - 2 * (x * x + y * y),
        ],
        -1,
    ).unflatten(-1, (3, 3))
    half = turn * scales.exp()[:, None]
    u, v, depth = (means @ view[:3, :3].T + view[:3, 3]).unbind(-1)
    depth = depth.clamp(min=0.2)
    zero = torch.zeros_like(depth)
    jacobian = torch.stack([1 / depth, zero, -u / depth**2, zero, 1 / depth, -v / depth**2], -1).view(-1, 2, 3)
    flat = torch.einsum("nij,jk,nkl->nil", jacobian, view[:3, :3], half)
    a, b, c = flat[:, 0].square().sum(-1), (flat[:, 0] * flat[:, 1]).sum(-1), flat[:, 1].square().sum(-1)
    a, c = a + 0.3, c + 0.3
    determinant = a * c - b * b
    middle = 0.5 * (a + c)
    radius = 3 * (middle + (middle * middle - determinant).clamp(min=0.1).sqrt()).sqrt()
    return torch.stack([u / depth, v / depth], -1), torch.stack([c, -b, a], -1) / determinant[:, None], radius


both(
    "conics of splats",
    splat_conics,
    lambda n: [normal(n, 3) + torch.tensor([0.0, 0.0, 4.0]), normal(n, 3) - 2, normal(n, 4), torch.eye(4)[:3]],
    (64,),
    (4096,),
    (131072,),
)


def red_black(u, source):
    rows = torch.arange(u.shape[0], device=u.device)[:, None]
    columns = torch.arange(u.shape[1], device=u.device)
    red = (rows + columns) % 2 == 0

    def around(u):
        p = F.pad(u, (1, 1, 1, 1))
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]

    for mask in (red, ~red, red, ~red):
        u = torch.where(mask, (around(u) - source) / 4, u)
    return u, (around(u) - 4 * u - source).abs().max()


add(
    "red and black relaxation",
    red_black,
    lambda h, w: [normal(h, w), normal(h, w)],
    (17, 23),
    (177, 200),
    (767, 901),
)
