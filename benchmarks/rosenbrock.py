"""The minimum of Rosenbrock's function of 1,000 variables, by solvers of SciPy.

    python benchmarks/rosenbrock.py [NAME ...] [--jax PATH/TO/PYTHON] [--size 1000] [--rounds 3]
        [--seconds 0.5] [--markdown FILE]

The solvers get derivatives from `executable.scipy()`, from functions that `jax.jit` compiles, or
make differences themselves, of SciPy's own `rosen`; trust-ncg, which has to have a gradient, then
has SciPy's `rosen_der`, and makes differences of that. Each contender has a process of its own, of
one thread, and they are measured in turn, compiled before. SLSQP, whose own work grows with the
third power of the size, starts within a hundredth of the minimum, the others at 1.3 and 0.7.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("L-BFGS-B", "trust-ncg", "SLSQP")
OPTIONS: dict[str, dict[str, Any]] = {
    "L-BFGS-B": {"tol": 1e-9, "options": {"maxfun": 10**8, "maxiter": 10**5}},
    "trust-ncg": {"tol": 1e-9},
    "SLSQP": {"tol": 1e-6, "options": {"maxiter": 10**4}},
}


def start(name: str, size: int) -> Any:
    """Where a solver starts."""
    import numpy as np

    if name == "SLSQP":
        return np.random.default_rng(0).uniform(0.99, 1.01, size)
    return np.resize([1.3, 0.7], size)


def rosenbrock(x: Any, total: Callable[[Any], Any]) -> Any:
    """The function, with the library's sum."""
    return total(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_staticgraph(size: int) -> dict[str, Any]:
    """What `minimize` takes: of an executable."""
    import staticgraph as sg

    x = sg.placeholder("x", (None,), "float64")
    f = sg.compile([x], rosenbrock(x, sg.sum)).scipy(start("L-BFGS-B", size))
    return {"fun": f.value_and_grad, "jac": True, "hessp": f.hessp}


def by_jax(size: int) -> dict[str, Any]:
    """The same of JAX, in float64."""
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)

    def f(x: Any) -> Any:
        return rosenbrock(x, jax.numpy.sum)

    both = jax.jit(jax.value_and_grad(f))
    product = jax.jit(lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1])

    def value_and_grad(x: Any) -> tuple[float, Any]:
        value, gradient = both(x)
        return float(value), np.asarray(gradient)

    def hessp(x: Any, v: Any) -> Any:
        return np.asarray(product(x, v))

    return {"fun": value_and_grad, "jac": True, "hessp": hessp}


def by_differences(size: int) -> dict[str, Any]:
    """SciPy's function, of which the solver makes differences."""
    from scipy.optimize import rosen

    return {"fun": rosen}


CONTENDERS = {
    "staticgraph": by_staticgraph, "jax": by_jax, "differences": by_differences,
}  # fmt: skip


def given(kind: str, name: str, functions: dict[str, Any]) -> dict[str, Any]:
    """What a solver is given."""
    from scipy.optimize import rosen_der

    found = {**functions, **OPTIONS[name], "method": name}
    if name != "trust-ncg":
        found.pop("hessp", None)
    elif kind == "differences":
        found.update(jac=rosen_der, hess="2-point")
    return found


def contender(kind: str, names: list[str], size: int) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """For each solver what it found, and the call."""
    from scipy.optimize import minimize

    functions = CONTENDERS[kind](size)
    report, steps = {}, {}
    for name in names:
        options = given(kind, name, functions)
        call = _call(minimize, start(name, size), options)
        found = call()
        share = min(_inside(minimize, start(name, size), options) for _ in range(3))
        report[name] = [
            float(found.fun), float(abs(found.x - 1).max()), int(found.nit), int(found.nfev), share,
        ]  # fmt: skip
        steps[name] = call
    return report, steps


def _call(minimize: Callable[..., Any], x0: Any, options: dict[str, Any]) -> Callable[[], Any]:
    return lambda: minimize(x0=x0, **options)


def _inside(minimize: Callable[..., Any], x0: Any, options: dict[str, Any]) -> float:
    """Seconds of a call inside the functions that it is given."""
    from time import perf_counter

    total = 0.0

    def timed(function: Any) -> Any:
        def run(*arguments: Any) -> Any:
            nonlocal total
            begin = perf_counter()
            try:
                return function(*arguments)
            finally:
                total += perf_counter() - begin

        return run if callable(function) else function

    minimize(x0=x0, **{name: timed(one) for name, one in options.items()})
    return total


CLOSING = """
All end where SciPy's own differences do. SLSQP solves a least-squares problem in all variables at
each iteration: that is nearly all of its time with either gradient, so that how fast a gradient is
decides little, and the ratio of the whole moves about 1 with other work of the machine. What is
spent in the functions that the solver is given is the least of three other calls. On {machine}.
"""
HEADS = (
    "solver", "derivatives", "s", "of ours", "in functions, ms", "minimum", "from 1",
    "iterations", "calls",
)  # fmt: skip


def measured(options: Any) -> list[list[str]]:
    """A row per solver and contender."""
    from staticgraph.compare.scripts import Entrant, raced, running

    names = [one for one in NAMES if not options.names or one in options.names]
    entrants = [
        Entrant(
            kind,
            [kind, names, options.size],
            options.jax if kind == "jax" else sys.executable,
            threads=1,
        )
        for kind in CONTENDERS
        if kind != "jax" or options.jax
    ]
    rows = []
    with running(__file__, entrants) as processes:
        for name, times in raced(processes, names, options.rounds, options.seconds):
            for label, one in times.items():
                value, apart, iterations, calls, share = processes[label].report[name]
                ratio = one.minimum / times["staticgraph"].minimum
                rows.append([
                    name, label, f"{one.minimum:.4f}", f"{ratio:.2f}",
                    f"{1e3 * share:.2f}", f"{value:.1e}", f"{apart:.0e}", str(iterations),
                    str(calls),
                ])  # fmt: skip
    return rows


def main() -> None:
    """The command line."""
    from staticgraph.compare.machine import this_machine
    from staticgraph.compare.scripts import markdown, parser, show

    line = parser(__doc__, rounds=3, seconds=0.5)
    line.add_argument("names", nargs="*", metavar="NAME", help=f"of {NAMES}")
    line.add_argument("--jax", help="an interpreter whose environment has JAX and SciPy")
    line.add_argument("--size", type=int, default=1000)
    line.add_argument("--markdown", type=Path, help="where to write the table")
    options = line.parse_args()
    rows = measured(options)
    show(f"Rosenbrock of {options.size}", HEADS, rows)
    if options.markdown:
        command = shlex.join(["python", *sys.argv]).replace(str(options.jax), "PATH/TO/PYTHON")
        options.markdown.write_text(
            f"# Rosenbrock's function of {options.size} by SciPy\n\nWhat SciPy's solvers take to "
            "the minimum, by where their derivatives come from: minima of seconds of one\n"
            f"thread, without compiling. Written by `{command}`;\n`benchmarks/rosenbrock.py` says "
            "what each is given.\n\n"
            + markdown(HEADS, rows)
            + CLOSING.format(machine=this_machine().processor),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
