"""Reads one formula, in canonical spelling, into a tree. Recursive descent over at most `TOKENS` tokens, never deeper than `NESTING`.

A node is a tuple: ("number", Fraction), ("symbol", name), or an operator of `evaluation` and its operands.
What has no value of its own to compare (integrals, sums over a range, limits, unknown macros) is unreadable.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from ada.rewards.answers.limits import DIGITS, NESTING, TOKENS, Unreadable

Node = tuple[Any, ...]

FUNCTIONS = set(
    "sin cos tan cot sec csc arcsin arccos arctan arccot asin acos atan sinh cosh tanh "
    "ln log lg exp sqrt abs floor ceil cis gcd lcm max min".split()
)
_OF_SEVERAL = {"gcd", "lcm", "max", "min"}
_CONSTANTS = {"pi", "infty"}
_GREEK = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon "
    "phi varphi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega hbar ell".split()
)
_ACCENTS = {"dot", "ddot", "bar", "overline", "hat", "vec", "tilde", "widehat", "overrightarrow", "mathcal", "mathbb"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil", "|": "|"}
_LETTERS = 5  # a longer run of letters is a word, no product
_TOKEN = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+|\\[{}|]|\d+(?:\.\d*)?|\.\d+|[A-Za-z]+|\S")
_NUMERAL = re.compile(r"\d+\.?\d*|\.\d+")


def read_expression(text: str, tight: bool = False) -> Node:
    """The tree of a formula. `tight`: 1/2x is 1/(2x), else (1/2)x. Raises Unreadable."""
    return _Reader(text, tight).whole()


class _Reader:
    def __init__(self, text: str, tight: bool):
        self.tokens = list(_split(text))
        if not self.tokens or len(self.tokens) > TOKENS:
            raise Unreadable(f"{len(self.tokens)} tokens; 1 to {TOKENS} are read")
        self.position = 0
        self.depth = 0
        self.bars = 0  # absolute values that are open: there, a | closes
        self.tight = tight

    def whole(self) -> Node:
        node = self.sum()
        if self.position < len(self.tokens):
            raise Unreadable(f"unexpected {self.next!r}")
        return node

    @property
    def next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.next
        if not token or (expected is not None and token != expected):
            raise Unreadable(f"{expected or 'more'} expected, found {token!r}")
        self.position += 1
        return token

    def sum(self) -> Node:
        terms = [self.signed(self.product)]
        while self.next in ("+", "-"):
            terms.append(self.signed(self.product))
        return terms[0] if len(terms) == 1 else ("add", *terms)

    def signed(self, operand: Any) -> Node:
        negative = False
        while self.next in ("+", "-"):
            negative ^= self.take() == "-"
        node: Node = operand()
        return ("negative", node) if negative else node

    def product(self) -> Node:
        node = self.power()
        while True:
            if self.next == "*":
                self.take()
                node = _times(node, self.signed(self.power))
            elif self.next == "/":
                self.take()
                node = ("divide", node, self.signed(self.juxtaposed if self.tight else self.power))
            elif self.next in ("\\bmod", "\\mod"):
                self.take()
                node = ("remainder", node, self.power())
            elif self.starts_factor():
                node = _times(node, self.power())
            else:
                return node

    def juxtaposed(self) -> Node:
        """Factors without a sign between them, as in the argument of \\sin 2x."""
        node = self.power()
        while self.starts_factor() and self.next.lstrip("\\") not in FUNCTIONS:
            node = _times(node, self.power())
        return node

    def starts_factor(self) -> bool:
        if _NUMERAL.fullmatch(self.next):  # 5 6 7 is no product
            return self.tokens[self.position - 1] in (")", "]", "}", "!")
        return self.next not in _NEVER_A_FACTOR and not (self.next == "|" and self.bars)

    def power(self) -> Node:
        node = self.atom()
        while True:
            match self.next:
                case "^":
                    self.take()
                    node = ("power", node, self.exponent())
                case "!":
                    self.take()
                    if self.next == "!":
                        raise Unreadable("a double factorial")
                    node = ("factorial", node)
                case "°":
                    self.take()
                    node = ("degrees", node)
                case "%":
                    self.take()
                    node = ("divide", node, ("number", Fraction(100)))
                case "'" if node[0] == "symbol":
                    self.take()
                    node = ("symbol", node[1] + "'")
                case _:
                    return node

    def exponent(self) -> Node:
        if self.next in ("+", "-"):
            return self.signed(self.exponent)
        if self.next in ("(", "{"):
            return self.atom()
        if self.next.isalpha() and len(self.next) == 1:
            return ("symbol", self.take())
        if _NUMERAL.fullmatch(self.next):  # x^10 in plain text is the tenth power
            return _number(self.take())
        return self.atom()

    def argument(self) -> Node:
        """One argument of a TeX macro: a group, or a single digit, letter or macro."""
        if self.next == "{":
            return self.atom()
        if _NUMERAL.fullmatch(self.next) and len(self.next) > 1:
            token = self.next
            self.tokens[self.position : self.position + 1] = [token[0], token[1:]]
        return _number(self.take()) if _NUMERAL.fullmatch(self.next) else self.atom()

    def group(self) -> Node:
        opening = self.take()
        self.bars, bars = int(opening == "|"), self.bars
        node = self.sum()
        self.take(_CLOSING[opening])
        self.bars = bars
        return node

    def atom(self) -> Node:
        self.depth += 1
        if self.depth > NESTING:
            raise Unreadable(f"nested deeper than {NESTING}")
        node = self.atom_at_any_depth()
        self.depth -= 1
        return node

    def atom_at_any_depth(self) -> Node:
        token = self.next
        if _NUMERAL.fullmatch(token):
            return self.number()
        if token in ("(", "[", "{"):
            return self.group()
        if token == "|":
            return ("absolute", self.group())
        if token in ("\\lfloor", "\\lceil"):
            return ("floor" if token == "\\lfloor" else "ceil", self.group())
        name = self.take().removeprefix("\\")
        if name in FUNCTIONS and name != "sqrt":
            return self.function(name)
        match name:
            case "frac":
                return ("divide", self.argument(), self.argument())
            case "binom":
                return ("binomial", self.argument(), self.argument())
            case "sqrt":
                return self.root()
            case "pi" | "infty" | "∞":
                return ("constant", "pi" if name == "pi" else "infinity")
            case "e" | "i":
                return ("constant", name) if self.next != "_" else self.symbol(name)
        if name in _ACCENTS and self.next == "{":
            return self.symbol(f"{name}{self.argument()}")
        if name in _GREEK or (len(name) == 1 and name.isalpha()):
            return self.symbol(name)
        raise Unreadable(f"unexpected {token!r}")

    def number(self) -> Node:
        """A numeral; with a proper fraction after it, a mixed number."""
        numeral = self.take()
        node = _number(numeral)
        start = self.position
        if numeral.isdigit() and self.next == "\\frac":
            fraction = self.atom()
        elif numeral.isdigit() and self.next.isdigit() and self.tokens[start + 1 : start + 2] == ["/"]:
            fraction = ("divide", _number(self.take()), _number(self.tokens[self.position + 1]))
            self.position += 2
        else:
            return node
        if fraction[1][0] == fraction[2][0] == "number" and fraction[1][1] < fraction[2][1]:
            return ("add", node, fraction)
        self.position = start
        return node

    def root(self) -> Node:
        if self.next == "[":
            degree = self.group()
            return ("root", self.argument(), degree)
        if _NUMERAL.fullmatch(self.next):  # \sqrt12 means the root of 12
            return ("root", _number(self.take()), ("number", Fraction(2)))
        return ("root", self.group() if self.next == "(" else self.argument(), ("number", Fraction(2)))

    def symbol(self, name: str) -> Node:
        """A letter with its indices. Directly before a bracket that holds one name or number, as in f(x), it is a function's value."""
        if self.next == "_":
            self.take()
            start = self.position
            self.skip_group() if self.next == "{" else self.take()
            name += "_" + "".join(self.tokens[start : self.position]).strip("{}")
        while self.next == "'":
            name += self.take()
        inner = self.tokens[self.position + 1 : self.position + 3]
        if self.next == "(" and len(inner) == 2 and inner[1] == ")" and (inner[0].isalnum() or inner[0].strip("\\") in _GREEK):
            name += f"({inner[0]})"
            self.position += 3
        return ("symbol", name)

    def skip_group(self) -> None:
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(self.take(), 0)
            if depth == 0:
                return

    def function(self, name: str) -> Node:
        base = power = None
        for _ in range(2):
            if self.next == "_" and base is None:
                self.take()
                base = self.argument()
            elif self.next == "^" and power is None:
                self.take()
                power = self.exponent()
        if name in _OF_SEVERAL and base is None and power is None:
            return (name, *self.several())
        node: Node = (name, self.group() if self.next in ("(", "[", "{") else self.juxtaposed())
        if base is not None:
            if name != "log":
                raise Unreadable(f"{name} with an index")
            node = ("divide", ("ln", node[1]), ("ln", base))
        if name == "cis":
            node = ("add", ("cos", node[1]), ("multiply", ("constant", "i"), ("sin", node[1])))
        if power == ("negative", ("number", Fraction(1))) and name in ("sin", "cos", "tan"):
            return ("arc" + name, node[1])
        return node if power is None else ("power", node, power)

    def several(self) -> list[Node]:
        """Values between brackets, with commas between them."""
        opening = self.take()
        if opening == "{" and self.next == "\\{":  # \max{\{1, 2\}}
            found = self.several()
            self.take("}")
            return found
        if opening not in ("(", "[", "{", "\\{"):
            raise Unreadable("a function of several values without brackets")
        found = [self.sum()]
        while self.next == ",":
            self.take()
            found.append(self.sum())
        self.take(_CLOSING[opening])
        return found


_NEVER_A_FACTOR = {"", *r"\bmod \mod + - * / ) ] } \} \rfloor \rceil ^ _ ! ° % ' , ; : =".split()}


def _split(text: str) -> list[str]:
    tokens: list[str] = []
    for token in _TOKEN.findall(text):
        if not token.isalpha() or not token.isascii() or len(token) == 1 or token in FUNCTIONS | _CONSTANTS | _GREEK:
            tokens.append(token)
            continue
        if len(token) > _LETTERS:
            raise Unreadable(f"the word {token!r}")
        function = next(
            (name for name in sorted(FUNCTIONS, key=len, reverse=True) if token.startswith(name) and len(token) == len(name) + 1), ""
        )
        tokens += [function, token[-1]] if function else list(token)  # sinx; else a product of letters
    return tokens


def _number(numeral: str) -> Node:
    if len(numeral) > DIGITS:
        raise Unreadable(f"a numeral of {len(numeral)} digits; {DIGITS} are read")
    return ("number", Fraction(numeral.rstrip(".") or "0"))


def _times(left: Node, right: Node) -> Node:
    return (*left, right) if left[0] == "multiply" else ("multiply", left, right)
