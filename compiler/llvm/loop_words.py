"""What the machine code of `compiler.llvm.loops` is told, in words of 64 bits."""

from __future__ import annotations

LOOPS_SYMBOL, SELECT_SYMBOLS = (
    "staticgraph_loops",
    {
        4: "staticgraph_select_4",
        8: "staticgraph_select_8",
    },
)
WIDEN_SYMBOLS = {4: "staticgraph_widen_4", 8: "staticgraph_widen_8"}
LARGEST_SYMBOLS = {4: "staticgraph_largest_4", 8: "staticgraph_largest_8"}
SMALLEST_SYMBOLS = {4: "staticgraph_smallest_4", 8: "staticgraph_smallest_8"}
"""By the bytes of an element: loops that choose between two arrays, that make ints of int8, that
find the first largest or smallest float of all, or nan."""
SHIFT_SYMBOLS = {4: "staticgraph_shift_4", 8: "staticgraph_shift_8"}
"""The same: loops that find what to subtract from rows before exp: `reference.direct.shift`."""
PICK_SYMBOLS = {4: "staticgraph_pick_4", 8: "staticgraph_pick_8"}
LESS_SYMBOLS = {4: "staticgraph_less_4", 8: "staticgraph_less_8"}
"""The same: loops that take of each row the element that a number names, or make it less by 1."""
NEAR = 8.0
"""Elements that differ by less than this are shifted by the largest of them all."""
OWN_SYMBOLS = (
    *SELECT_SYMBOLS.values(), *WIDEN_SYMBOLS.values(), *LARGEST_SYMBOLS.values(),
    *SMALLEST_SYMBOLS.values(), *SHIFT_SYMBOLS.values(),
    *PICK_SYMBOLS.values(), *LESS_SYMBOLS.values(),
)  # fmt: skip
RECORDER_SYMBOL, VIEWER_SYMBOL, RESHAPER_SYMBOL, JOINING_SYMBOL, PRODUCT_SYMBOL = (
    "staticgraph_recorder",
    "staticgraph_viewer",
    "staticgraph_reshaper",
    "staticgraph_joining",
    "staticgraph_product",
)
TENSOR_SYMBOLS = (
    RECORDER_SYMBOL, VIEWER_SYMBOL, RESHAPER_SYMBOL, JOINING_SYMBOL, PRODUCT_SYMBOL,
)  # fmt: skip
"""The functions of tensors: `compiler.llvm.recorder`, `joining` and `small_products`."""

# Addresses, and how many there are of each; a record per slot and per step follows.
PYTHON_FUNCTIONS = (
    "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "Py_IncRef", "Py_DecRef",
    "PyType_GenericAlloc", "PyLong_AsLongAndOverflow",
)  # fmt: skip
C_FUNCTIONS = ("feclearexcept", "fetestexcept")
HEAD = (
    "general", "ndarray", "PyArray_NewFromDescr", *PYTHON_FUNCTIONS, *C_FUNCTIONS, "exceptions",
    "inputs", "results", "scratch", "constants", "steps", "most", "rows", "columns", "repeats",
    "tensors", "first_class", "second_class", "paused", "none", "finish", "float", "int",
    "array", "cell", "home", "maker", "note",
)  # fmt: skip
"""With `tensors` inputs are tensors of two classes, whose fields follow, and so is the result; then
`finish(array, *inputs)` makes it where `paused` is not empty, or a field of an input not None."""
SLOT = ("dtype", "itemsize", "kind", "guarded", "bits")
"""Of a slot its dtype, or of a constant the address; the bytes of an element; its kind; whether it
is a number of certain bits, and these. The slots are the inputs, the results, the scratch arrays
and the constants."""
WHOLE, SCALAR, NUMBER, COLUMN, VECTOR = range(5)
"""The kinds: an array of the common shape, one without axes, a Python float or int; where there are
`columns`, the length of the last axis, one number per row, and one per column."""
LARGEST_INT = 1 << 24
"""The ints up to which float32 has every one."""
STEP = ("loop", "data", "arity", "mode")
"""A loop of a ufunc, what it is given, of how many arrays, how it goes over them; these follow."""
OPERAND = ("slot", "itemsize", "kind")
MOST_OPERANDS = 4
EACH, SUM, BY_ROW, OF_COLUMN, ROW_SUMS, ROWS, COLUMN_SUMS = range(7)
"""How: all elements at once; a product of all with another array, summed; row by row; the numbers
of the rows; products of rows with a vector, summed; loops of our own that know the rows; products
of a vector with columns, summed."""
MOST_SLOTS = 48
MOST_SCRATCH = 1 << 16
"""The bytes on the stack that the scratch arrays of a call may take."""
