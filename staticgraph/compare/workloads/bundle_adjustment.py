"""The Jacobian of bundle adjustment: that of the function of one observation, mapped over all.

The objective is that of the benchmark suite ADBench: Srajer, Kukelova, Fitzgibbon, "A benchmark of
selected algorithmic differentiation tools on some problems in computer vision and machine
learning", 2018, section 2.2. A camera has a rotation (axis times angle), a centre, a focal length,
a principal point and two coefficients of radial distortion; an observation has a weight. What comes
out are the residuals and all that is not zero of their Jacobian: two rows per observation, of the
camera, the point and the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CAMERAS, POINTS, OBSERVATIONS = 49, 7776, 31_843

TITLE = "bundle adjustment (ADBench): 49 cameras, 31,843 observations, float64, residuals, Jacobian"
PARAMETERS = ()
OPTIMIZER = None
BATCHED = ("camera_of", "point_of", "weights", "seen")
DTYPE = "float64"
SCALED = "observations"


def data(
    rng: Any, observations: int = OBSERVATIONS, points: int = POINTS, cameras: int = CAMERAS
) -> dict[str, Any]:
    """Cameras that look at points before them, and what they see, with noise."""
    camera = np.concatenate(
        [
            0.1 * rng.standard_normal((cameras, 3)),
            rng.standard_normal((cameras, 3)),
            rng.uniform(400, 600, (cameras, 1)),
            rng.standard_normal((cameras, 2)),
            0.01 * rng.standard_normal((cameras, 2)),
        ],
        axis=1,
    )
    return {
        "camera_of": rng.integers(0, cameras, observations),
        "point_of": rng.integers(0, points, observations),
        "weights": rng.uniform(0.5, 1, observations),
        "seen": 50 * rng.standard_normal((observations, 2)),
        "cameras": camera,
        "points": rng.standard_normal((points, 3)) + np.array([0.0, 0.0, 10.0]),
    }


def needs(
    observations: int = OBSERVATIONS, points: int = POINTS, cameras: int = CAMERAS
) -> tuple[int, int]:
    """Bytes: what is seen is read, residuals and blocks are written. 500 operations for each."""
    return 8 * (observations * (5 + 2 + 30) + 3 * points + 11 * cameras), 500 * observations


BYTES, FLOPS = needs()


def loss(
    sg: Any, camera_of: Any, point_of: Any, weights: Any, seen: Any, cameras: Any, points: Any
) -> Any:
    """Ours, static."""

    def residual(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        projected = _project(sg, camera, point, sg.stack)
        return weight * (projected - feature)

    def observed(*operands: Any) -> Any:
        blocks = sg.jacobian(residual, argnums=(0, 1, 2))(*operands)
        parts = [residual(*operands)[:, None], *blocks[:2], blocks[2][:, None]]
        return sg.concatenate(parts, axis=1)

    camera, point = sg.take(cameras, camera_of, axis=0), sg.take(points, point_of, axis=0)
    return sg.vmap(observed)(camera, point, weights, seen)


def _project(np: Any, camera: Any, point: Any, stack: Any) -> Any:
    """Where a camera sees a point: Rodrigues' formula, perspective, radial distortion."""
    rotation, centre, focal = camera[0:3], camera[3:6], camera[6]
    apart = point - centre
    squared = (rotation * rotation).sum()
    angle = np.sqrt(squared)
    axis = rotation / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = stack([
        axis[1] * apart[2] - axis[2] * apart[1],
        axis[2] * apart[0] - axis[0] * apart[2],
        axis[0] * apart[1] - axis[1] * apart[0],
    ])  # fmt: skip
    along = (axis * apart).sum() * (1 - cosine)
    x = apart * cosine + turned * sine + axis * along
    flat = x[0:2] / x[2]
    radius = (flat * flat).sum()
    distortion = 1 + camera[9] * radius + camera[10] * radius * radius
    return flat * distortion * focal + camera[7:9]


def torch_loss(
    torch: Any, camera_of: Any, point_of: Any, weights: Any, seen: Any, cameras: Any, points: Any
) -> Any:
    """PyTorch's."""

    def residual(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        projected = _project(torch, camera, point, torch.stack)
        return weight * (projected - feature)

    def observed(*operands: Any) -> Any:
        blocks = torch.func.jacrev(residual, argnums=(0, 1, 2))(*operands)
        parts = [residual(*operands)[:, None], *blocks[:2], blocks[2][:, None]]
        return torch.cat(parts, dim=1)

    return torch.func.vmap(observed)(cameras[camera_of], points[point_of], weights, seen)


eager_loss = torch_loss


def jax_loss(
    jax: Any, camera_of: Any, point_of: Any, weights: Any, seen: Any, cameras: Any, points: Any
) -> Any:
    """JAX's."""
    np = jax.numpy

    def residual(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        projected = _project(np, camera, point, np.stack)
        return weight * (projected - feature)

    def observed(*operands: Any) -> Any:
        blocks = jax.jacrev(residual, argnums=(0, 1, 2))(*operands)
        parts = [residual(*operands)[:, None], *blocks[:2], blocks[2][:, None]]
        return np.concatenate(parts, axis=1)

    return jax.vmap(observed)(cameras[camera_of], points[point_of], weights, seen)
