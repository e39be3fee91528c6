"""The ops that are exported as `special` alone: the public ones of each family."""

from staticgraph.compiler.ops.bessel import *
from staticgraph.compiler.ops.exponential import erfinv as erfinv
from staticgraph.compiler.ops.incomplete import *
from staticgraph.compiler.ops.normal import ndtri as ndtri
