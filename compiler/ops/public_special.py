"""The ops that are exported as `special` alone: the public ones of each family."""

from staticgraph.compiler.ops.elementwise.bessel import *
from staticgraph.compiler.ops.elementwise.exponential import erfinv as erfinv
from staticgraph.compiler.ops.elementwise.incomplete import *
from staticgraph.compiler.ops.elementwise.normal import ndtri as ndtri
