"""All cases."""

from __future__ import annotations

from tests.derivatives.arrays import ARRAYS
from tests.derivatives.drawn import DRAWN
from tests.derivatives.elements import ELEMENTS
from tests.derivatives.others import OTHERS

CASES = [*ELEMENTS, *ARRAYS, *OTHERS, *DRAWN]
