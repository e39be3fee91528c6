"""The on-disk kernel cache: machine code by the hash of all that it was made of."""
