"""A character GPT of a module of Python: dropout, AdamW with warm-up and cosine decay."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

WIDTH, HEADS, BLOCKS, CONTEXT, BATCH, DROPOUT, RATE, CLIP = 64, 4, 2, 32, 16, 0.1, 4e-3, 1.0
DECAY: Any = {"weight_decay": 0.1, "betas": (0.9, 0.95)}


def initial(symbols: int, rng: np.random.Generator) -> dict[str, Any]:
    """Normal weights by name; the gains of the norms are ones."""
    shapes = {"embed": (symbols, WIDTH), "place": (CONTEXT, WIDTH), "head": (WIDTH, symbols)}
    for i in range(BLOCKS):
        shapes |= {f"qkv{i}": (WIDTH, 3 * WIDTH), f"out{i}": (WIDTH, WIDTH)}
        shapes |= {f"up{i}": (WIDTH, 4 * WIDTH), f"down{i}": (4 * WIDTH, WIDTH)}
    found = {name: rng.normal(0, 0.05, shape) for name, shape in shapes.items()}
    found |= {f"norm{i}": np.ones(WIDTH) for i in range(2 * BLOCKS + 1)}
    return {name: array.astype("float32") for name, array in found.items()}


def attention(x: Any, qkv: Any) -> Any:
    """Of each place to itself and to what is before it."""
    parts = sg.reshape(x @ qkv, (BATCH, CONTEXT, 3, HEADS, WIDTH // HEADS))
    q, k, v = (sg.transpose(parts[:, :, i], (0, 2, 1, 3)) for i in range(3))
    seen = sg.scaled_dot_product_attention(q, k, v, is_causal=True)
    return sg.reshape(sg.transpose(seen, (0, 2, 1, 3)), (BATCH, CONTEXT, WIDTH))


def loss(p: Mapping[str, Any], x: Any, y: Any, key: Any) -> Any:
    """The cross entropy of the next characters."""
    keys = sg.random.split(key, 2 * BLOCKS)
    h = sg.take(p["embed"], x, axis=0) + p["place"]
    for i in range(BLOCKS):
        seen = attention(sg.layer_norm(h, WIDTH, p[f"norm{2 * i}"]), p[f"qkv{i}"])
        h = h + sg.dropout(seen @ p[f"out{i}"], DROPOUT, key=keys[2 * i])
        up = sg.gelu(sg.layer_norm(h, WIDTH, p[f"norm{2 * i + 1}"]) @ p[f"up{i}"])
        h = h + sg.dropout(up @ p[f"down{i}"], DROPOUT, key=keys[2 * i + 1])
    logits = sg.layer_norm(h, WIDTH, p[f"norm{2 * BLOCKS}"]) @ p["head"]
    return sg.cross_entropy(sg.swapaxes(logits, 1, 2), y)


def compiled(start: Mapping[str, Any], batches: Sequence[Any], rates: Any) -> list[float]:
    """Train with one compiled step."""
    p = {name: sg.variable(array, name) for name, array in start.items()}
    x, y = (sg.placeholder(name, (BATCH, CONTEXT), "int64") for name in ("x", "y"))
    key = sg.placeholder("key", (), "int64")
    value = loss(p, x, y, key)
    updates = sg.optim.AdamW(rates, clip_norm=CLIP, **DECAY).minimize(value)
    train = sg.compile([x, y, key], value, updates)
    return [float(train(*batch)) for batch in batches]


def eager(start: Mapping[str, Any], batches: Sequence[Any], rates: Any) -> list[float]:
    """Train on tensors."""
    p = {name: dynamic.tensor(array, requires_grad=True) for name, array in start.items()}
    optimizer, losses = dynamic.optim.AdamW(p.values(), **DECAY), []
    for step, batch in enumerate(batches):
        optimizer.param_groups[0]["lr"] = rates(step)
        optimizer.zero_grad()
        value = loss(p, *map(dynamic.tensor, batch))
        value.backward()
        dynamic.nn.utils.clip_grad_norm_(p.values(), CLIP)
        optimizer.step()
        losses.append(value.item())
    return losses


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Train in both paradigms, and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args(arguments).steps
    text = Path(argparse.__file__).read_text(encoding="utf-8")
    symbols, data = np.unique(list(text), return_inverse=True)
    rng = np.random.default_rng(0)
    starts = rng.integers(0, len(data) - CONTEXT - 1, (steps, BATCH, 1)) + np.arange(CONTEXT)
    keys = sg.random.split(sg.random.key(0), steps)
    batches = [(data[one], data[one + 1], key) for one, key in zip(starts, keys, strict=True)]
    rates, start = sg.optim.cosine(RATE, steps, warmup=steps // 10), initial(len(symbols), rng)
    found = {one.__name__: one(start, batches, rates) for one in (compiled, eager)}
    for name, losses in found.items():
        print(f"{name:9} loss {losses[0]:.4f} -> {np.mean(losses[-10:]):.4f}")
    return found


if __name__ == "__main__":
    main()
