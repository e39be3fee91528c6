"""Executables and variables under test, and what plain Python says that they are."""

from __future__ import annotations

import copy
import gc
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.calls.feeds import ARRAYS, FAR, Fed, fed, values
from staticgraph.fuzz.calls.kinds import KINDS, WAYS, Function, Kind, flat
from staticgraph.fuzz.calls.outs import FITS, UNFIT, Outs, outs

Step = dict[str, Any]
KEPT = 6  # results that are watched
REFUSALS = (sg.FeedError, sg.DTypeError, sg.ShapeError)


class WrongError(Exception):
    """What happened is not what plain Python says."""


@dataclass(slots=True)
class Group:
    """Executables that share variables.

    Attributes:
        values: what the variables must be.
    """

    kind: Kind
    executables: dict[str, Any]
    variables: dict[str, Any]
    values: dict[str, Array]

    def function(self, at: int) -> tuple[str, Function]:
        """One of the executables."""
        name = sorted(self.executables)[at % len(self.executables)]
        return name, self.kind.functions[name]

    def check(self) -> None:
        """WrongError unless the variables are what they must be."""
        for name, variable in self.variables.items():
            same(f"the variable {name!r}", variable.value, self.values[name])


def same(what: str, found: object, expected: Array) -> None:
    """WrongError unless an array is what is expected, to the bit."""
    if type(found) is not np.ndarray:
        raise WrongError(f"{what} is a {type(found).__name__}")
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        raise WrongError(
            f"{what} has another type\n{found.dtype}{found.shape} is not "
            f"{expected.dtype}{expected.shape}"
        )
    if not np.array_equal(found, expected):
        raise WrongError(f"{what} is wrong\n{found} is not {expected}")


@dataclass(slots=True)
class Call:
    """A call that is prepared: its arguments, and what must come of it.

    Attributes:
        verdict: FITS or UNFIT.
        expected: outputs, and the next values of variables; None if it must be refused.
        far: whether an index points outside its axis.
    """

    group: Group
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    fed: list[Fed]
    out: Outs | None
    verdict: str
    expected: tuple[Any, dict[str, Array]] | None
    far: bool = False

    def run(self) -> Any:
        """The result."""
        return self.group.executables[self.name](*self.args, **self.kwargs)

    def answered(self, result: Any) -> None:
        """WrongError unless the result, and all that the call was given, is as it must be."""
        if self.expected is None or self.verdict == UNFIT:
            raise WrongError("a call that must be refused is not")
        outputs = self.expected[0]
        shape = result.keys() if isinstance(result, dict) else None
        if type(result) is not type(outputs) or (shape and shape != outputs.keys()):
            raise WrongError(f"a result is of another structure\n{type(result).__name__}")
        found = flat(result)
        for one, wanted in zip(found, flat(outputs), strict=True):
            same("a result", one, wanted)
        self._apart(found)
        self.untouched(finished=True)

    def _apart(self, found: Sequence[Array]) -> None:
        for i, one in enumerate(found):
            if self.out is not None:
                if one is not self.out.arrays[i]:
                    raise WrongError("a result is not the array of out")
                continue
            others = [*(given.value for given in self.fed), *found[:i]]
            if any(isinstance(x, np.ndarray) and np.may_share_memory(x, one) for x in others):
                raise WrongError("a result shares memory with an input or another result")
            if not one.flags.writeable:
                raise WrongError("a result cannot be written to")

    def refused(self, error: Exception) -> None:
        """WrongError unless the error is one that a call like this may raise."""
        if self.far and self.verdict != UNFIT and isinstance(error, sg.OutOfRangeError):
            self.untouched(finished=True)
            return
        traced = self.group.kind.traced
        if not isinstance(error, (*REFUSALS, TypeError) if traced else REFUSALS):
            raise WrongError(f"a call raises {_said(error)}") from error
        if self.verdict == FITS:
            raise WrongError(f"a call that fits is refused\n{_said(error)}") from error
        if not traced and "feed '" not in str(error) and self.name not in str(error):
            raise WrongError(f"an error names no feed\n{_said(error)}") from error
        if self.out is not None and self.out.changed():
            raise WrongError("a refused call has written to out")
        self.untouched(finished=False)

    def untouched(self, finished: bool) -> None:
        """WrongError unless inputs, and what lies around arrays of `out`, are as before."""
        if any(one.changed() for one in self.fed):
            raise WrongError("an input was changed")
        if self.out is not None and self.out.overrun():
            raise WrongError("memory beside an array of out was changed")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}\n{error}"


@dataclass(slots=True)
class World:
    """All groups, and results that must stay as they are."""

    groups: list[Group]
    kept: list[tuple[Array, Array]] = field(default_factory=list)

    def group(self, step: Step) -> Group:
        """The one that a step is about."""
        return self.groups[step["group"] % len(self.groups)]

    def check(self) -> None:
        """WrongError unless every variable and every earlier result is what it must be."""
        for group in self.groups:
            group.check()
        for found, expected in self.kept:
            same("an earlier result", found, expected)

    def prepared(self, step: Step, group: Group | None = None) -> Call:
        """The call that a step asks for."""
        group = self.group(step) if group is None else group
        name, function = group.function(step["function"])
        given = {
            key: self._fed(shape, dtype, _possible(group.kind, spec))
            for (key, (shape, dtype)), spec in zip(
                function.inputs.items(), _cycled(step["feeds"], len(function.inputs)), strict=True
            )
        }
        arrays = traced(function, given) if group.kind.traced else bound(function, given)
        far = arrays is not None and "ids" in arrays and bool((arrays["ids"] >= FAR).any())
        expected = None if arrays is None or far else function.computed(arrays, group.values)
        feeds = list(given.values())
        verdict = FITS if arrays is not None else UNFIT
        args, kwargs, ok = placed(function, given, step["by"])
        verdict = verdict if ok else UNFIT
        out = None
        if step.get("out") and "out" not in function.inputs and not group.kind.traced:
            like = flat(expected[0] if expected else _example(function, group, arrays))
            form, at = step["out"]
            out = outs(form, at, like, feeds, self.kept[-1][0] if self.kept else None)
            kwargs["out"] = out.value
            if out.verdict == UNFIT:
                verdict = UNFIT
        return Call(group, name, args, kwargs, feeds, out, verdict, expected, far)

    def _fed(self, shape: Sequence[int | str], dtype: str, spec: Step) -> Fed:
        known = tuple([spec["sizes"][one] if isinstance(one, str) else one for one in shape])
        array = values(known, dtype, spec["seed"])
        if "repeat" in spec and not shape:
            array = np.full((), spec["repeat"], dtype)
        if spec.get("far") and array.size and dtype == "int64":
            array.flat[-1] = FAR
        if spec["form"] == "kept":
            for kept, _ in self.kept:
                if (kept.shape, kept.dtype) == (array.shape, array.dtype):
                    return Fed(kept, kept.copy())
            return fed("plain", array)
        return fed(spec["form"], array)

    def call(self, step: Step) -> None:
        """Run a call, and compare."""
        call = self.prepared(step)
        try:
            result = call.run()
        except Exception as error:
            call.refused(error)
            if isinstance(error, sg.OutOfRangeError) and call.out is not None:
                self.forget(call.out.arrays)
        else:
            self.answered(call, result)

    def answered(self, call: Call, result: object) -> None:
        """Compare what a call gave, and note what follows from it."""
        call.answered(result)
        assert call.expected is not None
        call.group.values.update(call.expected[1])
        self.keep(call, result)

    def keep(self, call: Call, result: object) -> None:
        """Watch the results of a call from now on, unless they are in an input's memory."""
        given = flat(result)
        inputs = [one.value for one in call.fed if isinstance(one.value, np.ndarray)]
        self.forget(given)
        for one in given:
            if not any(np.may_share_memory(one, x) for x in inputs):
                self.kept.append((one, one.copy()))
        del self.kept[:-KEPT]

    def forget(self, written: Sequence[object]) -> None:
        """Watch no earlier result any more that is in the memory of these arrays."""
        arrays = [one for one in written if isinstance(one, np.ndarray)]
        self.kept = [
            one for one in self.kept if not any(np.may_share_memory(one[0], x) for x in arrays)
        ]

    def assign(self, step: Step) -> None:
        """Assign a value to a variable."""
        group = self.group(step)
        if not group.variables:
            return
        name = sorted(group.variables)[step["variable"] % len(group.variables)]
        value = group.values[name]
        given = fed(step["form"], values(value.shape, value.dtype.name, step["seed"]))
        fits = given.meaning is not None and given.meaning.shape == value.shape
        try:
            group.variables[name].value = given.value
        except REFUSALS as error:
            if fits:
                raise WrongError(f"a value that fits is refused\n{_said(error)}") from error
            if f"variable {name!r}" not in str(error):
                raise WrongError(f"an error names no variable\n{_said(error)}") from error
        except Exception as error:
            raise WrongError(f"an assignment raises {_said(error)}") from error
        else:
            if not fits:
                raise WrongError("a value that must be refused is not")
            assert given.meaning is not None
            group.values[name] = given.meaning
        if given.changed():
            raise WrongError("a value was changed when it was assigned")

    def copied(self, step: Step) -> None:
        """Copy executables, with variables of their own; the copies are called from then on."""
        group = self.group(step)
        name, _ = group.function(step["function"])
        chosen = dict(group.executables) if step["all"] else {name: group.executables[name]}
        how = "pickle" if group.kind.traced and step["how"] == "save" else step["how"]
        made = copies(how, chosen)
        variables = {}
        for one in made.values() if group.variables else ():
            variables.update(one.variables)
        values = {key: group.values[key] for key in variables}
        self.groups.append(Group(group.kind, made, variables, values))

    def drop(self, step: Step) -> None:
        """Forget a group, but for the last."""
        if len(self.groups) > 1:
            del self.groups[step["group"] % len(self.groups)]
            gc.collect()

    def look(self, step: Step) -> None:
        """Ask an executable for something that changes nothing."""
        group = self.group(step)
        name, _ = group.function(step["function"])
        one = group.executables[name]
        if group.kind.traced:
            return
        match step["at"]:
            case "trace":
                feeds = [{**one, "repeat": 3} for one in step["feeds"]]  # it runs op by op
                call = self.prepared({**step, "out": None, "feeds": feeds})
                try:
                    one.trace(*call.args, **call.kwargs)
                except (StaticGraphError, TypeError) as error:
                    if call.verdict == FITS and not call.far:
                        raise WrongError(f"a trace raises {_said(error)}") from error
            case "wait":
                one.wait()
            case "repr":
                repr(one)
            case "graph":
                one.graph.number_of_nodes()


def copies(how: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of executables, which share among themselves what they shared."""
    if how == "copy":
        name, one = next(iter(chosen.items()))
        return {name: copy.copy(one)}
    if how == "deepcopy":
        return copy.deepcopy(dict(chosen))
    if how == "pickle":
        found: dict[str, Any] = pickle.loads(pickle.dumps(dict(chosen)))
        return found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.sg")
        sg.save(chosen, path)
        loaded: dict[str, Any] = sg.load(path)
        return loaded


def bound(function: Function, given: Mapping[str, Fed]) -> dict[str, Array] | None:
    """The arrays of a call; None if one is refused, or sizes contradict each other."""
    sizes: dict[str, int] = {}
    arrays = {}
    for key, (shape, _) in function.inputs.items():
        array = given[key].meaning
        if array is None or array.ndim != len(shape):
            return None
        for size, found in zip(shape, array.shape, strict=True):
            known = sizes.setdefault(size, found) if isinstance(size, str) else size
            if known != found:
                return None
        arrays[key] = array
    return arrays


def traced(function: Function, given: Mapping[str, Fed]) -> dict[str, Array] | None:
    """The arrays of a call of a traced function; None if NumPy refuses them, or one is refused."""
    arrays = {}
    for key, one in given.items():
        if one.meaning is None:
            return None
        arrays[key] = one.meaning
    try:
        function.computed(arrays, {})
    except ValueError:
        return None
    return arrays


def _possible(kind: Kind, spec: Step) -> Step:
    """A feed that means the same to a traced function: it takes lists apart, and any dtype."""
    if not kind.traced or spec["form"] in ARRAYS:
        return spec
    return {**spec, "form": "plain"}


def placed(
    function: Function, given: Mapping[str, Fed], by: str
) -> tuple[list[Any], dict[str, Any], bool]:
    """Arguments by position and by name, and whether they are as they should be."""
    feeds = [(key, one.value) for key, one in given.items()]
    everything = [value for _, value in feeds]
    match by:
        case "name":
            return [], dict(reversed(feeds)), True
        case "mixed":
            return everything[:1], dict(feeds[1:]), True
        case "missing":
            return everything[:-1], {}, not feeds
        case "missing by name":
            return [], dict(feeds[1:]), not feeds
        case "extra":
            return [*everything, np.zeros(2)], {}, False
        case "unknown":
            return everything, {"nobody": np.zeros(2)}, False
        case "twice":
            return everything, dict(feeds[:1]), not feeds
    return everything, {}, True


def _cycled(specs: Sequence[Step], count: int) -> list[Step]:
    return [specs[i % len(specs)] for i in range(count)]


def _example(function: Function, group: Group, arrays: Mapping[str, Array] | None) -> Any:
    """Outputs as those of a call that fails."""
    if arrays is None:
        arrays = {
            key: values(tuple(3 if isinstance(one, str) else one for one in shape), dtype, 0)
            for key, (shape, dtype) in function.inputs.items()
        }
    within = {key: np.where(one == FAR, 0, one) for key, one in arrays.items()}
    return function.computed(within, group.values)[0]


def first(program: Mapping[str, Any]) -> World:
    """The world at the beginning of a program."""
    kind = KINDS[program["kind"]]
    executables, variables = kind.built(WAYS[program["way"]])
    return World([Group(kind, executables, variables, dict(kind.variables))])
