"""The functions of the C library that object code may need."""

C_LIBRARY = frozenset({
    "__bzero", "bzero", "fmod", "fmodf", "memcpy", "memmove", "memset", "memset_pattern16",
    "ceil", "ceilf", "floor", "floorf", "fma", "fmaf", "roundeven", "roundevenf", "trunc", "truncf",
    "ldexp", "ldexpf", "nextafter", "nextafterf", "tgamma", "tgammaf",
})  # fmt: skip
"""What LLVM calls for loops that copy or fill, for the exact remainder of floats, and for what a
processor before 2013 has no instruction for; and what only functions of users call."""
