"""The ops that are exported as `special` alone: the public ones of each family."""

from compiler.ops.bessel import *
from compiler.ops.exponential import erfinv as erfinv
from compiler.ops.incomplete import *
from compiler.ops.normal import ndtri as ndtri
