"""The paradigms in which traps run: ours, and those of other frameworks that are installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .trap import TRAPS, Paradigm, Trap

SUBJECTS = (
    "closures", "constants", "attributes", "classes", "surroundings", "arguments", "calls",
    "modules", "modes", "effects", "outside", "randomness", "values", "sizes", "writes", "dtypes",
    "programs", "bypasses", "branches", "language", "containers", "libraries", "aliases",
    "settings", "interpreter", "threads", "objects", "memory", "streams", "operators", "iterators",
    "names", "training", "layers", "layer_parts", "loops", "averages", "hidden", "reflected",
    "mechanics", "engine", "shared", "transformed", "sampled", "live",
    "specials", "exchanged", "states", "machine",
    "swapped", "rates", "marked", "everyday", "handed", "histories", "operands", "around_modules",
    "models", "frozen", "feeds", "composed", "places", "hooks",
    "asked", "pieces", "strangers", "strange_objects", "loops_of_strangers", "strange_states",
    "strange_arguments", "strange_arrays", "enigmas", "puzzles", "puzzles_of_values",
    "puzzles_of_models", "puzzles_at_last", "riddles", "riddles_of_values",
    "riddles_of_models", "riddles_at_last",
)  # fmt: skip


def traps() -> list[Trap]:
    """All traps."""
    for subject in SUBJECTS:
        importlib.import_module(f"{__package__}.{subject}")
    return TRAPS


def on_arrays(**options: Any) -> Paradigm:
    """Functions of NumPy's arrays, captured by `sg.function`."""
    import staticgraph as sg

    def capture(f: Any, **more: Any) -> Any:
        return sg.function(f, **options, **more)

    return Paradigm("arrays", capture, np.array, sg, np.asarray)


def on_tensors(**options: Any) -> Paradigm:
    """Functions of eager tensors, captured by `sg.function`."""
    import dynamic
    import staticgraph as sg

    def capture(f: Any, **more: Any) -> Any:
        return sg.function(f, **options, **more)

    return Paradigm("tensors", capture, _tensors(dynamic), dynamic, _numpy, dynamic.nn)


def in_jax() -> Paradigm:
    """Functions of JAX's arrays, captured by `jax.jit`."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return Paradigm("jax", jax.jit, jax.numpy.asarray, jax.numpy, np.asarray)


def in_torch() -> Paradigm:
    """Functions of PyTorch's tensors, captured by `torch.compile`."""
    torch: Any = importlib.import_module("torch")

    def capture(f: Any, **options: Any) -> Any:
        return torch.compile(f, backend="eager")

    return Paradigm("torch", capture, _tensors(torch), torch, _numpy, torch.nn)


def _tensors(torch: Any) -> Any:
    return lambda array: torch.tensor(np.asarray(array))


def _numpy(tensor: Any) -> Any:
    return tensor.detach().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
