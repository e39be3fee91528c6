"""What all of the compiler builds on: types, sizes, the op record, errors, options."""
