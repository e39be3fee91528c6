"""From the loop IR to LLVM IR.

The loop IR's text is Python that Numba compiles too, and that is how the tests hold this lowering
to the language. Numba's general front end takes four fifths of the time that such a kernel needs
to compile; what is left here is one walk over the records.
"""
