"""Products of matrices that are added to something, as one step that adds in place.

The step of gradient descent, `w - rate * (x.T @ g)`, then adds each part of the gradient while that
is in the cache, and gradients of a matrix that is used twice are added in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.graph.definition import Definition, Node, rebuilt
from staticgraph.compiler.graph.expression import Expression, again


@record
class _Sum(Record):
    """`beta * onto + alpha * product`; `onto` and `product` are nodes."""

    onto: int
    product: int
    alpha: float
    beta: float


def accumulate_products(graph: Definition) -> Definition:
    """The graph in which a product is added to what nothing else needs any more.

    That is the old value of a variable that becomes the sum, or another product or sum. The sum is
    computed as soon as the variable has been read for the last time, so that little is kept for it.
    """
    finder = _Finder(graph)
    sums = finder.sums
    if not sums:
        return graph
    due: dict[int, list[int]] = {}
    for node_id, one in sums.items():
        due.setdefault(finder.ready(node_id, one), []).append(node_id)
    made: dict[int, Expression] = {}
    reports = collector()
    for node in finder.nodes.values():
        if node.id not in sums:
            operands = tuple(made[operand] for operand in node.operands)
            made[node.id] = again(node, operands)
        for node_id in due.get(node.id, ()):
            one, new = sums[node_id], finder.nodes[node_id]
            if reports is not None:
                reports.extend(_joined(finder.nodes[one.product], new))
            factors = (made[operand] for operand in finder.nodes[one.product].operands)
            attrs = {"alpha": one.alpha, "beta": one.beta}
            made[node_id] = Expression(
                ops.gemm, (made[one.onto], *factors), attrs, new.name, new.source, new.type
            )
    return rebuilt(graph, made)


def _joined(product: Node, total: Node) -> Iterator[Report]:
    """A product and the sum that it is added to, as one step."""
    for node, other in ((total, product), (product, total)):
        yield Report(
            "rewritten", node.source, node.op.name, accumulate_products.__name__,
            f"{total.op.name}, {product.op.name} -> gemm, which adds in place",
            ((other.op.name, other.source),),
        )  # fmt: skip


class _Finder:
    def __init__(self, graph: Definition) -> None:
        self.nodes = graph.numbered()
        self.variable = {new: variable for variable, new in graph.updates}
        self.readers: dict[int, list[int]] = {node: [] for node in self.nodes}
        for node in self.nodes.values():
            for operand in node.operands:
                self.readers[operand].append(node.id)
        self.roots = {*graph.outputs, *self.variable}
        self.sums: dict[int, _Sum] = {}
        for node in self.nodes.values():
            found = self._sum(node)
            if found is not None:
                self.sums[node.id] = found

    def _sum(self, node: Node) -> _Sum | None:
        """How a node is a sum that can be computed in place; None if it is not."""
        if node.op not in (ops.add, ops.subtract) or not is_float(node.type.dtype):
            return None
        pairs = [(0, 1, 1.0 if node.op is ops.add else -1.0)]
        if node.op is ops.add:
            pairs.append((1, 0, 1.0))
        for onto, product, sign in pairs:
            beta, base = self._scaled(node.operands[onto])
            alpha, factor = self._scaled(node.operands[product])
            if self._is_product(factor) and self._ends_in(node, base, factor):
                return _Sum(base, factor, sign * alpha, beta)
        return None

    def ready(self, node: int, one: _Sum) -> int:
        """The node after which the sum can be computed, and written over what it is added to."""
        needed = [one.onto, one.product, *self.nodes[one.product].operands]
        readers = (reader for reader in self.readers[one.onto] if reader != node)
        return min(node, max([*needed, *readers]))

    def _scaled(self, node_id: int) -> tuple[float, int]:
        """A constant factor, and what it multiplies."""
        node = self.nodes[node_id]
        if node.op is ops.multiply and self._is_read_once(node_id):
            for factor, other in (node.operands, node.operands[::-1]):
                constant = self.nodes[factor]
                if constant.op is ops.constant and constant.type.ndim == 0:
                    return float(constant.attrs["value"].array), other
        return 1.0, node_id

    def _is_product(self, node_id: int) -> bool:
        node = self.nodes[node_id]
        if node.op is not ops.matmul or not self._is_read_once(node_id):
            return False
        return all(self.nodes[operand].type.ndim == 2 for operand in node.operands)

    def _ends_in(self, node: Node, base: int, product: int) -> bool:
        """Whether `node` may take the memory of `base`."""
        if self.nodes[base].type != node.type or self.nodes[product].type != node.type:
            return False
        if base == self.variable.get(node.id):
            return True
        return self._is_product(base) or (base in self.sums and self._is_read_once(base))

    def _is_read_once(self, node_id: int) -> bool:
        return len(self.readers[node_id]) == 1 and node_id not in self.roots
