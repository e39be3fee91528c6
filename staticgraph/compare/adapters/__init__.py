"""How each contender is set up and run; `server.py` loads these modules by path.

Each has `load(task) -> (library, version)` and
`prepare(library, task, model, arrays, timed) -> (run, results)`: `run()` does the workload once and
returns when its result is there, `results()` are the arrays that the contenders are compared by,
the loss first. `timed(phase)` is a context that adds to the seconds of a phase. An adapter imports
its own framework and NumPy, so that it works in an environment where nothing else is installed.
"""
