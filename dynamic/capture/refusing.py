"""What a captured function is refused whatever it has done before."""

from __future__ import annotations

from typing import NoReturn

from staticgraph.compiler.core.refusals import refuse


class Refusing:
    """The refusals of a capture."""

    def refuse_random(self) -> NoReturn:
        """Refuse a generator of the user's own."""
        refuse(
            "draws from a generator of its own, or seeds one, which a graph would not repeat",
            "draw with the stream of manual_seed(), or outside and pass the numbers as an argument",
        )

    def refuse_write(self) -> NoReturn:
        """Refuse to change a tensor that is not traced."""
        refuse(
            "changes a tensor of the surroundings, once and not at each call",
            "return the new value, and assign it outside",
        )

    def refuse_mode(self, what: str) -> NoReturn:
        """Refuse to tell a mode of the call."""
        refuse(f"{what} asks for the mode of each call", "ask outside, and pass it by keyword")
