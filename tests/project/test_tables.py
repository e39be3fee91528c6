"""What is known of an op is in its record: no table elsewhere is keyed by ops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from staticgraph.compiler.ops import all_ops
from tests.paths import ROOT

NAMES = {op.name for op in all_ops()}
LIBRARIES = ("ops", "_ops", "eager_ops")

RULES = ("compiler/ops/", "compiler/passes/", "compiler/llvm/vecmath/", "staticgraph/fuzz/")
"""Declarations, rewrite rules, functions of a kernel that have the names of ops, and campaigns,
whose references are written apart from the library on purpose."""
PYTORCH = {"dynamic/core/pytorch.py": "what PyTorch calls an op, and where it differs"}
"""The second record of an op: one row each."""
ONNX = {
    "staticgraph/onnx/forms.py": "ops that are loops and branches in ONNX too",
    "staticgraph/onnx/names.py": "what ONNX calls an op, and which it has not",
    "staticgraph/onnx/nodes.py": "what a scatter starts from in ONNX",
    "staticgraph/onnx/operators/moves.py": "how scatters combine, by ONNX's names",
}
"""The record of an op in ONNX, beside functions that are registered by the op's name."""
OTHERS = {
    "compiler/core/size_refusals.py": "arithmetic of sizes, by the names of NumPy's functions",
    "compiler/functions/numpy_protocol.py": "NumPy's functions where ours mean something else",
    "compiler/graph/losses.py": "losses of probabilities, rules of the lint",
    "compiler/llvm/lower/functions.py": "functions of the emitted source, of which some are ops",
    "compiler/llvm/with_numba.py": "functions of the emitted source",
    "compiler/codegen/region.py": "loops and branches, which are no values but control flow",
    "compiler/transforms/control_gradients.py": "moves that a scan may do after it, a rewrite rule",
    "compiler/transforms/zero_gradients.py": "sums and products of zeros, rules of the lint",
    "dynamic/capture/numbers.py": "ops that Python has for numbers, and its errors",
    "dynamic/functions/removed.py": "functions that PyTorch has no more, by its names",
    "dynamic/core/keywords.py": "operands of methods, by PyTorch's names of both",
    "dynamic/tensors/narrowing.py": "the products that autocast casts, a list of PyTorch's",
    "dynamic/tensors/bits.py": "Python's operators of bits, by the names of NumPy's functions",
    "dynamic/operations/functions.py": "examples of functions that are made of methods",
    "dynamic/sparse/coordinates.py": "what the few ops are that sparse tensors have",
    "dynamic/tape/shadow.py": "ops of integers that may wrap around, a rule of the lint",
    "dynamic/fast_paths/views.py": "methods of small tensors, by their names",
    "dynamic/nn/init.py": "gains of PyTorch's init.calculate_gain, by its own names",
    "dynamic/nn/recurrent_cells.py": "the two nonlinearities of an RNN cell, by PyTorch's names",
    "dynamic/nn/transformer.py": "activations that PyTorch takes by name",
    "dynamic/xp/array.py": "Python's operators, by the array API's names of them",
    "staticgraph/tracing/arrays.py": "methods of NumPy's arrays that are NumPy's functions",
    "staticgraph/tracing/outputs.py": "ops that Python has for numbers",
    "staticgraph/compare/own/ways/substitutes.py": "names that JAX lacks, where no project is",
    "staticgraph/listing/numpy_calls.py": "calls of NumPy's functions, by its names",
    "staticgraph/draw/picture.py": "colours of leaves in a drawing",
}
ALLOWED = PYTORCH | ONNX | OTHERS


def _is_op(key: ast.expr | None) -> bool:
    if isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name):
        return key.value.id in LIBRARIES
    return False


def _is_named(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value in NAMES


def _tables(path: Path) -> Iterator[int]:
    """The lines of dictionaries by op or by an op's name, and of sets of ops."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            if any(map(_is_op, node.keys)) or sum(map(_is_named, node.keys)) > 1:
                yield node.lineno
        elif isinstance(node, ast.Set):
            if any(map(_is_op, node.elts)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            made = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            given = [one for one in node.args if isinstance(one, ast.Tuple | ast.List)]
            keys = given[0].elts if made in ("frozenset", "set", "fromkeys") and given else []
            if any(map(_is_op, keys)) or sum(map(_is_named, keys)) > 1:
                yield node.lineno


def _found() -> dict[str, list[int]]:
    paths = [
        p for name in ("compiler", "dynamic", "staticgraph") for p in (ROOT / name).rglob("*.py")
    ]
    found = {path.relative_to(ROOT).as_posix(): list(_tables(path)) for path in paths}
    return {name: lines for name, lines in found.items() if lines and not name.startswith(RULES)}


@pytest.mark.slow
def test_no_table_is_keyed_by_ops_outside_the_records() -> None:
    found = _found()
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() - found.keys() == set(), "it is gone: no longer allowed"


def test_a_table_is_found(tmp_path: Path) -> None:
    path = tmp_path / "tables.py"
    path.write_text(
        "a = {ops.exp: 1}\nb = {'exp': 1, 'sin': 2}\nc = frozenset((ops.exp, ops.sin))\n"
        "d = dict.fromkeys(('exp', 'sin'))\ne = {'exp': 1, 'mine': 2}\nf = (ops.exp, ops.sin)\n"
    )
    assert list(_tables(path)) == [1, 2, 3, 4]
