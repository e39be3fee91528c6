"""What the machine code of `compiler.llvm.joining` is told, in words of 64 bits."""

from __future__ import annotations

from staticgraph.compiler.llvm.recorder_words import TENSOR_SLOTS

PYTHON_FUNCTIONS = (
    "PyObject_Vectorcall", "PyType_GenericAlloc", "PyLong_AsLongAndOverflow", "PyList_GetItem",
    "PySet_Contains", "PyGC_Enable", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
HEAD = (
    "general", "ndarray", "type", "list", "tuple", "int", "none", "tensor", "plain", "paused",
    "float32", "float64", "finishes", "attrs", "adds", "most", "memcpy", "PyArray_NewFromDescr",
    *PYTHON_FUNCTIONS, *TENSOR_SLOTS,
)  # fmt: skip
"""`adds`: whether the axis is a new one; `finishes`: a list of functions `(array, attrs, *tensors)`
by the number of tensors, `attrs` of the attributes by the axis; `most`: bytes of a result."""
MOST_TENSORS = 8
MOST_AXES = 7
