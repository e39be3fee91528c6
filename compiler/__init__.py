"""The compiler: op library, graph, passes, emission and runtime; imports neither frontend."""
