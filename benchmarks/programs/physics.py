"""Forces between pairs, stencils by shifts and by slices, waves, heat."""

import torch

from .program import Table, normal, uniform

TABLE = Table("physics")


def pairwise_forces(x, mass):
    apart = x[None] - x[:, None]
    square = (apart * apart).sum(-1) + 1e-2
    return (apart * (mass[None] * square.rsqrt() / square)[..., None]).sum(1)


def n_body_step(x, v, mass):
    a = pairwise_forces(x, mass)
    v = v + 0.01 * a
    return x + 0.01 * v, v


def lennard_jones_energy(x):
    square = (x[None] - x[:, None]).square().sum(-1) + torch.eye(x.shape[0], device=x.device)
    sixth = square.reciprocal().pow(3)
    return (4 * (sixth * sixth - sixth)).sum() * 0.5


def heat_by_roll(u):
    for _ in range(4):
        u = u + 0.1 * (u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1) - 4 * u)
    return u


def heat_by_slices(u):
    middle = u[1:-1, 1:-1]
    near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return middle + 0.1 * (near - 4 * middle)


def wave_in_a_box(u, before, speed):
    padded = torch.nn.functional.pad(u, (1, 1, 1, 1))
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * u
    return 2 * u - before + speed * speed * around, u


def upwind_advection(u, wind):
    left, right = u - u.roll(1, -1), u.roll(-1, -1) - u
    return u - 0.1 * (wind.clamp(min=0) * left + wind.clamp(max=0) * right)


def gradient_energy(u):
    """The energy of a field and, trained, its gradient: slices backward."""
    return ((u[1:] - u[:-1]).square().sum() + (u[:, 1:] - u[:, :-1]).square().sum()) * 0.5 + (u**4).sum() * 0.1


TABLE.add("pairwise forces", pairwise_forces, lambda n: [normal(n, 3), uniform(n)], (64,), (512,), (2048,))
TABLE.add("n-body step", n_body_step, lambda n: [normal(n, 3), normal(n, 3), uniform(n)], (64,), (512,), (2048,))
TABLE.add(
    "Lennard-Jones forces, trained",
    lennard_jones_energy,
    lambda n: [normal(n, 3) * n ** (1 / 3)],
    (64,),
    (384,),
    (1536,),
    trained=True,
)
TABLE.add("heat, four steps by roll", heat_by_roll, lambda n: [normal(n, n)], (64,), (512,), (4096,))
TABLE.add("heat by slices", heat_by_slices, lambda n: [normal(n, n)], (66,), (514,), (4098,))
TABLE.add("wave in a box", wave_in_a_box, lambda n: [normal(n, n), normal(n, n), uniform(n, n)], (64,), (512,), (4096,))
TABLE.add(
    "upwind advection",
    upwind_advection,
    lambda n, m: [normal(n, m), normal(n, m)],
    (16, 256),
    (256, 1024),
    (4096, 4096),
)
TABLE.add("energy of a field, trained", gradient_energy, lambda n: [normal(n, n)], (64,), (512,), (3072,), trained=True)
