"""Sizes of axes that are unknown until run time: integer polynomials over unknowns.

A `Size` is an `int` or a `Dim`. Arithmetic on sizes keeps a normal form (a sum of monomials with
integer coefficients), so that two sizes are equal exactly when they are written equal in it.
Floor division, and max(0, size) from which maximum and minimum are made, are opaque atoms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from numbers import Integral
from typing import Any, TypeAlias

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.pickling import STREAM, Stream
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.size_refusals import Refusals
from staticgraph.compiler.core.whose_code import is_called_by_own

_serials = itertools.count()
_facts: ContextVar[list[Fact] | None] = ContextVar("facts", default=None)
COMPARED = 16
"""The comparisons of unknown sizes in one trace: more are those of a loop that may not end."""
BOUNDED = 12
"""Divisions and maxima of a size of which bounds are looked for: each doubles what that takes."""
NESTED = 64
"""Divisions and maxima within one size of a trace: more are those of a recursion."""


@frozen
class Unknown:
    """An unknown size: `key` identifies it (a name given by the user, or a serial number)."""

    key: str | int
    label: str

    def __str__(self) -> str:
        return self.label

    def order(self) -> tuple[str, ...]:
        """A sort key: the factors of a monomial are sorted.

        No key is the beginning of another, and none has quotes: what compares texts with keys in
        them orders these as the keys are ordered, whatever the sizes are called.
        """
        key = (
            f"{self.key:020}"
            if isinstance(self.key, int)
            else self.key.encode(errors="surrogatepass").hex() + "!"
        )
        return ("unknown", type(self.key).__name__, key)

    def __reduce__(self) -> Any:
        return _unpickled, (STREAM, self.key, self.label)


@frozen
class Opaque:
    """`floordiv` or `max` of two sizes, which have no polynomial form."""

    function: str
    arguments: tuple[Size, ...]
    weight: int = field(init=False, compare=False, default=1)

    def __post_init__(self) -> None:
        inner = [one for one in self.arguments if isinstance(one, Dim)]
        atoms = [atom for one in inner for atoms, _ in one.terms for atom in atoms]
        weights = [atom.weight for atom in atoms if isinstance(atom, Opaque)]
        object.__setattr__(self, "weight", 1 + sum(weights))

    def __str__(self) -> str:
        left, right = self.arguments
        if self.function == "floordiv":
            return f"(({left}) // ({right}))"
        return f"{self.function}({left}, {right})"

    def order(self) -> tuple[str, ...]:
        """A sort key: the factors of a monomial are sorted."""
        return ("opaque", self.function, *map(_key, self.arguments))


Atom: TypeAlias = Unknown | Opaque
Monomial: TypeAlias = tuple[Atom, ...]


def _key(size: Size) -> str:
    """Distinct for distinct sizes, which the text for users is not."""
    return str([(_term_order(term), term[1]) for term in _terms(size)])


def _atom_order(atom: Atom) -> tuple[str, ...]:
    return atom.order()


def _term_order(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[str, ...], ...]]:
    return -len(term[0]), tuple(atom.order() for atom in term[0])


class Dim(Refusals):
    """A size that depends on unknowns; immutable and hashable.

    Example:
        >>> n = sg.placeholder("x", (None,)).shape[0]
        >>> n * 2 + 1
        2*x.0 + 1
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __hash__(self) -> int:
        # an equal int has another hash, so that a set or dict of ints would not find it
        if _facts.get() is not None and not is_called_by_own():
            self._refuse("hashed")
        return self._hash

    @property  # type: ignore[misc] # nobody sets it
    def __class__(self) -> Any:
        """What `isinstance`, patterns and single dispatch go by: for a traced function an int's."""
        return Dim if _facts.get() is None or is_called_by_own() else int

    def __getattr__(self, name: str) -> Any:
        # an int has it: were it said to be missing, the function might go on without
        if hasattr(int, name) and _facts.get() is not None and not is_called_by_own():
            self._refuse(f"asked for {name}")
        raise AttributeError(f"a size that is unknown has no attribute {name!r}")

    def __reduce__(self) -> Any:
        return _in_order, (self.terms,)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms:
            return True
        # the compiler's own comparisons are checked when the sizes are known
        if not isinstance(other, _SIZE) or is_called_by_own(but_eager=True):
            return False
        if _facts.get() is not None or not is_called_by_own():
            self._tell_apart(other)
        return False

    def _tell_apart(self, other: Any) -> None:
        """Note in the trace that the size is another; OptionError outside of one."""
        facts = _facts.get()
        if facts is None:
            self._refuse(f"compared with {other}")
        fact = Fact(self, other if isinstance(other, Dim) else int(other), False)
        if fact not in facts:
            facts.append(fact)
        if len(facts) > COMPARED:
            self._refuse("compared with so much")

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("added to", other)
        total = dict(self.terms)
        for monomial, coefficient in _terms(other):
            total[monomial] = total.get(monomial, 0) + coefficient
        return _normal(total)

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("multiplied by", other)
        if not isinstance(other, Dim):
            factor = int(other)
            return Dim(tuple([(one, a * factor) for one, a in self.terms])) if factor else 0
        product: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = tuple(sorted(left + right, key=_atom_order))
                product[monomial] = product.get(monomial, 0) + a * b
        return _normal(product)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("reduced by", other)
        return self + (-other)

    def __rsub__(self, other: int) -> Size:
        return -self + other

    def __floordiv__(self, other: Size) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("divided by", other)
        return floor_divide(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("what divides", other)
        return floor_divide(other, self)

    def __mod__(self, other: Size) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("divided by", other)
        return self - floor_divide(self, other) * other

    def __rmod__(self, other: int) -> Size:
        if not isinstance(other, _SIZE):
            return self._unable("what divides", other)
        return other - floor_divide(other, self) * self

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        return self // other, self % other

    def __str__(self) -> str:
        # an int has another text
        if _facts.get() is not None and not is_called_by_own():
            self._refuse("made a text")
        return self._text()

    def _text(self) -> str:
        parts = []
        for monomial, coefficient in self.terms:
            factors = [str(atom) for atom in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            parts.append(("-" if coefficient < 0 else "") + "*".join(factors))
        return " + ".join(parts).replace("+ -", "- ")

    __repr__ = __str__

    def atoms(self) -> set[Unknown]:
        """The unknowns that the size depends on."""
        found: set[Unknown] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Unknown):
                    found.add(atom)
                else:
                    for argument in atom.arguments:
                        if isinstance(argument, Dim):
                            found |= argument.atoms()
        return found


Size: TypeAlias = int | Dim


_SIZE = (Dim, Integral)


@frozen
class Fact:
    """What a traced function took for granted of two sizes: that they are equal, or are not."""

    left: Size
    right: Size
    equal: bool

    def holds(self, values: Mapping[Unknown, int]) -> bool:
        """Whether it is so, given the values of the unknowns."""
        return (evaluate(self.left, values) == evaluate(self.right, values)) is self.equal


@contextmanager
def collecting_facts(facts: list[Fact]) -> Iterator[None]:
    """Collect in a list what the code in the block takes for granted of unknown sizes.

    That two sizes differ, where code outside the compiler compared them and found that they are
    not known to be equal; and whatever `assume_equal` is told.
    """
    token = _facts.set(facts)
    try:
        yield
    finally:
        _facts.reset(token)


def is_one(size: Size) -> bool:
    """Whether a size is 1, where what is computed depends on it; one that is unknown is not.

    A trace notes that it is taken for another.
    """
    if isinstance(size, Dim):
        if _facts.get() is not None:
            size._tell_apart(1)
        return False
    return size == 1


def assume_equal(left: Size, right: Size) -> None:
    """Take two sizes for equal, of which at least one is unknown."""
    facts = _facts.get()
    if facts is not None:
        facts.append(Fact(left, right, True))


def unknown(name: str | None = None, label: str = "?") -> Dim:
    """A fresh unknown size, or the one that has this name wherever it appears."""
    atom = Unknown(next(_serials), label) if name is None else Unknown(name, name)
    return Dim((((atom,), 1),))


def _unpickled(stream: Stream, key: str | int, label: str) -> Unknown:
    if isinstance(key, str):
        return Unknown(key, label)
    if key not in stream.unknowns:
        stream.unknowns[key] = Unknown(next(_serials), label)
    found: Unknown = stream.unknowns[key]
    return found


def _in_order(terms: Sequence[tuple[Monomial, int]]) -> Size:
    """The sum of some terms, in whose order unknowns may have other numbers now."""
    return _normal({tuple(sorted(atoms, key=_atom_order)): factor for atoms, factor in terms})


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Dim) else (((), int(size)),)


def _normal(terms: Mapping[Monomial, int]) -> Size:
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Dim(tuple(sorted(kept.items(), key=_term_order)))


def floor_divide(left: Size, right: Size) -> Size:
    """`left // right`, without a division where the divisor is one monomial that divides."""
    if right == 0:
        raise OptionError(f"the size {left} is divided by 0")
    if left == 0:
        return 0
    divisor = _terms(right)
    if len(divisor) == 1:
        quotient = _divide_terms(_terms(left), *divisor[0])
        if quotient is not None:
            return quotient
    if isinstance(right, Dim):
        return _opaque("floordiv", left, right)
    parts = {monomial: divmod(coefficient, int(right)) for monomial, coefficient in _terms(left)}
    whole = _normal({monomial: quotient for monomial, (quotient, _) in parts.items()})
    rest = _normal({monomial: remainder for monomial, (_, remainder) in parts.items()})
    if isinstance(rest, Dim):
        return whole + _opaque("floordiv", rest, int(right))
    return whole + rest // int(right)


def _divide_terms(
    terms: tuple[tuple[Monomial, int], ...], by: Monomial, coefficient: int
) -> Size | None:
    quotient: dict[Monomial, int] = {}
    for monomial, value in terms:
        rest = list(monomial)
        for atom in by:
            if atom not in rest:
                return None
            rest.remove(atom)
        if value % coefficient:
            return None
        quotient[tuple(rest)] = value // coefficient
    return _normal(quotient)


def maximum(left: Size, right: Size) -> Size:
    """The larger of two sizes."""
    return right + _positive(left - right)


def minimum(left: Size, right: Size) -> Size:
    """The smaller of two sizes."""
    return left - _positive(left - right)


def _positive(size: Size) -> Size:
    """`max(0, size)`; of `size` and `-size`, one is expressed by the other."""
    if is_nonnegative(size):
        return size
    if is_nonnegative(-size):
        return 0
    if _terms(size)[0][1] < 0:
        return size + _positive(-size)
    return _opaque("max", 0, size)


def is_nonnegative(size: Size) -> bool:
    """Whether a size is known to be 0 or more, as unknown sizes are; False if it is not known."""
    terms = [term for term in _terms(size) if term[1]]
    if all(factor > 0 and all(map(_atom_is_nonnegative, atoms)) for atoms, factor in terms):
        return True
    if (
        sum(atom.weight for atoms, _ in terms for atom in atoms if isinstance(atom, Opaque))
        > BOUNDED
    ):
        return False
    return any(
        _is_nonnegative_with(size - Dim(((atoms, factor),)), factor, atoms[0])
        for atoms, factor in terms
        if len(atoms) == 1 and isinstance(atoms[0], Opaque)
    )


def _is_nonnegative_with(rest: Size, factor: int, atom: Opaque) -> bool:
    """Whether `rest + factor * atom` is known to be 0 or more by bounds of the atom."""
    if atom.function == "max":
        bounds = (rest, rest + factor * atom.arguments[1])  # of max(0, d), one of the two
        return (any if factor > 0 else all)(map(is_nonnegative, bounds))
    value, by = atom.arguments
    if isinstance(by, Dim) or by < 0:
        return False
    # d // k lies in [(d - k + 1) / k, d / k]
    return is_nonnegative(by * rest + factor * (value - by + 1 if factor > 0 else value))


def _atom_is_nonnegative(atom: Atom) -> bool:
    if isinstance(atom, Unknown) or atom.function == "max":
        return True
    return all(map(is_nonnegative, atom.arguments))


def as_unknown(size: Size) -> Unknown | None:
    """The unknown that a size consists of, or None if it is anything else."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Unknown):
            return monomial[0]
    return None


def _opaque(function: str, left: Size, right: Size) -> Size:
    made = Opaque(function, (left, right))
    result = Dim((((made,), 1),))
    if made.weight > NESTED and _facts.get() is not None:
        raise result._refusal("it is made of too many divisions")
    return result


def product(sizes: Sequence[Size]) -> Size:
    """The number of elements of a shape."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def evaluate(size: Size, values: Mapping[Unknown, int]) -> int:
    """The size as an int, given the values of its unknowns."""
    if isinstance(size, int):
        return size
    total = 0
    for monomial, coefficient in size.terms:
        for atom in monomial:
            coefficient *= _atom_value(atom, values)
        total += coefficient
    return total


def _atom_value(atom: Atom, values: Mapping[Unknown, int]) -> int:
    if isinstance(atom, Unknown):
        if atom not in values:
            raise OptionError(f"the size {atom} has no value")
        return values[atom]
    left, right = (evaluate(argument, values) for argument in atom.arguments)
    return left // right if atom.function == "floordiv" else max(left, right)


def substitute(size: Size, values: Mapping[Unknown, Size]) -> Size:
    """The size with unknowns replaced by other sizes."""
    if isinstance(size, int):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for atom in monomial:
            term = term * _substituted(atom, values)
        total = total + term
    return total


def _substituted(atom: Atom, values: Mapping[Unknown, Size]) -> Size:
    if isinstance(atom, Unknown):
        return values.get(atom, Dim((((atom,), 1),)))
    left, right = (substitute(argument, values) for argument in atom.arguments)
    return floor_divide(left, right) if atom.function == "floordiv" else maximum(left, right)


def atoms(sizes: Sequence[Size]) -> set[Unknown]:
    """The unknowns that any of the sizes depends on."""
    found: set[Unknown] = set()
    for size in sizes:
        if isinstance(size, Dim):
            found |= size.atoms()
    return found
