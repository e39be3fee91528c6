"""What is said of static and dynamic graphs, measured: the page "static or dynamic?".

A claim is a record with a function that measures it (`records.py`); `table.py` lists them all, and
`page.py` runs them and writes the page. Verdicts follow from the figures of the run.
"""
