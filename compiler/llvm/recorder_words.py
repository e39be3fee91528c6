"""What the machine code of `compiler.llvm.recorder` is told, in words of 64 bits."""

from __future__ import annotations

PYTHON_FUNCTIONS = (
    "PyObject_Vectorcall", "PyType_GenericAlloc", "PyTuple_New", "PyTuple_SetItem",
    "PyTuple_GetItem", "PyList_New", "PyList_SetItem", "PyList_GetItem", "PyLong_FromSsize_t",
    "PyIter_Next", "PySet_Contains", "PyGC_Disable", "PyGC_Enable", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
TENSOR_SLOTS = ("array", "cell", "home", "maker", "note")
NODE_SLOTS = (
    "recipe", "edges", "saved", "guards", "versions", "attrs", "shape", "dtype", "hooks", "serial",
)  # fmt: skip
# Objects, how many operands there are and where they begin, where slots are; a record for each
# pattern of operands that have a place on the tape follows.
HEAD = (
    "general", "ndarray", "type", "list", "none", "zero", "tensor", "node", "spec", "plain",
    "paused", "observers", "numbers", "attrs", "count", "first", *PYTHON_FUNCTIONS, *TENSOR_SLOTS,
    *(f"node_{name}" for name in NODE_SLOTS), "spec_shape", "spec_dtype",
)  # fmt: skip
"""`plain` are the classes of operands, `numbers` an iterator, `attrs` a list by the number of axes
of the first operand, or 0 where the attributes are an argument of their own, behind the array."""
PATTERN = ("recipe", "steps", "holds", "keeps_output", "keeps")
"""Of a pattern its recipe; whether it has steps, saves anything, saves the result; as bits the
operands that it saves."""
MOST_OPERANDS = 4
MOST_AXES = 8
"""The axes of a first operand for which there are attributes."""
RESHAPER_FUNCTIONS = ("PyLong_AsLongAndOverflow", "PyDict_New", "PyDict_SetItem")
RESHAPER_HEAD = (
    *HEAD, "recipe", "key", "int", "tuple", "Size", "PyArray_NewFromDescr", "PyArray_SetBaseObject",
    *RESHAPER_FUNCTIONS,
)  # fmt: skip
"""With the recipe of nodes, the name of the attribute that is the shape, and a class of tuples."""
