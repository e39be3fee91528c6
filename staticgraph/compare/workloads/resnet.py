"""A training step of ResNet-18 on images of 32 x 32, with batch norm and momentum.

He et al., "Deep residual learning for image recognition", 2016; the first convolution has 3 x 3
places and nothing is pooled after it, as is usual for such small images. The running statistics of
the norms, which training does not read, are not kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH, SIDE, WIDTH, CLASSES = 64, 32, 64, 10
STAGES, BLOCKS = 4, 2
EPSILON = 1e-5


def _convolutions() -> dict[str, tuple[int, int, int]]:
    """By name: the factors of WIDTH in and out (0: the colours), and the window's side."""
    found = {"stem": (0, 1, 3)}
    for stage in range(STAGES):
        for block in range(BLOCKS):
            before = 2 ** max(0, stage - (block == 0))
            name = f"s{stage}b{block}"
            found[f"{name}c0"] = (before, 2**stage, 3)
            found[f"{name}c1"] = (2**stage, 2**stage, 3)
            if before != 2**stage:
                found[f"{name}down"] = (before, 2**stage, 1)
    return found


CONVOLUTIONS = _convolutions()
TITLE = "ResNet-18 on 32x32, batch norm in training, batch 64, SGD step with momentum"
PARAMETERS = (
    *(f"{name}{part}" for name in CONVOLUTIONS for part in ("", "_scale", "_shift")),
    "w", "b",
)  # fmt: skip
OPTIMIZER = {"name": "SGD", "lr": 0.01, "momentum": 0.9}
BATCHED = ("x", "y")
DTYPE = "float32"
SCALED = "batch"


def data(rng: Any, batch: int = BATCH, side: int = SIDE, width: int = WIDTH) -> dict[str, Any]:
    """Normal images and labels; weights that keep the size of what they are applied to."""

    def normal(*shape: int, inputs: int = 1) -> Any:
        return (rng.standard_normal(shape) * np.sqrt(2 / inputs)).astype(np.float32)

    arrays = {"x": normal(batch, 3, side, side, inputs=2), "y": rng.integers(0, CLASSES, batch)}
    for name, (before, after, window) in CONVOLUTIONS.items():
        channels = before * width or 3
        arrays |= {
            name: normal(after * width, channels, window, window, inputs=channels * window**2),
            f"{name}_scale": np.ones(after * width, np.float32),
            f"{name}_shift": np.zeros(after * width, np.float32),
        }
    last = 2 ** (STAGES - 1) * width
    return arrays | {"w": normal(last, CLASSES, inputs=last), "b": np.zeros(CLASSES, np.float32)}


def needs(batch: int = BATCH, side: int = SIDE, width: int = WIDTH) -> tuple[int, int]:
    """Bytes: parameters and momentum, read and written. Every convolution is done three times."""
    weights = flops = 0
    for name, (before, after, window) in CONVOLUTIONS.items():
        count = (before * width or 3) * after * width * window**2
        weights += count
        times = 2 if name == "stem" else 3  # the images need no gradient
        flops += times * 2 * batch * (side // after) ** 2 * count
    return 4 * (4 * weights + 3 * batch * side**2), flops


BYTES, FLOPS = needs()


def loss(sg: Any, x: Any, y: Any, **w: Any) -> Any:
    """Ours, static."""

    def norm(h: Any, name: str) -> Any:
        mean = sg.mean(h, (0, 2, 3), keepdims=True)
        variance = sg.var(h, (0, 2, 3), keepdims=True)
        scale, shift = (w[f"{name}_{part}"][:, None, None] for part in ("scale", "shift"))
        return (h - mean) / sg.sqrt(variance + EPSILON) * scale + shift

    def conv(h: Any, name: str, stride: int = 1) -> Any:
        return norm(sg.conv2d(h, w[name], stride=stride, padding=w[name].shape[-1] // 2), name)

    h = sg.relu(conv(x, "stem"))
    for stage in range(STAGES):
        for block in range(BLOCKS):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            inner = conv(sg.relu(conv(h, f"{name}c0", stride)), f"{name}c1")
            h = sg.relu(inner + (conv(h, f"{name}down", stride) if stride > 1 else h))
    return sg.cross_entropy(sg.mean(h, (2, 3)) @ w["w"] + w["b"], y)


def torch_loss(torch: Any, x: Any, y: Any, **w: Any) -> Any:
    """PyTorch's."""
    functional = torch.nn.functional

    def conv(h: Any, name: str, stride: int = 1) -> Any:
        h = functional.conv2d(h, w[name], stride=stride, padding=w[name].shape[-1] // 2)
        scale, shift = w[f"{name}_scale"], w[f"{name}_shift"]
        return functional.batch_norm(h, None, None, scale, shift, training=True, eps=EPSILON)

    h = torch.relu(conv(x, "stem"))
    for stage in range(STAGES):
        for block in range(BLOCKS):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            inner = conv(torch.relu(conv(h, f"{name}c0", stride)), f"{name}c1")
            h = torch.relu(inner + (conv(h, f"{name}down", stride) if stride > 1 else h))
    return functional.cross_entropy(h.mean((2, 3)) @ w["w"] + w["b"], y)


eager_loss = torch_loss


def jax_loss(jax: Any, x: Any, y: Any, **w: Any) -> Any:
    """JAX's."""
    np = jax.numpy

    def conv(h: Any, name: str, stride: int = 1) -> Any:
        around = w[name].shape[-1] // 2
        h = jax.lax.conv_general_dilated(h, w[name], (stride, stride), [(around, around)] * 2)
        mean, variance = h.mean((0, 2, 3), keepdims=True), h.var((0, 2, 3), keepdims=True)
        scale, shift = (w[f"{name}_{part}"][:, None, None] for part in ("scale", "shift"))
        return (h - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + shift

    h = jax.nn.relu(conv(x, "stem"))
    for stage in range(STAGES):
        for block in range(BLOCKS):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            inner = conv(jax.nn.relu(conv(h, f"{name}c0", stride)), f"{name}c1")
            h = jax.nn.relu(inner + (conv(h, f"{name}down", stride) if stride > 1 else h))
    scores = jax.nn.log_softmax(h.mean((2, 3)) @ w["w"] + w["b"])
    return -np.take_along_axis(scores, y[:, None], axis=1).mean()
