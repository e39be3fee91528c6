"""How the routines of a BLAS are called."""

# Calling conventions: cblas with 64-bit or 32-bit integers, Fortran with 32-bit integers.
CBLAS64, CBLAS32, FORTRAN32 = 0, 1, 2
CBLAS_COLUMN_MAJOR, CBLAS_NO_TRANS = 102, 111

# One letter per argument: t transposition, i integer, s scalar, p pointer.
GEMM = "ttiiispipispi"  # transa transb m n k alpha a lda b ldb beta c ldc
GEMV = "tiispipispi"  # trans m n alpha a lda x incx beta y incy
