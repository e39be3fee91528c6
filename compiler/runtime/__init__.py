"""What a compiled graph runs on: executables, threads, the kernel cache, the BLAS."""
