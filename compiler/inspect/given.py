"""The inputs of a call that is only looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.runtime.sizes import check_sizes, feeds_of, sizes_of


def given_inputs(
    name: str, definition: Definition, inputs: Sequence[object] | Mapping[str, object]
) -> list[Array]:
    """The inputs, a tuple or a dict by names, as row-major arrays in the order of a call.

    Raises:
        OptionError: they are neither.
        FeedError, DTypeError, ShapeError: they do not fit, as in a call.
    """
    feeds = feeds_of(definition)
    if isinstance(inputs, Mapping):
        inputs = in_order(name, feeds, (), dict(inputs))
    elif not isinstance(inputs, tuple | list):
        raise OptionError(
            f"{name}: inputs is a tuple or a dict by names of what a call takes, not "
            f"{type(inputs).__name__}"
        )
    arrays = [row_major(one) for one in as_inputs(name, feeds, inputs)]
    check_sizes(definition, sizes_of(feeds, arrays))
    return arrays
