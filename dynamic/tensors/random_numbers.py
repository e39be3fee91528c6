"""The stream of random numbers that each thread has, and generators with streams of their own."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.devices import CPU, check_device

_DEFAULT_SEED = 67280421310721


class _Random(threading.local):
    refusal: str | None = None
    seed: int = _DEFAULT_SEED
    generator: np.random.Generator

    def __getattr__(self, name: str) -> Any:
        if name != "generator":
            raise AttributeError(name)
        # importing what draws takes longer than most of this package, and few programs need it
        self.generator = fork.imported("numpy.random").default_rng()
        return self.generator


_random = _Random()


def _stream(seed: int) -> np.random.Generator:
    if not -(2**63) <= seed < 2**64:
        raise AutogradError(f"Overflow when unpacking long long: a seed has 64 bits, not {seed}")
    return np.random.default_rng(seed % 2**64)


def _refuse_to_tell() -> None:
    """Refuse to tell a captured function where a stream is: it is elsewhere at each call."""
    if mode.capture is not None:
        mode.capture.refuse_random()


def manual_seed(seed: Any) -> Generator:
    """Start this thread's stream of random numbers anew; it is NumPy's, not PyTorch's.

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> a = dynamic.rand(3)
        >>> _ = dynamic.manual_seed(0)
        >>> bool((a == dynamic.rand(3)).all())
        True
    """
    if mode.capture is not None:
        mode.capture.refuse_random()
    return default_generator.manual_seed(seed)


class Generator:
    """A stream of random numbers of its own, as the argument `generator` of functions that draw.

    It is NumPy's, not PyTorch's: the same seed gives other numbers than there.

    Example:
        >>> g = dynamic.Generator().manual_seed(0)
        >>> x = dynamic.rand(2, generator=g)
        >>> _ = g.manual_seed(0)
        >>> bool((x == dynamic.rand(2, generator=g)).all())
        True
    """

    def __init__(self, device: object = "cpu") -> None:
        check_device(device)
        self._seed = _DEFAULT_SEED
        self._stream = _stream(_DEFAULT_SEED)

    def __copy__(self) -> Generator:
        return copy.deepcopy(self)  # two generators have no stream in common

    @property
    def source(self) -> np.random.Generator:
        """NumPy's generator that it draws from."""
        return self._stream

    @property
    def device(self) -> object:
        """Where it is: on the CPU."""
        return CPU

    def manual_seed(self, seed: Any) -> Generator:
        """Start anew from a seed; the generator itself. A negative one is that of its 64 bits."""
        number = int(seed)
        self._stream = _stream(number)  # which may refuse it, and then nothing has changed
        self._seed = number % 2**64
        return self

    def seed(self) -> int:
        """Start anew from a seed that the system gives; that seed."""
        _refuse_to_tell()
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it was started from."""
        _refuse_to_tell()
        return self._seed

    def get_state(self) -> Any:
        """Where in the stream it is, as a tensor of bytes for `set_state`."""
        _refuse_to_tell()
        state: Any = self.source.bit_generator.state
        numbers = state["state"]
        content = b"".join([
            numbers["state"].to_bytes(16, "little"), numbers["inc"].to_bytes(16, "little"),
            int(state["has_uint32"]).to_bytes(1, "little"),
            int(state["uinteger"]).to_bytes(4, "little"),
            self._seed.to_bytes(8, "little"),
        ])  # fmt: skip
        return provided.wrap(np.frombuffer(content, np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Go on from where `get_state` was called; the generator itself."""
        array = getattr(new_state, "_array", None)
        if array is None or array.dtype != np.uint8:
            raise ArgumentError("RNG state must be a torch.ByteTensor")
        if array.shape != (_STATE_BYTES,):
            raise AutogradError(
                f"RNG state is wrong size: {list(array.shape)}, not [{_STATE_BYTES}]: it is that "
                "of another library"
            )
        content = array.tobytes()
        if not content[16] & 1 or content[32] > 1:
            raise AutogradError("RNG state is invalid: no generator has this one")
        self.source.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(content[:16], "little"),
                "inc": int.from_bytes(content[16:32], "little"),
            },
            "has_uint32": content[32],
            "uinteger": int.from_bytes(content[33:37], "little"),
        }
        self._seed = int.from_bytes(content[37:], "little")
        return self


_STATE_BYTES = 45


class _ThreadGenerator(Generator):
    """The stream of the thread that asks."""

    def __init__(self) -> None:
        """It has none of its own."""

    @property
    def _stream(self) -> np.random.Generator:
        return _random.generator

    @_stream.setter
    def _stream(self, stream: np.random.Generator) -> None:
        _random.generator = stream

    @property
    def _seed(self) -> int:
        return _random.seed

    @_seed.setter
    def _seed(self, seed: int) -> None:
        _random.seed = seed


default_generator = _ThreadGenerator()
"""The generator of this thread, which `manual_seed` starts."""


def get_rng_state() -> Any:
    """Where in its stream this thread is, as a tensor of bytes for `set_rng_state`.

    Example:
        >>> dynamic.get_rng_state().dtype
        torch.uint8
    """
    return default_generator.get_state()


def set_rng_state(new_state: object) -> None:
    """Let this thread go on from where `get_rng_state` was called.

    Example:
        >>> state = dynamic.get_rng_state()
        >>> x = dynamic.rand(2)
        >>> dynamic.set_rng_state(state)
        >>> bool((x == dynamic.rand(2)).all())
        True
    """
    if mode.capture is not None:
        mode.capture.refuse_random()
    default_generator.set_state(new_state)


def initial_seed() -> int:
    """The seed that this thread's stream was started from.

    Example:
        >>> _ = dynamic.manual_seed(7)
        >>> dynamic.initial_seed()
        7
    """
    return default_generator.initial_seed()


def seed() -> int:
    """Start this thread's stream from a seed that the system gives; that seed.

    Example:
        >>> dynamic.seed() == dynamic.initial_seed()
        True
    """
    return default_generator.seed()


class _Captured:
    """The source of random numbers in a function that is captured: what draws at each call."""

    def __getattr__(self, name: str) -> Any:
        def draw(*args: Any, **options: Any) -> Any:
            """The numbers, of the shape that is the option `size` or the last argument."""
            if name == "permutation":
                return mode.capture.draw(name, (), args, options)
            if "size" in options:
                shape = options.pop("size")
            elif name in _TAKES_SIZE_FIRST:
                shape, *rest = args
                args = ()
                options.update(zip(("dtype",), rest, strict=False))
            else:
                *others, shape = args
                args = tuple(others)
            sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
            return mode.capture.draw(name, args, sizes, options)

        return draw


_captured: Any = _Captured()
_TAKES_SIZE_FIRST = ("random", "standard_normal")


def generator() -> np.random.Generator:
    """The source of random numbers of this thread; RuntimeError where it is refused."""
    if _random.refusal is not None:
        raise AutogradError(_random.refusal)
    if mode.capture is not None:
        captured: np.random.Generator = _captured
        return captured
    return _random.generator


def source_of(given: object) -> np.random.Generator:
    """The generator of a call, NumPy's, or else that of this thread; TypeError for another."""
    if given is None:
        return generator()
    if mode.capture is not None:
        mode.capture.refuse_random()
    if isinstance(given, Generator):
        return given.source
    if not isinstance(given, np.random.Generator):
        raise ArgumentError(
            "generator: expected a Generator of this package or NumPy's, got "
            f"{type(given).__name__}"
        )
    return given


@contextmanager
def refusing_random_numbers(message: str | None) -> Iterator[None]:
    """Refuse random numbers to this thread with a message (None: allow them) for a block."""
    before, _random.refusal = _random.refusal, message
    try:
        yield
    finally:
        _random.refusal = before
