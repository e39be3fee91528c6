"""What every other room builds on: errors, dtypes, shapes, and ops that only tensors have."""
