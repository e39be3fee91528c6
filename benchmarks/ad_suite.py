r"""A public benchmark of automatic differentiation: ADBench's problems, beside its C++.

    python benchmarks/ad_suite.py PATH/TO/ADBench BUILT [NAME ...] [--threads 1 2]
        [--rounds 3] [--seconds 0.2] [--markdown docs/ad_suite.md]

The C++ has derivatives written by hand, once on plain arrays (Manual), once on Eigen (ManualEigen);
BUILT is a folder with its runner and these modules:

    cd PATH/TO/ADBench/src/cpp
    c++ -std=c++17 -O3 -march=native -o BUILT/CPPRunner runner/*.cpp shared/utils.cpp -ldl
    c++ -std=c++17 -O3 -march=native -shared -fPIC -o BUILT/libManual.so \
        modules/manual/*.cpp shared/utils.cpp
    c++ -std=c++17 -O3 -march=native -shared -fPIC -DDO_EIGEN -DNDEBUG -I PATH/TO/eigen3 \
        -o BUILT/libManualEigen.so modules/manualEigen/*.cpp shared/utils.cpp

Ours are compiled from the same problems in natural formulation (`ad_problems.py`): the function of
one sample or observation, mapped by `vmap`; what runs reads the suite's own files. All run in turn,
in processes of their own. The time of the C++ is what its runner says, the mean of calls in a row;
ours is a median. Both write over the results of the call before. Of each the least of all rounds
counts. The C++ has one thread. A derivative is what the suite asks for: of bundle adjustment the
sparse matrix with its columns, of the others the value too. "apart" is the largest difference of
derivatives, relative to the largest element.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

CASES: dict[str, tuple[str, str, str]] = {
    "gmm, 1,000 samples, d = 10, K = 25": ("GMM", "Gmm", "gmm/1k/gmm_d10_K25"),
    "gmm, 1,000 samples, d = 64, K = 25": ("GMM", "Gmm", "gmm/1k/gmm_d64_K25"),
    "gmm, 10,000 samples, d = 2, K = 50": ("GMM", "Gmm", "gmm/10k/gmm_d2_K50"),
    "gmm, 10,000 samples, d = 10, K = 25": ("GMM", "Gmm", "gmm/10k/gmm_d10_K25"),
    "gmm, 10,000 samples, d = 32, K = 25": ("GMM", "Gmm", "gmm/10k/gmm_d32_K25"),
    "ba, 31,843 observations": ("BA", "Ba", "ba/ba1_n49_m7776_p31843"),
    "ba, 204,472 observations": ("BA", "Ba", "ba/ba4_n372_m47423_p204472"),
    "hand, 544 vertices, 800 points": ("HAND", "Hand", "hand/simple_small/hand5_t26_c800"),
    "hand, 10,000 vertices, 25,600 points": ("HAND", "Hand", "hand/simple_big/hand10_t26_c25600"),
    "hand in triangles, 544 vertices, 800 points": (
        "HAND-COMPLICATED", "HandComplicated", "hand/complicated_small/hand5_t26_c800",
    ),
    "hand in triangles, 10,000 vertices, 25,600 points": (
        "HAND-COMPLICATED", "HandComplicated", "hand/complicated_big/hand10_t26_c25600",
    ),
    "lstm, 2 layers, 1,024 characters": ("LSTM", "Lstm", "lstm/lstm_l2_c1024"),
    "lstm, 4 layers, 4,096 characters": ("LSTM", "Lstm", "lstm/lstm_l4_c4096"),
}  # fmt: skip
"""The kind of each problem for the suite's runner, the class here, and the suite's file."""
MODULES = ("Manual", "ManualEigen")
STEPS = ("objective", "derivative")
CLOSE = 1e-9  # of derivatives: both are exact but for rounding, of sums of up to 10,000 numbers
LONGEST = 60.0  # seconds that the suite's runner may measure


def contender(suite: str, name: str, written: str) -> tuple[Any, dict[str, Callable[[], object]]]:
    """How far our derivative is from the suite's, and what computes objective and derivative."""
    import numpy as np

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import staticgraph as sg
    from benchmarks import ad_problems

    _, kind, file = CASES[name]
    problem = getattr(ad_problems, kind)()
    given = problem.read(Path(suite) / "data" / f"{file}.txt")
    inputs = {
        label: sg.placeholder(label, one.shape, str(one.dtype)) for label, one in given.items()
    }
    arrays = list(given.values())
    steps: dict[str, Callable[[], object]] = {}
    results: dict[str, Any] = {}
    for step in STEPS:
        compiled = sg.compile(list(inputs.values()), getattr(problem, step)(sg, **inputs))
        results[step] = compiled(*arrays)
        steps[step] = partial(compiled, *arrays, out=results[step])
    ours = problem.flat(results["derivative"])
    theirs = ad_problems.numbers(Path(written))[-len(ours) :]
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max()), steps


def run_suite(options: Any, module: str, name: str, folder: Path) -> tuple[float, float]:
    """Seconds of objective and derivative, by the suite's runner; it writes into the folder."""
    kind, _, file = CASES[name]
    library = (options.built / f"lib{module}.so").resolve()
    data = options.suite / "data" / f"{file}.txt"
    into = f"{folder}/{module}_"
    limits = [str(options.seconds), "1", "1", str(LONGEST)]  # a sample's length, samples, in all
    command = [str(options.built.resolve() / "CPPRunner"), kind, str(library), str(data), into]
    subprocess.run([*command, *limits], check=True, stdout=subprocess.DEVNULL)
    times = (folder / f"{module}_{data.stem}_times_lib{module}.txt").read_text().split()
    return float(times[0]), float(times[1])


def measured(options: Any, name: str) -> list[str]:
    """The row of a problem."""
    from staticgraph.compare.scripts import Entrant, running

    theirs: dict[str, list[tuple[float, float]]] = {module: [] for module in MODULES}
    with tempfile.TemporaryDirectory(prefix="staticgraph-suite-") as made:
        folder = Path(made)
        run_suite(options, MODULES[0], name, folder)
        stem = Path(CASES[name][2]).name
        written = folder / f"{MODULES[0]}_{stem}_J_lib{MODULES[0]}.txt"
        entrants = [
            Entrant(str(count), [str(options.suite.resolve()), name, str(written)], threads=count)
            for count in options.threads
        ]
        ours: dict[str, list[float]] = {}
        with running(__file__, entrants) as processes:
            far = max(process.report for process in processes.values())
            if far > CLOSE:
                raise SystemExit(f"{name}: derivatives are {far} apart")
            for _ in range(options.rounds):
                for label, process in processes.items():
                    for step in STEPS:
                        answer = process.ask(do="measure", step=step, seconds=options.seconds)
                        ours.setdefault(f"{step} {label}", []).append(answer["median"])
                for module in MODULES:
                    theirs[module].append(run_suite(options, module, name, folder))
    return row(options.threads, name, theirs, {key: min(times) for key, times in ours.items()}, far)


def row(
    threads: Sequence[int],
    name: str,
    theirs: dict[str, list[tuple[float, float]]],
    ours: dict[str, float],
    far: float,
) -> list[str]:
    """The cells: milliseconds, and ratios to the faster of the suite's modules."""
    best = [min((min(one[i] for one in theirs[m]), m) for m in MODULES) for i in range(len(STEPS))]
    cells = [name]
    for step, (seconds, module) in zip(STEPS, best, strict=True):
        cells.append(f"{seconds * 1e3:.3f} ({module})")
        cells += [f"{ours[f'{step} {count}'] * 1e3:.3f}" for count in threads]
    cells += [f"{ours[f'derivative {count}'] / best[1][0]:.2f}" for count in threads]
    return [*cells, f"{far:.0e}"]


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import markdown, parser, show

    given = parser(__doc__, rounds=3, seconds=0.2)
    given.add_argument("suite", type=Path, help="a checkout of ADBench")
    given.add_argument("built", type=Path, help="the folder of its runner and modules")
    given.add_argument("names", nargs="*", metavar="NAME", help="problems that begin like this")
    given.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of ours")
    given.add_argument("--markdown", type=Path, help="where to write the page")
    options = given.parse_args()
    wanted = tuple(options.names)
    rows = [measured(options, name) for name in CASES if not wanted or name.startswith(wanted)]
    heads = ["problem"]
    for step in STEPS:
        heads += [f"C++ {step}, ms", *(f"ours, {count} thr." for count in options.threads)]
    heads += [*(f"derivative: ours / C++, {count} thr." for count in options.threads), "apart"]
    show("ADBench", heads, rows)
    if options.markdown:
        from staticgraph.compare.machine import this_machine

        text = f"# A public benchmark of automatic differentiation\n\n{__doc__}\n"
        text += f"Measured on {this_machine().processor}.\n\n{markdown(heads, rows)}"
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
