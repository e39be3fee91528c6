"""What the machine code of `compiler.llvm.small_products` is told, in words of 64 bits."""

from __future__ import annotations

from staticgraph.compiler.llvm.recorder_words import TENSOR_SLOTS

STACKS, LAYER, MATRICES = range(3)
"""What is multiplied: stacks of matrices; x @ weight.T + bias of `(x, weight, bias)`; matrices."""
PYTHON_FUNCTIONS = (
    "PyObject_Vectorcall", "PyType_GenericAlloc", "PySet_Contains", "PyGC_Enable", "Py_IncRef",
    "Py_DecRef",
)  # fmt: skip
C_FUNCTIONS = ("feclearexcept", "fetestexcept")
LOOPS = tuple(
    [f"{part}_{name}_{size}" for name in ("matmul", "add") for size in (4, 8)
     for part in ("loop", "data")]
)  # fmt: skip
"""The addresses of NumPy's loops and of what they are given, by the bytes of an element."""
HEAD = (
    "general", "ndarray", "type", "none", "tensor", "plain", "paused", "float32", "float64",
    "finish", "turns", "ndim", "vectors", "most", "exceptions", "PyArray_NewFromDescr", *LOOPS,
    *C_FUNCTIONS, *PYTHON_FUNCTIONS, *TENSOR_SLOTS,
)  # fmt: skip
"""`turns`: whether the second operand is read with its axes exchanged; `ndim`: how many axes, 2
or 3; `vectors`: whether the second may be a vector; `finish`: a function `(array, *operands)`;
`most`: the multiplications up to which a product is small."""
