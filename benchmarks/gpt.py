"""A training step of a small character GPT with AdamW, against PyTorch's and another version's.

    python benchmarks/gpt.py [--torch PATH/TO/PYTHON] [--before PATH/TO/CHECKOUT]
        [--rounds 7] [--seconds 2] [--threads 2]

4 layers, 256 wide, 8 heads, 128 tokens, batch 16, 65 characters: Radford et al., "Language models
are unsupervised multitask learners", 2019, without biases. Every contender has a process of its
own, and they are measured in turn, so that noise hits all. Printed are the median of the rounds'
medians, the minimum, the ratio of both to the first, and how far the losses are apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYERS, WIDTH, HEADS, TOKENS, BATCH, CHARACTERS = 4, 256, 8, 128, 16, 65
PER_HEAD = WIDTH // HEADS
RATE, DECAY = 1e-3, 0.01
STEPS_COMPARED = 10
HERE = Path(__file__).resolve().parent.parent


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


def serve(contender: str) -> None:
    """Set one contender up, then measure it whenever a line with seconds arrives."""
    step = (torch_step if contender == "torch" else staticgraph_step)()
    print(json.dumps([step() for _ in range(STEPS_COMPARED)]), flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end:
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        print(json.dumps([statistics.median(times), min(times)]), flush=True)


def started(name: str, interpreter: str, root: Path, threads: int) -> subprocess.Popen[str]:
    """The process of a contender."""
    return subprocess.Popen(
        [interpreter, __file__, "--serve", name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(root)},
    )  # fmt: skip


def asked(process: subprocess.Popen[str], seconds: float | None) -> Any:
    """The answer to a request for a measurement, or what comes first."""
    assert process.stdin is not None
    assert process.stdout is not None
    if seconds is not None:
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
    return json.loads(process.stdout.readline())


def race(processes: dict[str, subprocess.Popen[str]], rounds: int, seconds: float) -> None:
    """Measure the contenders in turn and print what they took."""
    losses = {name: asked(process, None) for name, process in processes.items()}
    taken: dict[str, list[list[float]]] = {name: [] for name in processes}
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", end="\r", file=sys.stderr, flush=True)
        for name, process in processes.items():
            taken[name].append(asked(process, seconds))
    print(f"{'':12} {'median':>10} {'minimum':>10} {'ratios to staticgraph':>24} {'losses':>10}")
    first = [min(one[1] for one in taken["staticgraph"]), losses["staticgraph"]]
    for name, found in taken.items():
        median, least = statistics.median(one[0] for one in found), min(one[1] for one in found)
        ratio = statistics.median(
            other[0] / own[0] for other, own in zip(found, taken["staticgraph"], strict=True)
        )
        apart = max(abs(a / b - 1) for a, b in zip(losses[name], first[1], strict=True))
        print(
            f"{name:12} {median * 1e3:8.1f}ms {least * 1e3:8.1f}ms "
            f"{ratio:15.2f} {least / first[0]:8.2f} {apart:10.1e}"
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2, help="per contender and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    contenders = {"staticgraph": (sys.executable, HERE)}
    if options.before:
        contenders["before"] = sys.executable, options.before.resolve()
    if options.torch:
        contenders["torch"] = options.torch, HERE
    processes = {name: started(name, *where, options.threads) for name, where in contenders.items()}
    try:
        race(processes, options.rounds, options.seconds)
    finally:
        for process in processes.values():
            process.kill()


if __name__ == "__main__":
    main()
