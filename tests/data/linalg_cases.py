"""Expressions on linear algebra: see `tests.expressions`.

The input matrices have different numbers in no order. `+ 2 * torch.eye(n)` keeps them regular.
"""

_S33 = "(x33 + x33.mT)"
_P33 = "(x33 @ x33.mT + torch.eye(3).double())"
_R33 = "(x33 + 2 * torch.eye(3).double())"
_B233 = "(x233 + 2 * torch.eye(3).double())"

VALUES = [
    f"torch.linalg.inv({_R33})", f"torch.linalg.inv({_B233})", f"torch.inverse({_R33})",
    f"{_R33}.inverse()",
    "torch.linalg.det(x33)", "torch.linalg.det(x233)", "torch.det(x22)", "x33.det()",
    "torch.linalg.det(x33 * torch.tensor([1., 1., 0.]).double())",
    "torch.linalg.det(x22 * 0)",
    f"torch.linalg.slogdet({_R33})", f"torch.slogdet({_B233})", f"torch.logdet({_P33})",
    f"{_R33}.slogdet()",
    f"torch.linalg.solve({_R33}, y32)", f"torch.linalg.solve({_R33}, y3)",
    f"torch.linalg.solve({_B233}, y32)", f"torch.linalg.solve({_R33}, y23, left=False)",
    f"torch.linalg.solve({_B233}, y23)",
    f"torch.linalg.solve_triangular({_R33}, y32, upper=True)",
    f"torch.linalg.solve_triangular({_R33}, y32, upper=False, unitriangular=True)",
    f"torch.linalg.cholesky({_P33})", f"torch.linalg.cholesky({_P33}, upper=True)",
    f"torch.cholesky({_P33})",
    f"torch.cholesky_solve(y32, torch.linalg.cholesky({_P33}))",
    f"torch.cholesky_inverse(torch.linalg.cholesky({_P33}))",
    "torch.linalg.qr(x43)[1].abs()", "torch.linalg.qr(x43)[0] ** 2", "torch.linalg.qr(x33)[1] ** 2",
    "torch.linalg.qr(x34)[1] ** 2", "torch.linalg.qr(x34)[0] ** 2", "torch.linalg.qr(x243)[0] ** 2",
    "torch.linalg.qr(k43, mode='complete')[1].abs()", "torch.linalg.qr(k43, mode='r')[1].abs()",
    f"torch.linalg.eigh({_S33})[0]", f"torch.linalg.eigh({_S33})[1] ** 2",
    f"torch.linalg.eigh({_S33}, UPLO='U')[0]", f"torch.linalg.eigvalsh({_S33})",
    "torch.linalg.eigvalsh(torch.eye(3).double() * x)",
    "torch.linalg.svd(x43, full_matrices=False)[1]",
    "torch.linalg.svd(x43, full_matrices=False)[0] ** 2",
    "torch.linalg.svd(x43, full_matrices=False)[2] ** 2",
    "torch.linalg.svd(x34, full_matrices=False)[2] ** 2",
    "torch.linalg.svd(x34, full_matrices=False)[0] ** 2", f"torch.linalg.svd({_R33})[1]",
    "torch.linalg.svd(k34)[1]", "torch.linalg.svdvals(x34)", "torch.linalg.svdvals(x243)",
    "torch.linalg.pinv(x43)", "torch.linalg.pinv(x34)", "torch.pinverse(x243)",
    "torch.linalg.lstsq(x43, y42)[0]", "torch.linalg.lstsq(k43, k42)[2]",
    "torch.linalg.norm(x34)", "torch.linalg.norm(x34, dim=1)", "torch.linalg.norm(x4, 3)",
    *(
        f"torch.linalg.norm(x34, {order})"
        for order in ("'fro'", "'nuc'", "2", "-2", "1", "-1", "float('inf')", "-float('inf')")
    ),
    "torch.linalg.norm(x234, 'nuc', dim=(0, 2), keepdim=True)",
    "torch.linalg.norm(x234, 1, dim=(2, 0))",
    *(f"torch.linalg.vector_norm(x34, {order}, dim=1)"
      for order in ("0.5", "1", "1.5", "2", "3", "float('inf')", "-float('inf')")),
    "torch.linalg.vector_norm(k34, 0)", "torch.linalg.vector_norm(x234, dim=(0, 2), keepdim=True)",
    "torch.linalg.matrix_norm(x234)", "torch.linalg.matrix_norm(x234, 2, keepdim=True)",
    f"torch.linalg.cond({_R33})", "torch.linalg.cond(k33, 'fro')", "torch.linalg.cond(k33, 1)",
    "torch.linalg.matrix_power(x33, 3)", f"torch.linalg.matrix_power({_R33}, -2)",
    "torch.linalg.matrix_power(x33, 0)", "torch.matrix_power(x33, 5)",
    "torch.linalg.matrix_exp(x33)", "torch.matrix_exp(x233 * 5)",
    "torch.linalg.matrix_rank(k34)", "torch.linalg.matrix_rank(k34 * 0)",
    "torch.linalg.matrix_rank(torch.ones(3, 3))", "torch.linalg.matrix_rank(k234, atol=0.5)",
    "torch.linalg.multi_dot([x3, y34, z42])", "torch.chain_matmul(x34, y42, z23)",
    "torch.linalg.vecdot(x34, y34)", "torch.linalg.vander(k3)", "torch.linalg.diagonal(x234)",
    "torch.linalg.cross(x23, y23)", "torch.linalg.matmul(x34, y42)",
    "x33.logdet().exp()",
]  # fmt: skip

TEXTS = [
    "torch.linalg.slogdet(torch.eye(2))",
    "torch.linalg.eigh(torch.eye(2))",
    "torch.linalg.qr(torch.eye(2))",
    "torch.linalg.svd(torch.eye(2))",
]

ERRORS = [
    "torch.linalg.inv(torch.zeros(2, 2))",
    "torch.linalg.inv(torch.tensor([[1., 2.], [2., 4.]]))",
    "torch.linalg.inv(torch.zeros(3, 2, 2))",
    "torch.linalg.inv(k34)",
    "torch.linalg.inv(k3)",
    "torch.linalg.inv(i33)",
    "torch.linalg.det(k34)",
    "torch.linalg.solve(torch.zeros(2, 2), torch.ones(2, 1))",
    "torch.linalg.solve(k33, k42)",
    "torch.linalg.cholesky(-torch.eye(3))",
    "torch.linalg.cholesky(torch.stack([torch.eye(2), torch.tensor([[1., 2.], [2., 1.]])]))",
    "torch.linalg.eigh(k34)",
    "torch.linalg.eigh(k33, UPLO='X')",
    "torch.linalg.qr(k33, mode='x')",
    "torch.linalg.qr(x43, mode='complete')[0].sum().backward()",
    "torch.linalg.qr(x33, mode='r')[1].sum().backward()",
    "torch.linalg.svd(k3)",
    "torch.linalg.matrix_norm(k34, 3)",
    "torch.linalg.matrix_norm(k3)",
    "torch.linalg.matrix_norm(k34, 'fro', (0, 0))",
    "torch.linalg.multi_dot([k33])",
    "torch.linalg.matrix_power(k34, 2)",
    "torch.linalg.cross(k22, k22)",
]
