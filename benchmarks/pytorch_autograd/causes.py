"""Why tests that PyTorch passes do not pass here: the first cause whose pattern is found counts."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One reason, for the tests in whose names and errors the pattern is found.

    Attributes:
        out: whether it is no part of an eager engine on one CPU.
    """

    pattern: str
    text: str
    out: bool


CAUSES = (
    Cause(
        r"MKL-DNN|ITT|mkldnn|test_thread_shutdown|cached_tensors",
        "MKL-DNN, ITT, CUDA graphs and PyTorch's own threads",
        True,
    ),
    Cause(r"load_inline", "extensions in C++", True),
    Cause(r"jit\.(script|trace)|fork_join|profiler_propagation", "TorchScript", True),
    Cause(r"profiler|record_function|kineto", "PyTorch's profiler", True),
    Cause(r"nested_tensor|calculate_shape|test_view_func_replay\n", "nested tensors", True),
    Cause(
        r"TorchDispatchMode|selective_checkpoint|_scoped_library|SelectiveActivation"
        r"|make_dual_torch_dispatch|_make_subclass",
        "modes that see every op (`TorchDispatchMode`), and selective checkpoints by them",
        True,
    ),
    Cause(
        r"_test_autograd_multiple|torch\.ops\.aten|_test_warn|new_zeros_with_same"
        r"|replay_with_modified_state",
        "test ops of PyTorch's dispatcher, and its internal ops",
        True,
    ),
    Cause(
        r"sparse|_set_data_tensorimpl|graph_save_on_cpu|accumulate_grad_tensor_reference"
        r"|input_layout",
        "gradients of sparse tensors, and other sparse layouts than coordinates",
        True,
    ),
    Cause(r"view_replay", "replay of views, by private names", False),
    Cause(r"conj|neg_bit", "lazy conjugates (`is_conj`, `is_neg`): memory holds the values", False),
    Cause(
        r"no_unnecessary_unwrapping",
        "which object a saved tensor is, other than a leaf: nodes keep arrays, not tensors",
        False,
    ),
    Cause(
        r"attr_bindings",
        "what nodes keep beside tensors (`_saved_indices`, `_saved_mode`, ...)",
        False,
    ),
    Cause(
        r"original_inplace_detach|prod_gradgrad_error",
        "more lenient: the right derivative where PyTorch has an error",
        False,
    ),
    Cause(
        r"views_cross_dtype",
        "`transpose_` of the parts of a complex tensor: the gradient is that of finite "
        "differences, which PyTorch's is not",
        False,
    ),
    Cause(r"pynode_destruction", "a traceback names the error's class, not `RuntimeError`", False),
)


def cause_of(name: str, text: str) -> Cause | None:
    """The reason why a test does not pass."""
    said = f"{name}\n{text}"
    return next((one for one in CAUSES if re.search(one.pattern, said)), None)


def table(reference: dict[str, str], outcomes: dict[str, tuple[str, str]]) -> str:
    """The counts of the tests that PyTorch passes, and per cause of those that do not pass here."""
    wanted = [name for name, outcome in reference.items() if outcome in ("pass", "xfail")]
    groups: dict[Cause | None, list[str]] = {}
    for name in wanted:
        outcome, text = outcomes.get(name, ("missing", ""))
        if outcome != "passed":
            groups.setdefault(cause_of(name, text), []).append(name.rpartition(".")[2])
    passed = len(wanted) - sum(map(len, groups.values()))
    out = sum(len(names) for one, names in groups.items() if one is None or one.out)
    own = len(wanted) - out
    lines = [
        f"Of the {len(wanted)} tests that PyTorch 2.13 passes on a CPU, {passed} pass "
        f"({100 * passed / len(wanted):.1f} %).",
        f"Without what is no part of an eager engine on one CPU ({out} tests), these are {passed} "
        f"of {own} ({100 * passed / own:.1f} %).",
        "",
        "| tests | what fails |",
        "|---|---|",
    ]
    ordered = sorted(
        groups.items(), key=lambda pair: (pair[0] is None or not pair[0].out, -len(pair[1]))
    )
    for one, names in ordered:
        text = "not looked at: " + ", ".join(names) if one is None else one.text
        where = "out of scope: " if one is not None and one.out else ""
        lines.append(f"| {len(names)} | {where}{text} |")
    return "\n".join(lines)
