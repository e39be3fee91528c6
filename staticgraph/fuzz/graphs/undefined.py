"""What no comparison can be made with."""


class UndefinedError(Exception):
    """A value depends on the order in which something is computed.

    A part of a sum overflows, say, or a matrix is singular but for rounding.
    """
