"""The claims, in the words in which they are usually made."""

from __future__ import annotations

from staticgraph.compare.claims import graphs, speed, tape
from staticgraph.compare.claims.records import Claim

CLAIMS = (
    Claim("speed", "Static graphs are computationally faster; dynamic graphs are relatively "
          "slower.", speed.faster),
    Claim("recording", "In a dynamic framework the graph is created for each iteration: to repeat "
          "a computation with new data, the entire set of operations has to be rebuilt.",
          speed.recording),
    Claim("defined_once", "A static graph is defined once, compiled, and can then be executed many "
          "times with different values in the leaf nodes, but cannot be modified.",
          graphs.defined_once),
    Claim("flexible", "Dynamic graphs allow us to change the architecture during run time; static "
          "ones are not flexible.", graphs.flexible),
    Claim("debugging", "Static graphs are not very flexible when it comes to debugging, a black "
          "box; with dynamic ones it is easier to locate the source.", graphs.debugging),
    Claim("beginners", "Static graphs make it difficult to start: another program has to be "
          "written.", speed.decorator),
    Claim("slices", "Slices slow down the backward pass: slice assignment runs almost ten times "
          "slower than concatenation.", speed.slice_assignment),
    Claim("freed", "After the backward pass the graph is freed to save memory; retain_graph=True "
          "keeps it.", tape.freed),
    Claim("second_backward", "A second backward pass through a freed graph is an error, except for "
          "ops so simple that they need no buffers.", tape.second_backward),
    Claim("two_losses", "With several losses, the first backward pass needs retain_graph=True.",
          speed.two_losses),
    Claim("accumulation", "Gradients accumulate: a batch taken in parts gives the same step as the "
          "full batch, which is faster.", speed.accumulation),
    Claim("no_grad", "no_grad reduces memory usage and speeds up computations.", tape.no_grad),
    Claim("four_times", "If you compute a function 4 times you have 4 times the nodes around, as "
          "long as the outputs are in scope; a forward pass without backward is no leak.",
          tape.four_times),
    Claim("frozen", "Before the first operation with trained weights no buffers are kept.",
          tape.frozen),
    Claim("in_place", "Leaves must not take part in in-place operations; what backward needs must "
          "not be overwritten, and clone() helps.", tape.in_place),
    Claim("cases", "References, detach and clone decide which gradients flow, as in z = x + y*y "
          "with y made in five ways.", tape.cases),
)  # fmt: skip
