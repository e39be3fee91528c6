"""What the user's file gets in a peer's environment when it imports `dynamic` or `staticgraph`.

A name is looked up in the peer's modules; arguments that are called otherwise there (axis and dim,
keepdims and keepdim) get the peer's name. What agrees in name and not in meaning is found by the
comparison of the results.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

TORCH_NAMES = {"axis": "dim", "keepdims": "keepdim"}
JAX_NAMES = {"dim": "axis", "keepdim": "keepdims", "input": "x"}
REFUSED = ("variable", "placeholder", "compile", "function", "run", "optim")
"""Names of staticgraph that define or compile: a function that is compared does neither."""


class Names:
    """A module whose names are those of several others, the first that has it."""

    def __init__(
        self,
        label: str,
        places: Sequence[Any],
        renamed: Mapping[str, str],
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self.label, self.places, self.renamed, self.own = label, places, renamed, own or {}

    def __getattr__(self, name: str) -> Any:
        if name in self.own:
            return self.own[name]
        if name not in REFUSED:
            for place in self.places:
                if hasattr(place, name):
                    return self._adapted(getattr(place, name))
        raise AttributeError(f"{self.label} has nothing that stands for {name!r}")

    def _adapted(self, found: object) -> Any:
        """A function that takes our names of arguments; anything else as it is."""
        if not callable(found) or isinstance(found, type):
            return found
        renamed = self.renamed

        @functools.wraps(found)
        def adapted(*args: object, **kwargs: object) -> Any:
            return found(*args, **{renamed.get(key, key): kwargs[key] for key in kwargs})

        return adapted


def for_torch(name: str, torch: Any) -> Any:
    """PyTorch's module for one of ours; None if there is none."""
    package, _, inside = name.partition(".")
    if package == "dynamic":
        return _inside(torch, inside)
    functional = torch.nn.functional
    if inside:
        return getattr(torch, inside) if inside == "linalg" else None
    own = {"scan": functools.partial(_scan, torch), "linalg": torch.linalg}
    return Names("torch", [torch, functional, torch.special], TORCH_NAMES, own)


def for_jax(name: str, jax: Any) -> Any:
    """JAX's module for one of ours; None if there is none."""
    package, _, inside = name.partition(".")
    numpy, lax = jax.numpy, jax.lax
    if inside in ("linalg", "fft"):
        return getattr(numpy, inside)
    if inside and not (package == "dynamic" and inside.split(".")[0] in ("nn", "special")):
        return None
    own = {
        "cross_entropy": functools.partial(_cross_entropy, jax),
        "scan": lax.scan,
        "cond": lax.cond,
        "while_loop": lax.while_loop,
        "linalg": numpy.linalg,
        "tensor": numpy.asarray,
        "cat": numpy.concatenate,
        "mse_loss": lambda x, y: ((x - y) ** 2).mean(),
    }
    places = [numpy, jax.nn, jax.scipy.special, lax]
    made = Names("jax", places, JAX_NAMES, own)
    own["nn"] = own["functional"] = own["special"] = made
    return made


def _inside(module: object, path: str) -> Any:
    for part in filter(None, path.split(".")):
        module = getattr(module, part, None)
    return module


def _scan(torch: Any, step: Any, init: Any, xs: Any, length: int | None = None) -> Any:
    """A loop in Python: what eager PyTorch has for a scan over one array."""
    carry, made = init, []
    for x in xs if xs is not None else range(length or 0):
        carry, y = step(carry, x)
        made.append(y)
    return carry, torch.stack(made) if made and made[0] is not None else None


def _cross_entropy(jax: Any, logits: Any, labels: Any) -> Any:
    """The mean over rows, labels being indices."""
    scores = jax.nn.log_softmax(logits, axis=-1)
    return -jax.numpy.take_along_axis(scores, labels[..., None], axis=-1).mean()
