"""Logs for TensorBoard (torch.utils.tensorboard), written by the package tensorboardX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.compiler.core.pytree import leaves, mapped
from staticgraph.compiler.core.source import scope_of
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.tape.grad_mode import enable_grad
from staticgraph.dynamic.tape.nodes import next_number
from staticgraph.dynamic.tensors.tensor import Tensor

try:
    import tensorboardX
    from tensorboardX.proto import graph_pb2
except ImportError:
    raise MissingExtraError(
        "torch.utils.tensorboard: tensorboardX is not installed: pip install "
        "'staticgraph[tensorboard]'"
    ) from None

__all__ = ["SummaryWriter"]


class _Node(NamedTuple):
    """A node as TensorBoard shows it: a name with slashes is in boxes, which open."""

    name: str
    op: str
    inputs: tuple[str, ...]
    about: str


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc]
    """tensorboardX's writer of logs: its methods take tensors too, `add_graph` ours alone.

    Example:
        >>> from dynamic.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter("runs") as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", dynamic.tensor(1.0 / (1 + step)), step)
        ...     writer.add_graph(dynamic.nn.Linear(3, 2), dynamic.ones(1, 3))
    """

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Write the graph of a module, called with an input or several, or of an executable.

        Of a module what leads to its outputs, in boxes of its parts; of an executable its graph, in
        boxes of its scopes.

        Raises:
            TypeError: `model` is neither.
        """
        if isinstance(model, Module):
            nodes = _of_module(model, input_to_model)
        elif hasattr(model, "graph") and hasattr(model, "feeds"):
            nodes = list(_of_graph(model.graph))
        else:
            raise ArgumentError(f"add_graph: {type(model).__name__} is no Module and no executable")
        if verbose:
            print(*(f"{one.name} = {one.op}{one.inputs} {one.about}" for one in nodes), sep="\n")
        self._get_file_writer().add_onnx_graph(_written(nodes))  # writes any, without times


def _taking_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of tensorboardX, to which tensors go as arrays."""

    @functools.wraps(method)
    def taken(self: object, *args: object, **kwargs: object) -> Any:
        args, kwargs = mapped(_as_array, (args, kwargs))
        return method(self, *args, **kwargs)

    return taken


def _as_array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


for _name in dir(tensorboardX.SummaryWriter):
    if _name.startswith("add_") and _name != "add_graph":
        setattr(SummaryWriter, _name, _taking_tensors(getattr(tensorboardX.SummaryWriter, _name)))


def _written(nodes: Sequence[_Node]) -> Any:
    graph = graph_pb2.GraphDef()
    graph.versions.producer = 22
    for one in nodes:
        made = graph.node.add(name=one.name, op=one.op, input=one.inputs)
        made.attr["about"].s = one.about.encode(errors="backslashreplace")
    return graph


def _of_graph(graph: Any) -> Iterator[_Node]:
    """The nodes of the networkx DAG of an executable."""
    names = {}
    for node, data in graph.nodes(data=True):
        path = "/".join(map(_plain, (*scope_of(data["source"]), data["name"] or data["op"].name)))
        names[node] = f"{path}_{node}"
        inputs = tuple([names[tail] for tail, _ in graph.in_edges(node)])
        yield _Node(names[node], data["op"].name, inputs, f"{data['type']} {data['source']}")


def _of_module(model: Module, given: Any) -> list[_Node]:
    """The nodes of the tape of a call, each in the innermost part whose call made it."""
    inputs = [_leaf(one) for one in (given if isinstance(given, tuple | list) else [given])]
    spans: list[tuple[int, int, str]] = []
    begun: list[int] = []
    handles = []
    for path, part in model.named_modules():
        handles.append(part.register_forward_pre_hook(lambda *_: begun.append(next_number())))
        handles.append(
            part.register_forward_hook(
                lambda *_, path=path: spans.append((begun.pop(), next_number(), path))
            )
        )
    try:
        with enable_grad():
            outputs = [one for one in leaves(model(*inputs)) if isinstance(one, Tensor)]
    finally:
        for handle in handles:
            handle.remove()
    known = {id(one): name for name, one in model.named_parameters()}
    known |= {id(one): f"input_{i}" for i, one in enumerate(inputs)}
    title = _plain(type(model).__name__)

    def name_of(node: Any) -> str:
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            return "/".join((title, *map(_plain, known.get(id(leaf), "tensor").split("."))))
        path = next((path for begin, end, path in spans if begin < node.serial < end), "")
        inside = [_plain(one) for one in path.split(".") if one]
        return "/".join((title, *inside, f"{_plain(node.name())}_{node.serial}"))

    return _walked([one.grad_fn for one in outputs if one.grad_fn is not None], name_of)


def _leaf(value: Any) -> Any:
    """An input that is on the tape, if it may be."""
    if not isinstance(value, Tensor) or not is_inexact(value._array.dtype):
        return value
    return value.detach().requires_grad_()


def _walked(roots: list[Any], name_of: Callable[[Any], str]) -> list[_Node]:
    """Nodes and all that lead to them, each once, without recursion."""
    found: dict[Any, _Node] = {}
    while roots:
        node = roots.pop()
        if node in found:
            continue
        before = [one for one, _ in node.next_functions if one is not None]
        size = f"{list(getattr(node, 'shape', ()))}"
        found[node] = _Node(name_of(node), node.name(), tuple(map(name_of, before)), size)
        roots += before
    return list(found.values())


def _plain(text: str) -> str:
    """Text as a part of a name in TensorBoard, which knows letters, digits and _.-"""
    return "".join(
        one if one.isascii() and (one.isalnum() or one in "_.-") else "_" for one in text
    )
