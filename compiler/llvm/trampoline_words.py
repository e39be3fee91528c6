"""What the trampoline is told: words, and where the fields of objects are."""

from __future__ import annotations

from staticgraph.compiler.core.record import Record, record

ENTRY_SYMBOL, RUN_SYMBOL = "staticgraph_entry", "staticgraph_run"
UNCHANGED_SYMBOL = "staticgraph_unchanged"

BOUND = ("words", "table", "kept", "stamp")  # the addresses in its `self`; 0 if none is kept
# Those words: addresses, how many arrays, a record per input and per output, and one per output
# that is a number.
PYTHON_FUNCTIONS = (
    "PyLong_FromLongLong", "PyList_New", "PyList_SetItem", "PyList_AsTuple", "Py_IncRef",
    "Py_DecRef",
)  # fmt: skip
CONSTANTS = (
    "program", "unlocks", "process", "ndarray", *PYTHON_FUNCTIONS, "PyArray_NewFromDescr", "calls",
    "inputs", "written", "outputs", "numbers",
)  # fmt: skip
INPUT = ("at", "ndim", "kind", "itemsize", "flags")
OUTPUT = ("at", "ndim", "descr")
NUMBER = ("at", "itemsize")  # an output that is one number, of which it is seen if it is finite
HEADER = ("count", "true", "false", "Py_IncRef")  # what compares words is told first
EXPONENTS = {4: 0x7F800000, 8: 0x7FF0000000000000}
"""By the itemsize of a float the bits that are all set in inf and nan alone."""


@record
class Fields(Record):
    """Where the fields of an object, an ndarray and its dtype are: offsets in bytes.

    `kind` is the four chars kind, type, byteorder and one unused, of which `kind_mask` keeps the
    kind and the byte order, with the last bit left out that tells "=" from "<". `required` are the
    flags of an aligned row-major array, `writable` those of one that may be written too.
    """

    type: int
    data: int
    ndim: int
    shape: int
    descr: int
    flags: int
    kind: int
    itemsize: int
    kind_mask: int = 0x00FE00FF
    required: int = 0x0101  # NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS
    writable: int = 0x0501  # and NPY_ARRAY_WRITEABLE
