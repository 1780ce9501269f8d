"""The value of a formula at given values of its symbols: an exact fraction where it can be, else a rounded number of 80 digits.

Each operation bounds its own result first, so an evaluation takes milliseconds whatever the formula. Thread-safe: the precision
belongs to the thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mpmath.ctx_mp import MPContext

from ada.rewards.answers.expression import Node
from ada.rewards.answers.limits import ARGUMENT_BITS, EXACT_BITS, EXPONENT, FACTORIAL, MAGNITUDE_BITS, Unreadable

Number = Any  # Fraction, or mpf or mpc of this thread's context

_DIGITS = 80
_CANCELLED = Fraction(1, 10**60)  # a sum this small against its largest term is zero
_EQUAL = Fraction(1, 10**30)  # relative difference below which two rounded numbers are the same
_local = threading.local()


class Undefined(Unreadable):
    """The formula has no value here: a division by zero, or the root of a negative number among the reals."""


def context() -> MPContext:
    if not hasattr(_local, "context"):
        _local.context = MPContext()
        _local.context.dps = _DIGITS
    return _local.context


def evaluate(node: Node, values: Mapping[str, Number], real: bool) -> Number:
    """`real`: what is not a real number is undefined. Infinity is +inf or -inf. Raises Undefined, and Unreadable beyond the bounds."""
    operator, *operands = node
    match operator:
        case "number":
            return operands[0]
        case "symbol":
            return values[operands[0]]
        case "constant":
            return _constant(operands[0], real)
    numbers = [evaluate(operand, values, real) for operand in operands]
    try:
        result = _OPERATIONS[operator](*numbers)
    except Unreadable:
        raise
    except (ZeroDivisionError, OverflowError, ValueError, TypeError, KeyError) as error:
        raise Undefined(f"{operator}: {error}") from None
    return _checked(result, real)


def equal(a: Number, b: Number) -> bool:
    """Exactly, where both are exact; else up to rounding, relative to the larger."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    mp = context()
    a, b = rounded(a), rounded(b)
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return bool(a == b)
    return bool(abs(a - b) <= rounded(_EQUAL) * max(abs(a), abs(b)))


def rounded(x: Number) -> Number:
    mp = context()
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.convert(x)  # x may stem from another thread


def symbols(node: Node) -> set[str]:
    if node[0] == "symbol":
        return {node[1]}
    return set().union(*(symbols(operand) for operand in node[1:] if isinstance(operand, tuple)))


def constants(node: Node) -> set[str]:
    if node[0] == "constant":
        return {node[1]}
    return set().union(*(constants(operand) for operand in node[1:] if isinstance(operand, tuple)))


def _checked(x: Number, real: bool) -> Number:
    mp = context()
    if isinstance(x, Fraction):
        if x.numerator.bit_length() + x.denominator.bit_length() <= EXACT_BITS:
            return x
        x = rounded(x)
    if mp.isnan(x):
        raise Undefined("not a number")
    if isinstance(x, mp.mpc):
        if x.imag == 0 or abs(x.imag) < rounded(_CANCELLED) * abs(x.real):
            x = x.real
        elif real:
            raise Undefined("not a real number")
    if mp.isfinite(x) and x and abs(mp.mag(x)) > MAGNITUDE_BITS:
        raise Unreadable("a number beyond the bounds")
    return x


def _constant(name: str, real: bool) -> Number:
    mp = context()
    if name == "i":
        if real:
            raise Undefined("i is not real")
        return mp.mpc(0, 1)
    return {"pi": +mp.pi, "e": +mp.e, "infinity": mp.inf}[name]


def _add(*terms: Number) -> Number:
    total: Number = Fraction(0)
    for term in terms:
        exact = isinstance(total, Fraction) and isinstance(term, Fraction)
        total = _checked(total + term if exact else rounded(total) + rounded(term), real=False)
    if isinstance(total, Fraction):
        return total
    largest = max(abs(rounded(term)) for term in terms)
    return Fraction(0) if abs(total) < rounded(_CANCELLED) * largest else total


def _multiply(*factors: Number) -> Number:
    result: Number = Fraction(1)
    for factor in factors:
        exact = isinstance(result, Fraction) and isinstance(factor, Fraction)
        result = _checked(result * factor if exact else rounded(result) * rounded(factor), real=False)
    return result


def _divide(a: Number, b: Number) -> Number:
    if b == 0:
        raise Undefined("division by zero")
    return a / b if isinstance(a, Fraction) and isinstance(b, Fraction) else rounded(a) / rounded(b)


def _power(base: Number, exponent: Number) -> Number:
    mp = context()
    if not mp.isfinite(rounded(exponent)) or not mp.isfinite(rounded(base)):
        return rounded(base) ** rounded(exponent)
    if abs(exponent) > EXPONENT:
        raise Unreadable("an exponent beyond the bounds")
    if base == 0:
        if isinstance(exponent, Fraction) and exponent > 0:
            return Fraction(0)
        raise Undefined("zero to a power that is not positive")
    if abs(mp.mag(rounded(base))) * abs(rounded(exponent)) > MAGNITUDE_BITS:
        raise Unreadable("a power beyond the bounds")
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        power = int(exponent)
        if isinstance(base, Fraction) and (math.log2(abs(base.numerator)) + math.log2(base.denominator)) * abs(power) < EXACT_BITS:
            return base**power
        return rounded(base) ** power
    if isinstance(exponent, Fraction) and exponent.denominator == 2 and isinstance(base, Fraction) and base > 0:
        return _power(_root(base, Fraction(2)), Fraction(exponent.numerator))
    return mp.power(rounded(base), rounded(exponent))


def _root(x: Number, degree: Number) -> Number:
    if not isinstance(degree, Fraction) or degree.denominator != 1 or not 1 <= degree <= 1000:
        return _power(x, _divide(Fraction(1), degree))
    n = int(degree)
    mp = context()
    if n % 2 and not isinstance(x, mp.mpc) and x < 0:  # the real cube root, not the principal one
        return -_root(-x, degree)
    if isinstance(x, Fraction) and n == 2 and x >= 0:
        numerator, denominator = math.isqrt(x.numerator), math.isqrt(x.denominator)
        if numerator**2 == x.numerator and denominator**2 == x.denominator:
            return Fraction(numerator, denominator)
    return mp.root(rounded(x), n)


def _factorial(n: Number) -> Number:
    mp = context()
    if isinstance(n, mp.mpc) or not 0 <= n <= FACTORIAL:
        raise Undefined(f"a factorial outside 0 to {FACTORIAL}")
    exact = isinstance(n, Fraction) and n.denominator == 1
    return Fraction(math.factorial(int(n))) if exact else mp.factorial(rounded(n))


def _binomial(n: Number, k: Number) -> Number:
    mp = context()
    if isinstance(n, mp.mpc) or isinstance(k, mp.mpc) or not 0 <= k <= n or n > 2 * FACTORIAL:
        raise Undefined(f"a binomial coefficient outside 0 to {2 * FACTORIAL}")
    exact = isinstance(n, Fraction) and isinstance(k, Fraction) and n.denominator == k.denominator == 1
    return Fraction(math.comb(int(n), int(k))) if exact else mp.binomial(rounded(n), rounded(k))


def _integers(numbers: Sequence[Number]) -> list[int]:
    if not all(isinstance(x, Fraction) and x.denominator == 1 for x in numbers):
        raise Undefined("a divisor of what is no integer")
    return [int(x) for x in numbers]


def _remainder(a: Number, b: Number) -> Number:
    dividend, divisor = _integers((a, b))
    return Fraction(dividend % divisor)


def _extreme(choose: Callable[[Sequence[Number]], Number]) -> Callable[..., Number]:
    def apply(*numbers: Number) -> Number:
        if any(isinstance(x, context().mpc) for x in numbers):
            raise Undefined("an order of complex numbers")
        return choose(numbers if all(isinstance(x, Fraction) for x in numbers) else [rounded(x) for x in numbers])

    return apply


def _logarithm(x: Number) -> Number:
    if x == 0:
        raise Undefined("the logarithm of zero")
    return Fraction(0) if x == 1 else context().ln(rounded(x))


def _exponential(x: Number) -> Number:
    return _power(+context().e, x)


def _absolute(x: Number) -> Number:
    return abs(x)


def _argument(x: Number) -> Number:
    x = rounded(x)
    if context().mag(x) > ARGUMENT_BITS:
        raise Unreadable("an argument beyond the bounds")
    return x


def _whole(name: str) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        mp = context()
        nearest = Fraction(int(mp.nint(_argument(x))))
        return nearest if equal(nearest, x) else Fraction(int(getattr(mp, name)(rounded(x))))

    return apply


def _periodic(name: str) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        value = getattr(context(), name)(_argument(x))
        return Fraction(0) if abs(value) < rounded(_CANCELLED) else value  # sin of a rounded multiple of pi

    return apply


def _reciprocal(name: str) -> Callable[[Number], Number]:
    plain = _periodic(name)
    return lambda x: _divide(Fraction(1), plain(x))


def _smooth(name: str) -> Callable[[Number], Number]:
    return lambda x: Fraction(0) if x == 0 and name != "acos" else getattr(context(), name)(_argument(x))


_OPERATIONS: dict[str, Callable[..., Number]] = {
    "add": _add,
    "negative": lambda x: -x,
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "root": _root,
    "factorial": _factorial,
    "binomial": _binomial,
    "remainder": _remainder,
    "gcd": lambda *numbers: Fraction(math.gcd(*_integers(numbers))),
    "lcm": lambda *numbers: Fraction(math.lcm(*_integers(numbers))),
    "max": _extreme(max),
    "min": _extreme(min),
    "absolute": _absolute,
    "abs": _absolute,
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "degrees": lambda x: rounded(x) * context().pi / 180,
    "ln": _logarithm,
    "log": _logarithm,
    "lg": lambda x: _divide(_logarithm(x), _logarithm(Fraction(10))),
    "exp": _exponential,
    **{name: _periodic(name) for name in ("sin", "cos")},
    "tan": lambda x: _divide(_periodic("sin")(x), _periodic("cos")(x)),
    "cot": lambda x: _divide(_periodic("cos")(x), _periodic("sin")(x)),
    "sec": _reciprocal("cos"),
    "csc": _reciprocal("sin"),
    **{written: _smooth(name) for name in ("asin", "acos", "atan") for written in (name, name.replace("a", "arc", 1))},
    **{name: _smooth(name) for name in ("sinh", "tanh", "acot")},
    "arccot": _smooth("acot"),
    "cosh": lambda x: context().cosh(_argument(x)),
}
