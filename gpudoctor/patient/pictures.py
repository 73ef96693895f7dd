"""Pictures drawn on the spot, alike every time: ten digits, or ten pieces of clothing, as strokes of a pen."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def arc(x: float, y: float, width: float, height: float, start: int, stop: int) -> list[tuple[float, float]]:
    """Points on an ellipse around (x, y); angles in degrees, clockwise from the right."""
    angles = [math.radians(start + (stop - start) * i / 12) for i in range(13)]
    return [(x + width * math.cos(angle), y + height * math.sin(angle)) for angle in angles]


# The pen strokes of each kind, x to the right and y down, both from -1 to 1.
DIGITS: list[list[list[tuple[float, float]]]] = [
    [arc(0, 0, 0.4, 0.65, 0, 360)],
    [[(-0.2, -0.45), (0.05, -0.65), (0.05, 0.65)]],
    [arc(0, -0.3, 0.38, 0.35, -170, 30) + [(-0.4, 0.65), (0.42, 0.65)]],
    [arc(0, -0.33, 0.36, 0.32, -150, 90), arc(0, 0.32, 0.4, 0.33, -90, 150)],
    [[(0.2, 0.65), (0.2, -0.65), (-0.42, 0.25), (0.45, 0.25)]],
    [[(0.38, -0.65), (-0.3, -0.65), (-0.34, -0.08)] + arc(0, 0.25, 0.4, 0.4, -130, 140)],
    [[(0.25, -0.65), (-0.2, -0.2)] + arc(0, 0.28, 0.38, 0.37, -170, 190)],
    [[(-0.4, -0.65), (0.4, -0.65), (-0.1, 0.65)]],
    [arc(0, -0.33, 0.32, 0.32, 0, 360), arc(0, 0.33, 0.38, 0.33, 0, 360)],
    [arc(0, -0.28, 0.37, 0.37, 0, 360) + [(0.25, 0.65)]],
]
BODY = [(-0.3, -0.5), (-0.3, 0.6), (0.3, 0.6), (0.3, -0.5)]
SHOULDERS = [(-0.3, -0.5), (-0.12, -0.6), (0.12, -0.6), (0.3, -0.5)]
# In the order of Fashion-MNIST's labels: shirts first, an ankle boot last.
CLOTHES: list[list[list[tuple[float, float]]]] = [
    [BODY, SHOULDERS, [(-0.3, -0.5), (-0.65, -0.2)], [(0.3, -0.5), (0.65, -0.2)]],
    [
        [(-0.3, 0.65), (-0.25, -0.6), (0.25, -0.6), (0.3, 0.65)],
        [(0, -0.2), (-0.1, 0.65)],
        [(0, -0.2), (0.1, 0.65)],
    ],
    [BODY, SHOULDERS, [(-0.3, -0.5), (-0.6, 0.55)], [(0.3, -0.5), (0.6, 0.55)], [(-0.3, 0.4), (0.3, 0.4)]],
    [[(-0.15, -0.65), (-0.1, -0.1), (-0.45, 0.65), (0.45, 0.65), (0.1, -0.1), (0.15, -0.65)]],
    [BODY, SHOULDERS, [(-0.3, -0.5), (-0.6, 0.55)], [(0.3, -0.5), (0.6, 0.55)], [(0, -0.6), (0, 0.6)]],
    [[(-0.65, 0.35), (0.65, 0.45)], [(-0.2, 0.35), (0.15, 0), (0.4, 0.4)], [(-0.6, 0.3), (-0.45, -0.05)]],
    [
        BODY,
        SHOULDERS,
        [(-0.1, -0.6), (0, -0.3), (0.1, -0.6)],
        [(-0.3, -0.5), (-0.65, 0.1)],
        [(0.3, -0.5), (0.65, 0.1)],
    ],
    [[(-0.65, 0.4), (0.65, 0.4), (0.6, 0.15), (0.1, 0), (-0.1, -0.2), (-0.65, -0.15), (-0.65, 0.4)]],
    [[(-0.5, -0.1), (0.5, -0.1), (0.5, 0.6), (-0.5, 0.6), (-0.5, -0.1)], arc(0, -0.1, 0.28, 0.45, -180, 0)],
    [[(-0.5, 0.55), (0.6, 0.55), (0.55, 0.2), (0, 0.05), (0, -0.6), (-0.5, -0.6), (-0.5, 0.55)]],
]


def stroke_distances(kinds: list, size: int) -> Tensor:
    """Kinds x 1 x size x size: how far each pixel is from the nearest stroke of each kind."""
    line = torch.linspace(-1, 1, size)
    pixels = torch.stack([line.repeat(size), line.repeat_interleave(size)], dim=1)
    fields = []
    for strokes in kinds:
        starts = torch.tensor([point for stroke in strokes for point in stroke[:-1]], dtype=torch.float32)
        ends = torch.tensor([point for stroke in strokes for point in stroke[1:]], dtype=torch.float32)
        along = ends - starts
        offset = pixels[:, None] - starts
        position = ((offset * along).sum(-1) / along.square().sum(-1)).clamp(0, 1)
        fields.append((offset - position[..., None] * along).norm(dim=-1).amin(dim=1))
    return torch.stack(fields).view(-1, 1, size, size)


def draw(kinds: list, count: int, seed: int, size: int) -> tuple[Tensor, Tensor]:
    """Ink N x 1 x size x size from 0 to 1, and labels; each is slanted, turned, bent, and has a pen of its own."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(count, *shape, generator=generator) * (high - low) + low

    labels = torch.randint(len(kinds), (count,), generator=generator)
    angle, slant = uniform(-0.2, 0.2), uniform(-0.3, 0.3)
    wide, tall = uniform(0.85, 1.25), uniform(0.85, 1.2)  # how much smaller than the strokes
    cosine, sine, right, below = angle.cos(), angle.sin(), uniform(-0.2, 0.2), uniform(-0.2, 0.2)
    affine = [wide * cosine, slant - wide * sine, right, tall * sine, tall * cosine, below]
    grid = F.affine_grid(
        torch.stack(affine, dim=1).view(-1, 2, 3), [count, 1, size, size], align_corners=True
    )
    bend = uniform(-0.12, 0.12, 2, 5, 5)
    grid += F.interpolate(bend, size=(size, size), mode="bilinear", align_corners=True).permute(0, 2, 3, 1)
    field = stroke_distances(kinds, size)[labels]
    distance = F.grid_sample(field, grid, padding_mode="border", align_corners=True)
    # A soft edge is the blur; the pen's width is the distance at which the ink is half.
    ink = torch.sigmoid((uniform(0.06, 0.17, 1, 1, 1) - distance) * 25) * uniform(0.6, 1, 1, 1, 1)
    ink += 0.1 * torch.randn(ink.shape, generator=generator)
    return ink.clamp(0, 1), labels


def in_grey(kinds: list, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Bytes N x 28 x 28, light on dark, and labels."""
    ink, labels = draw(kinds, count, seed, 28)
    return (ink * 255).to(torch.uint8).squeeze(1), labels.to(torch.uint8)


def in_colour(kinds: list, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Bytes N x 3 x 32 x 32 and labels: a light pen of any colour on dark ground of any colour."""
    ink, labels = draw(kinds, count, seed, 32)
    generator = torch.Generator().manual_seed(seed + 1000)
    pen = torch.rand(count, 3, 1, 1, generator=generator) * 0.5 + 0.5
    ground = torch.rand(count, 3, 1, 1, generator=generator) * 0.4
    return ((ground + (pen - ground) * ink) * 255).to(torch.uint8), labels.to(torch.uint8)
