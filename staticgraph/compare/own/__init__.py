"""The user's own function: run eagerly, compiled, and by peers, over a range of sizes.

`specs.py` reads `--inputs` and `--sweep`, `contest.py` measures in turn, `verdict.py` says what the
figures mean. `contender.py` and `ways/` run in the processes of the contenders, those in the peers'
environments without this project; `ways/substitutes.py` is what the user's file imports there.
"""
