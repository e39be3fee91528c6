"""Whether what executables do, step by step, is what plain Python says."""

from __future__ import annotations

from staticgraph.fuzz.calls.interrupted import interrupted
from staticgraph.fuzz.calls.together import forked, threaded
from staticgraph.fuzz.calls.world import Step, World, WrongError, first
from staticgraph.fuzz.campaign import Program


def check(program: Program) -> str | None:
    """What is wrong with a program."""
    world = first(program)
    try:
        for step in program["steps"]:
            do(world, step)
            world.check()
    except WrongError as error:
        return str(error)
    return None


def do(world: World, step: Step) -> None:
    """One step."""
    match step["do"]:
        case "call":
            world.call(step)
        case "assign":
            world.assign(step)
        case "copy":
            world.copied(step)
        case "drop":
            world.drop(step)
        case "look":
            world.look(step)
        case "threads":
            threaded(world, step)
        case "fork":
            forked(world, step, do)
        case "interrupt":
            interrupted(world, step)
        case other:
            raise ValueError(f"no such step: {other}")
