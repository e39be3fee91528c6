"""Record what PyTorch's layers, losses and functions do, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_nn_fixtures

writes tests/data/nn_values.npz, the inputs, states, outputs and gradients of each case of
`nn_cases` in float64, and tests/data/nn_texts.json, the printed forms, errors and warnings of
`nn_texts`.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import torch

from tests.data.nn_cases import CASES, draw, run
from tests.data.nn_texts import ERRORS, REPRS, WARNINGS, namespace

HERE = Path(__file__).parent


def _values() -> None:
    """All arrays one after the other, and where each of them is."""
    rng = np.random.default_rng(0)
    flat, index = [], {}
    for case in CASES:
        inputs = [draw(spec, rng) for spec in case.inputs]
        arrays = {f"in {i}": np.asarray(array) for i, array in enumerate(inputs)}
        arrays |= run(torch, case, inputs)
        index[case.name] = [[key, str(a.dtype), a.shape] for key, a in arrays.items()]
        flat += [np.asarray(a, np.float64).reshape(-1) for a in arrays.values()]
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(HERE / "nn_values.npz", values=np.concatenate(flat), index=text)


def _error(program: str) -> list[str]:
    try:
        exec(program, namespace(torch))
    except Exception as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"no error: {program}")


def _warning(program: str) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(program, namespace(torch))
    (warning,) = caught
    return str(warning.message)


def main() -> None:
    """Run all cases and write the files."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _values()
        texts = {
            "version": torch.__version__,
            "reprs": {text: repr(eval(text, namespace(torch))) for text in REPRS},
            "errors": {text: _error(text) for text in ERRORS},
        }
    texts["warnings"] = {text: _warning(text) for text in WARNINGS}
    (HERE / "nn_texts.json").write_text(json.dumps(texts, indent=1) + "\n")


if __name__ == "__main__":
    main()
