"""Records what PyTorch says of arguments of wrong kinds: run in an environment with PyTorch.

`python -m tests.data.make_wrong_calls` reads the parameters in `torch_signatures.json`, finds for
each function a call that works, and puts each of `WRONG` in the place of each argument of it. It
writes `wrong_calls.json`: per function the arguments, by position and by name, and per argument a
letter for each of `WRONG`, which says how the call ends: see `LETTERS`.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VALUES: tuple[str, ...] = (
    "x", "1", "i", "b", "0.5", "(0, 1)", "[x, x]", "v", "(3, 3)", "c", "torch.float64", "'mean'",
    "image", "weight", "True", "None", "[1, 1]", "(1,)",
)  # fmt: skip
"""What is tried for an argument, in order."""
LIKELY: dict[str, tuple[str, ...]] = {
    "size": ("(3, 3)",), "dim": ("0", "1"), "index": ("i",), "indices": ("i",), "mask": ("b",),
    "condition": ("b",), "tensors": ("[x, x]", "x"), "dtype": ("torch.float64",), "p": ("0.5", "2"),
    "kernel_size": ("2",), "output_size": ("2",), "weight": ("w", "x"), "vec": ("v",),
    "equation": ("'ij->ji'",), "target": ("i", "x"), "dims": ("(0, 1)",), "n": ("3",),
    "num_samples": ("1",), "out": ("torch.empty(0)",), "k": ("1",), "diagonal": ("0",),
    "name": ("'a'",), "mat1": ("x",), "mat2": ("x",), "generator": ("torch.Generator()",),
}  # fmt: skip
"""What is tried first for an argument of a name."""
WRONG: tuple[str, ...] = (
    "2.5", "'text'", "None", "object()", "x", "iter([x])", "{}", "(1.5,)", "2j", "[]", "len", "-7",
)  # fmt: skip
"""What is put in the place of an argument."""
LETTERS = {
    "TypeError": "T", "ValueError": "V", "RuntimeError": "R", "IndexError": "I",
    "NotImplementedError": "N", "AttributeError": "A", "LinAlgError": "L", "KeyError": "K",
    "AssertionError": "S",
}  # fmt: skip
"""Per class of errors its letter; a call that works is a point, another error a question mark."""
LEFT_OUT = {
    "torch.load", "torch.save", "torch.compile", "torch.set_num_threads", "torch.fork",
    "torch.set_num_interop_threads", "torch.set_default_device", "torch.set_default_dtype",
    "torch.set_default_tensor_type", "torch.set_printoptions", "torch.from_file", "torch.wait",
    "torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode", "torch.seed",
    "torch.set_warn_always", "torch.set_flush_denormal", "torch.set_float32_matmul_precision",
    "torch.manual_seed", "torch.set_grad_enabled", "torch.set_rng_state", "torch.cond",
    "torch.while_loop", "torch.vmap", "torch.lobpcg", "Tensor.backward", "Tensor.register_hook",
    "Tensor.register_post_accumulate_grad_hook", "Tensor.index", "torch.import_ir_module",
    "torch.import_ir_module_from_buffer", "torch.typename", "torch.set_autocast_enabled",
    "Tensor.reinforce", "functional.handle_torch_function", "functional.boolean_dispatch",
    "functional.assert_int_or_pair", "torch.empty", "torch.empty_like", "torch.empty_strided",
    "torch.empty_permuted",
}  # fmt: skip
"""Functions that change settings, run code, or read files."""


def names_in(torch: Any) -> dict[str, Any]:
    """What the texts of arguments are evaluated with: made anew for each call."""
    x = torch.tensor([[0.5, 0.25, 0.125], [0.25, 0.75, 0.5], [0.5, 0.125, 0.875]])
    return {
        "torch": torch, "x": x, "i": torch.tensor([0, 1, 2]), "b": x > 0.3, "v": x[0].clone(),
        "c": torch.complex(x, x), "w": torch.ones(3, 3), "image": torch.ones(1, 3, 4, 4),
        "weight": torch.ones(3, 3, 2, 2),
    }  # fmt: skip


def function_of(torch: Any, name: str) -> Any:
    """The function of a recorded name, or None."""
    space, _, member = name.partition(".")
    spaces = {
        "torch": torch, "Tensor": torch.Tensor, "functional": torch.nn.functional,
        "linalg": torch.linalg, "fft": torch.fft, "special": torch.special,
    }  # fmt: skip
    return getattr(spaces[space], member, None)


def outcome(torch: Any, name: str, args: list[str], options: dict[str, str]) -> Any:
    """None, or the error of a call."""
    given = names_in(torch)
    try:
        values = [eval(text, given) for text in args]
        named = {key: eval(text, given) for key, text in options.items()}
        if name.startswith("Tensor."):
            values.insert(0, given["x"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function_of(torch, name)(*values, **named)
    except Exception as error:
        return error
    return None


def tried(keywords: list[str], most: int = 4) -> Iterator[list[str]]:
    """Arguments by position, the fewest first."""
    for count in range(min(len(keywords), most) + 1):
        pools = [(*LIKELY.get(one, ()), *VALUES)[: 18 if count < 4 else 8] for one in keywords]
        for args in itertools.product(*pools[:count]):
            yield list(args)


def working(torch: Any, name: str, keywords: list[str]) -> tuple[list[str], dict[str, str]] | None:
    """A call that works, with as many of the keywords as can be found."""
    for args in itertools.islice(tried(keywords), 12000):
        if outcome(torch, name, args, {}) is None:
            break
    else:
        return None
    options: dict[str, str] = {}
    for one in keywords[len(args) :]:
        for value in (*LIKELY.get(one, ()), *VALUES):
            if value != "None" and outcome(torch, name, args, options | {one: value}) is None:
                options[one] = value
                break
    return args, options


def letter(error: Exception | None) -> str:
    """How a call ends, in a letter."""
    if error is None:
        return "."
    kinds = [one.__name__.lstrip("_") for one in type(error).__mro__]
    return next((LETTERS[kind] for kind in kinds if kind in LETTERS), "?")


def calls(args: list[str], options: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Per argument its name or place, and the calls with each wrong value there."""
    for place in range(len(args)):
        yield str(place), [([*args[:place], one, *args[place + 1 :]], {}) for one in WRONG]
    for key in options:
        yield key, [(args, {key: one}) for one in WRONG]


if __name__ == "__main__":
    import torch

    folder = Path(__file__).parent
    recorded = {}
    for name, keywords in json.loads((folder / "torch_signatures.json").read_text()).items():
        if name in LEFT_OUT or name.startswith(("torch.sym_", "torch.parse_", "torch.q")):
            continue
        print(name, flush=True)
        found = working(torch, name, keywords)
        if found is not None:
            ends = {
                where: "".join(letter(outcome(torch, name, *call)) for call in made)
                for where, made in calls(*found)
            }
            recorded[name] = [*found, ends]
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in recorded.items()]
    (folder / "wrong_calls.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
