"""Sequences of different lengths, packed without padding: step by step, the longest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence(NamedTuple):
    """The elements of all sequences, first those of the first step, then of the second, ...

    Attributes:
        data: the elements: (sum of lengths, ...).
        batch_sizes: how many sequences have each step: int64.
        sorted_indices, unsorted_indices: the order in which the sequences were taken, and its
            inverse; None if they were in order.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> longer, shorter = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> packed = rnn.pack_sequence([longer, shorter])
        >>> packed.data, packed.batch_sizes
        (tensor([1., 3., 2.]), tensor([2, 1]))
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: object, **options: object) -> PackedSequence:
        """The sequence with its data cast: see `Tensor.to`."""
        return self._replace(data=self.data.to(*args, **options))

    def double(self) -> PackedSequence:
        """The sequence in float64."""
        return self._replace(data=self.data.double())

    def float(self) -> PackedSequence:
        """The sequence in float32."""
        return self._replace(data=self.data.float())

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU: no."""
        return False


def invert_permutation(permutation: Any) -> Any:
    """The inverse of a permutation; None of None.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> rnn.invert_permutation(dynamic.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    return None if permutation is None else wrap(np.argsort(permutation._array, kind="stable"))


def _checked(lengths: object, batch: int, longest: int) -> Any:
    values = np.asarray(values_of(as_tensor(lengths)), np.int64)
    if values.shape != (batch,):
        raise AutogradError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {values.size} "
            f"(batch_size={batch})"
        )
    if (values <= 0).any():
        raise AutogradError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if (values > longest).any():
        raise AutogradError(f"Expected all lengths to be at most {longest}, but got {values.max()}")
    return values


def pack_padded_sequence(
    input: Any, lengths: object, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Sequences that are padded to one length, (length, n, ...), without their padding.

    With `batch_first` the input is (n, length, ...). RuntimeError if a length is not positive, or
    they do not fall and `enforce_sorted` is set.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> padded = dynamic.tensor([[1.0, 2.0], [3.0, 0.0]])
        >>> packed = rnn.pack_padded_sequence(padded, [2, 1], batch_first=True)
        >>> packed.data, packed.batch_sizes
        (tensor([1., 3., 2.]), tensor([2, 1]))
    """
    x = ops.swapaxes(input, 0, 1) if batch_first else input
    values = _checked(lengths, x.shape[1], x.shape[0])
    order = None
    if enforce_sorted:
        if (np.diff(values) > 0).any():
            raise AutogradError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence "
                "to sidestep this requirement if you do not need ONNX exportability."
            )
    else:
        order = wrap(np.argsort(-values, kind="stable"))
        values = values[order._array]
        x = ops.take(x, order, 1)
    sizes = (values > np.arange(values.max())[:, None]).sum(1)
    data = ops.take(ops.reshape(x, (-1, *x.shape[2:])), _places(sizes, x.shape[1]), 0)
    return PackedSequence(data, wrap(sizes.astype(np.int64)), order, invert_permutation(order))


def _places(sizes: Any, batch: int) -> Any:
    """Where the packed elements are in the flat (length, batch)."""
    mask = np.arange(batch) < sizes[:, None]
    return np.flatnonzero(mask)


def lengths_of(sequence: PackedSequence) -> Any:
    """The lengths of the sequences as they were taken, the longest first: a NumPy array."""
    sizes = sequence.batch_sizes._array
    return (sizes > np.arange(sizes[0] if len(sizes) else 0)[:, None]).sum(1)


def padded(sequence: PackedSequence, value: float = 0.0, total: int | None = None) -> Any:
    """The elements as (length, n, ...) in the order in which they were taken, padded."""
    sizes = sequence.batch_sizes._array
    length, batch = (len(sizes) if total is None else total), int(sizes[0])
    data = sequence.data
    slots = np.full(length * batch, data.shape[0])
    slots[_places(sizes, batch)] = np.arange(data.shape[0])
    filler = data._constant(np.full((1, *data.shape[1:]), value, data._array.dtype))
    rows = ops.take(ops.concatenate([data, filler], 0), slots, 0)
    return ops.reshape(rows, (length, batch, *data.shape[1:]))


def repacked(x: Any, sequence: PackedSequence) -> PackedSequence:
    """(length, n, ...) packed as a sequence is, in the order in which it was taken."""
    sizes = sequence.batch_sizes._array
    flat = ops.reshape(x, (-1, *x.shape[2:]))
    return sequence._replace(data=ops.take(flat, _places(sizes, x.shape[1]), 0))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """The sequences padded to one length, (length, n, ...), and their lengths: int64 (n,).

    ValueError if `total_length` is less than the longest.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> longer, shorter = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> rnn.pad_packed_sequence(rnn.pack_sequence([longer, shorter]), batch_first=True)
        (tensor([[1., 2.],
                [3., 0.]]), tensor([2, 1]))
    """
    longest = sequence.batch_sizes.shape[0]
    if total_length is not None and total_length < longest:
        raise OptionError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    x, lengths = padded(sequence, padding_value, total_length), wrap(lengths_of(sequence))
    if sequence.unsorted_indices is not None:
        x = ops.take(x, sequence.unsorted_indices, 1)
        lengths = ops.take(lengths, sequence.unsorted_indices, 0)
    return (ops.swapaxes(x, 0, 1) if batch_first else x), lengths


def pad_sequence(
    sequences: object,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Sequences (length, ...) stacked: (longest, n, ...), or (n, longest, ...) if `batch_first`.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> longer, shorter = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> rnn.pad_sequence([longer, shorter], batch_first=True, padding_value=-1.0)
        tensor([[ 1.,  2.],
                [ 3., -1.]])
    """
    if not isinstance(sequences, Tensor | Sequence):
        raise AutogradError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise OptionError(f"pad_sequence: padding_side is left or right, not {padding_side!r}")
    listed = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not listed:
        raise AutogradError("pad_sequence: received an empty list of sequences")
    longest = max(one.shape[0] for one in listed)
    grown = []
    for one in listed:
        missing = longest - one.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        grown.append(ops.pad(one, [ends, *[(0, 0)] * (one.ndim - 1)], value=padding_value))
    return ops.stack(grown, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded tensor, each as long as it is.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> padded = dynamic.tensor([[1.0, 2.0], [3.0, 0.0]])
        >>> rnn.unpad_sequence(padded, dynamic.tensor([2, 1]), batch_first=True)
        [tensor([1., 2.]), tensor([3.])]
    """
    x = padded_sequences if batch_first else ops.swapaxes(padded_sequences, 0, 1)
    return [row[:length] for row, length in zip(x.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (length, ...) packed: see `pack_padded_sequence`.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> longer, shorter = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> rnn.pack_sequence([longer, shorter]).data
        tensor([1., 3., 2.])
    """
    lengths = [one.shape[0] for one in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences that were packed.

    Example:
        >>> from dynamic.nn.utils import rnn
        >>> longer, shorter = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> rnn.unpack_sequence(rnn.pack_sequence([longer, shorter]))
        [tensor([1., 2.]), tensor([3.])]
    """
    x, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(x, lengths, batch_first=True)
