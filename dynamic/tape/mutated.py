"""What is said of a saved array that was overwritten before the reverse pass."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.places import line_of
from staticgraph.dynamic.tape.nodes import Output


def mutated(array: Any, maker: object, counter: Any, version: int, saver: str) -> str:
    """What to say of a saved array whose version, once `version`, is another now.

    `maker` is the node that made the array, or None; `saver` the name of that which saved it.
    """
    if isinstance(maker, Output):
        refused = getattr(maker.edges[0], "refused", None)
        if refused is not None:  # as PyTorch, which looks at the node of the tensor first
            return str(refused(maker))
    kind = DTYPES[array.dtype].legacy
    which = ""
    if maker is not None:
        index = getattr(maker, "index", 0)
        which = f", which is output {index} of {short_name(maker)},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind}Tensor {list(array.shape)}]{which} is at version {counter[0]}; "
        f"expected version {version} instead. Hint: enable anomaly detection to find the operation "
        "that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        f"check_nan=False). {saver} saved it; it was modified last at "
        f"{line_of(counter[1])}."
    )


def short_name(node: Any) -> str:
    """The name of a node without `Backward`, and without the number after it if that is 0."""
    stem, _, number = str(node.name()).rpartition("Backward")
    return f"{stem}{number.removeprefix('0')}" if stem else number
