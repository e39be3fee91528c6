"""Fused groups become Python source, which is lowered to LLVM, and a program that runs it."""
