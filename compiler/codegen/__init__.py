"""Groups as source of explicit loops, and the program that runs them."""
