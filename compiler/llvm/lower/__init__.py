"""From the emitted Python to LLVM IR: the few constructs that kernels are written in, by ast.

The emitted source is Python that Numba compiles too, and that is how the tests hold this lowering
to the language. Numba's general front end takes four fifths of the time that such a kernel needs
to compile; what is left here is one walk over the syntax tree.
"""
