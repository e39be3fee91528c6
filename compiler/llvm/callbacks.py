"""Functions that C calls on float64, around programs: what SciPy's `LowLevelCallable` points to.

    double numbers(int n, double *x, void *words)
    int window(double *x, intptr_t n, double *result, void *words)

`words` has the addresses of the loop that runs programs, of the program, its table, the words of
the call, and the result, then how many numbers x has, and for each input its entry in the table and
where in x it begins. Its address is put there, so that nothing is copied. A call that does not fit,
or fails, gives nan from the first, and 0, which is failure to SciPy, from the second.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.llvm.machine import target_machine

RUN, PROGRAM, TABLE, WATCH, RESULT, COUNT, INPUTS, FIRST = range(8)
"""The places of the words; pairs of an entry and a beginning start at FIRST."""

NUMBERS, WINDOW = "numbers", "window"

_SOURCE = f"""
define internal i64 @run(i64 %n, ptr %x, ptr %words) {{
entry:
  %count.at = getelementptr i64, ptr %words, i64 {COUNT}
  %count = load i64, ptr %count.at
  %fits = icmp eq i64 %n, %count
  br i1 %fits, label %begin, label %unfit
begin:
  %inputs.at = getelementptr i64, ptr %words, i64 {INPUTS}
  %inputs = load i64, ptr %inputs.at
  %table.at = getelementptr i64, ptr %words, i64 {TABLE}
  %table = load ptr, ptr %table.at
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %put ]
  %more = icmp slt i64 %i, %inputs
  br i1 %more, label %put, label %call
put:
  %twice = mul i64 %i, 2
  %pair = add i64 %twice, {FIRST}
  %entry.at = getelementptr i64, ptr %words, i64 %pair
  %place = load i64, ptr %entry.at
  %start.at = getelementptr i64, ptr %entry.at, i64 1
  %start = load i64, ptr %start.at
  %from = getelementptr double, ptr %x, i64 %start
  %slot = getelementptr i64, ptr %table, i64 %place
  store ptr %from, ptr %slot
  %after = add i64 %i, 1
  br label %next
call:
  %run.at = getelementptr i64, ptr %words, i64 {RUN}
  %run = load ptr, ptr %run.at
  %program.at = getelementptr i64, ptr %words, i64 {PROGRAM}
  %program = load ptr, ptr %program.at
  %watch.at = getelementptr i64, ptr %words, i64 {WATCH}
  %watch = load ptr, ptr %watch.at
  %status = call i64 %run(ptr %program, ptr %table, ptr %watch)
  ret i64 %status
unfit:
  ret i64 -1
}}

define internal double @result(ptr %words) {{
  %result.at = getelementptr i64, ptr %words, i64 {RESULT}
  %result = load ptr, ptr %result.at
  %value = load double, ptr %result
  ret double %value
}}

define double @{NUMBERS}(i32 %n, ptr %x, ptr %words) {{
  %count = sext i32 %n to i64
  %status = call i64 @run(i64 %count, ptr %x, ptr %words)
  %done = icmp eq i64 %status, 0
  %value = call double @result(ptr %words)
  %given = select i1 %done, double %value, double 0x7FF8000000000000
  ret double %given
}}

define i32 @{WINDOW}(ptr %x, i64 %n, ptr %out, ptr %words) {{
  %status = call i64 @run(i64 %n, ptr %x, ptr %words)
  %done = icmp eq i64 %status, 0
  %value = call double @result(ptr %words)
  store double %value, ptr %out
  %given = zext i1 %done to i32
  ret i32 %given
}}
"""


@Once
def _engine() -> Any:
    module = llvm.parse_assembly(_SOURCE)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, target_machine())
    engine.finalize_object()
    return engine


def callback_address(name: str) -> int:
    """The address of one of the functions, which stays as long as the process."""
    return int(_engine().get_function_address(name))
