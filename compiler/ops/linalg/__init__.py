"""Products of matrices, decompositions, systems, functions of matrices."""
