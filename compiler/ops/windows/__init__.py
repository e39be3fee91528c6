"""What slides windows over axes: convolutions, pooling, unfolding."""
