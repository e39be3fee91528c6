"""A training step of a small character GPT with AdamW, against PyTorch's and another version's.

    python benchmarks/gpt.py [--torch PATH/TO/PYTHON] [--before PATH/TO/CHECKOUT]
        [--rounds 7] [--seconds 2] [--threads 2]

4 layers, 256 wide, 8 heads, 128 tokens, batch 16, 65 characters: Radford et al., "Language models
are unsupervised multitask learners", 2019, without biases. Every contender has a process of its
own, and they are measured in turn, so that noise hits all. Printed are the median of the rounds'
medians, the minimum, the ratio of both to the first, and how far the losses are apart.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYERS, WIDTH, HEADS, TOKENS, BATCH, CHARACTERS = 4, 256, 8, 128, 16, 65
PER_HEAD = WIDTH // HEADS
RATE, DECAY = 1e-3, 0.01
STEPS_COMPARED = 10


def data() -> tuple[dict[str, Any], Any, Any]:
    """The parameters, characters, and those that follow them."""
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = {"characters": (CHARACTERS, WIDTH), "places": (TOKENS, WIDTH)}
    for i in range(LAYERS):
        shapes |= {
            f"qkv{i}": (WIDTH, 3 * WIDTH), f"out{i}": (WIDTH, WIDTH),
            f"up{i}": (WIDTH, 4 * WIDTH), f"down{i}": (4 * WIDTH, WIDTH),
        }  # fmt: skip
    shapes["head"] = (WIDTH, CHARACTERS)
    parameters = {
        name: (0.02 * rng.standard_normal(shape)).astype("float32")
        for name, shape in shapes.items()
    }
    text = rng.integers(0, CHARACTERS, (BATCH, TOKENS + 1))
    return parameters, text[:, :-1].copy(), text[:, 1:].reshape(-1).copy()


def staticgraph_step() -> Callable[[], float]:
    """The step, compiled by staticgraph."""
    import numpy as np

    import staticgraph as sg

    arrays, inputs, targets = data()
    w = {name: sg.variable(array, name=name) for name, array in arrays.items()}
    tokens = sg.placeholder("tokens", (None, TOKENS), "int64")
    following = sg.placeholder("following", (None,), "int64")
    batch = tokens.shape[0]
    later = sg.constant(np.triu(np.full((TOKENS, TOKENS), -np.inf, "float32"), 1))
    x = sg.take(w["characters"], tokens, axis=0) + w["places"]
    for i in range(LAYERS):
        qkv = (sg.layer_norm(x, WIDTH) @ w[f"qkv{i}"]).reshape(batch, TOKENS, 3, HEADS, PER_HEAD)
        q, k, v = (qkv[:, :, j].permute(0, 2, 1, 3) for j in range(3))
        scores = q @ sg.swapaxes(k, -1, -2) / math.sqrt(PER_HEAD) + later
        mixed = (sg.softmax(scores, -1) @ v).permute(0, 2, 1, 3).reshape(batch, TOKENS, WIDTH)
        x = x + mixed @ w[f"out{i}"]
        x = x + sg.gelu(sg.layer_norm(x, WIDTH) @ w[f"up{i}"]) @ w[f"down{i}"]
    logits = (sg.layer_norm(x, WIDTH) @ w["head"]).reshape(-1, CHARACTERS)
    loss = sg.cross_entropy(logits, following)
    updates = sg.optim.Adam(lr=RATE).minimize(loss)
    for parameter in w.values():  # AdamW: the decay is no part of the gradient
        updates[parameter] = updates[parameter] - RATE * DECAY * parameter
    step = sg.compile([tokens, following], loss, updates=updates)
    return lambda: float(step(inputs, targets))


def torch_step() -> Callable[[], float]:
    """The same in PyTorch, with its fused attention and its fused AdamW."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    arrays, inputs, targets = data()
    w = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    tokens, following = torch.tensor(inputs), torch.tensor(targets)
    optimizer = torch.optim.AdamW(list(w.values()), lr=RATE, weight_decay=DECAY, fused=True)

    def step() -> float:
        x = w["characters"][tokens] + w["places"]
        for i in range(LAYERS):
            qkv = functional.layer_norm(x, (WIDTH,)) @ w[f"qkv{i}"]
            q, k, v = qkv.reshape(BATCH, TOKENS, 3, HEADS, PER_HEAD).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH) @ w[f"out{i}"]
            h = functional.gelu(functional.layer_norm(x, (WIDTH,)) @ w[f"up{i}"])
            x = x + h @ w[f"down{i}"]
        logits = functional.layer_norm(x, (WIDTH,)) @ w["head"]
        loss = functional.cross_entropy(logits.reshape(-1, CHARACTERS), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def contender(name: str) -> tuple[Any, dict[str, Callable[[], float]]]:
    """The first losses of a contender, and its step."""
    step = (torch_step if name == "torch" else staticgraph_step)()
    return [step() for _ in range(STEPS_COMPARED)], {"step": step}


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import Entrant, apart, parser, raced, running, show

    given = parser(__doc__, rounds=7, seconds=2)
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--before", type=Path, help="a checkout of another version")
    given.add_argument("--threads", type=int, default=2)
    options = given.parse_args()
    entrants = [Entrant("staticgraph", ["staticgraph"], threads=options.threads)]
    if options.before:
        root = options.before.resolve()
        entrants.append(Entrant("before", ["before"], threads=options.threads, root=root))
    if options.torch:
        entrants.append(Entrant("torch", ["torch"], options.torch, options.threads))
    rows = []
    with running(__file__, entrants) as processes:
        for _, times in raced(processes, ["step"], options.rounds, options.seconds):
            ours = times["staticgraph"]
            for label, one in times.items():
                pairs = zip(one.medians, ours.medians, strict=True)
                losses = processes[label].report, processes["staticgraph"].report
                rows.append([
                    label, f"{one.median * 1e3:.1f}", f"{one.minimum * 1e3:.1f}",
                    f"{statistics.median(a / b for a, b in pairs):.2f}",
                    f"{one.minimum / ours.minimum:.2f}", f"{apart(*losses):.1e}",
                ])  # fmt: skip
    heads = ("", "median, ms", "minimum, ms", "ratio of medians", "of minima", "losses apart")
    show("a training step of a small GPT", heads, rows)


if __name__ == "__main__":
    main()
