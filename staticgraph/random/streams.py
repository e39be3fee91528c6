"""Streams: keys that change with each call of a compiled function."""

from __future__ import annotations

import hashlib

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.expression import Expression
from staticgraph.leaves import Counter, counter


class Stream:
    """A source of keys for a graph; made by `stream`.

    Attributes:
        seed: what the keys of the stream are made of, an int.
        calls: the variable that counts calls; assign to its `value` to begin again. Executables
            that read it add 1 to it, after they are done, as `updates` are.

    Example:
        >>> noise = sg.random.stream("noise")
        >>> f = sg.compile([], sg.random.uniform(noise, ()))
        >>> first = f()
        >>> bool(first != f()), noise.calls.value
        (True, array(2))
    """

    def __init__(self, seed: int, name: str) -> None:
        self.seed = seed
        self.calls: Counter = counter(name)
        self._uses = 0

    def next(self) -> Expression:
        """A key of this call, another one each time that this is asked for: int64.

        Within one definition keys are numbered; that number `use` of call number `call` is
        `fold_in(fold_in(key(seed), call), use)`. In a loop all iterations have the same: fold in
        the number of the iteration.

        Example:
            >>> noise = sg.random.stream(0)
            >>> step = sg.compile([], noise.next())
            >>> int(step()) != int(step())
            True
            >>> int(noise.calls.value)
            2
        """
        self._uses += 1
        seed = np.array(self.seed, np.int64)
        key: Expression = ops.threefry(ops.threefry(seed, self.calls), self._uses - 1)
        return key


def stream(seed: object = 0, name: str | None = None) -> Stream:
    """A source of keys that advances with each call of what is compiled of it.

    Wherever a function of this module takes a key it takes a stream, of which it then takes the
    next key. Executables advance the streams that they use by themselves: `compile` adds the
    update.

    Args:
        seed: an int, or a text, such as what the numbers are for: its SHA-256 is the seed.
        name: for messages and drawings; the text, if it is one.

    Raises:
        OptionError: the seed is neither, or the name is no text.

    Example:
        >>> noise = sg.random.stream("noise")
        >>> x = sg.placeholder("x", (None,))
        >>> noisy = sg.compile([x], x + sg.random.normal(noise, x.shape))
        >>> x = np.zeros(3, "float32")
        >>> bool(np.any(noisy(x) == noisy(x)))
        False
    """
    if name is not None and not isinstance(name, str):
        raise OptionError(f"stream: the name is a string, not {name!r}")
    if isinstance(seed, str):
        digest = hashlib.sha256(seed.encode()).digest()
        return Stream(int.from_bytes(digest[:8], "little", signed=True), name or seed)
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise OptionError(f"stream: the seed is an int or a text, not {seed!r}")
    number = seed.__index__()
    if not -(1 << 63) <= number < 1 << 63:
        raise OptionError(f"stream: the seed {number} has more than 64 bits")
    return Stream(number, name or f"stream {number}")
