"""Bounds that make scoring end soon in any thread, without alarms. What exceeds one is unreadable, and matches only its own spelling."""

from __future__ import annotations

ANSWER_CHARACTERS = 2_000  # of one extracted answer; the longest gold of the benchmarks has 245
TOKENS = 600  # of one formula
NESTING = 25  # brackets, fractions, roots, exponents inside one another
ITEMS = 100  # of one list, tuple, set or matrix
PLUS_MINUS = 4  # signs ± in one item; each doubles the values it stands for
DIGITS = 2_000  # of one numeral; Python itself refuses to convert more than 4300
EXACT_BITS = 1 << 14  # a rational number beyond this goes on as a rounded one
EXPONENT = 1_000_000  # |exponent| of a power
MAGNITUDE_BITS = 10_000_000  # log2 of the largest number that is computed at all
FACTORIAL = 3_000  # argument of a factorial, upper argument of a binomial coefficient: twice this
ARGUMENT_BITS = 400  # log2 of an argument of sin, floor, ...: reducing it takes as many bits more


class Unreadable(ValueError):
    """The text has no reading within the grammar and the bounds."""
