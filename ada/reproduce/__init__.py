"""The paper's comparison on the micro-world: all methods, several seeds, one command (`ada reproduce`).

experiment (what is run) -> runs (runs it, within a budget of time) -> outcome (what each run came to) -> tables, figures, claims -> page.
"""
