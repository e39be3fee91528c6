"""What functions take and give where packages meet, in words of the project's own.

Ops and what is composed of them apply to arrays, expressions and tensors alike, and give what they
were given: that cannot be written in annotations. Whoever means it says `Value`, and not `Any`,
which says nothing. What is only handed on, or looked at with `isinstance`, is an `object`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
"""A NumPy array, of a dtype and a rank that are known when it runs."""

Value: TypeAlias = Any
"""An operand or result of an op: an array or number, an expression, or a tensor."""

Tree: TypeAlias = Any
"""Values, in any nesting of tuples, lists and dicts: what users' functions take and return."""
