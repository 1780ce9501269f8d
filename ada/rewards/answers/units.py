"""Units that an answer may carry: kept apart from the value, and compared where both sides have one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """Two units agree if they have the same kind, and then differ by the quotient of their factors. Kind "" goes with anything."""

    kind: str
    factor: Fraction = Fraction(1)


# one row a kind: names (singular, abbreviations) and how many of the row's first unit each is
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "1": "m meter metre",
        "0.01": "cm centimeter centimetre",
        "0.001": "mm millimeter millimetre",
        "0.1": "dm decimeter decimetre",
        "1000": "km kilometer kilometre",
        "0.0254": "in inch inches",
        "0.3048": "ft foot feet",
        "0.9144": "yd yard",
        "1609.344": "mi mile",
        "1e-6": "micrometer micron",
        "1e-9": "nm nanometer",
    },
    "mass": {
        "1": "g gram gm",
        "1000": "kg kilogram kilo",
        "0.001": "mg milligram",
        "453.59237": "lb lbs pound",
        "28.349523125": "oz ounce",
        "1e6": "tonne",
    },
    "time": {
        "1": "s sec second",
        "60": "min minute",
        "3600": "h hr hour",
        "86400": "d day",
        "604800": "week wk",
        "0.001": "ms millisecond",
    },
    "long time": {"1": "month", "12": "yr year"},
    "angle": {"1": "° degree deg", "1/60": "arcminute"},
    "money": {"1": "dollar usd buck", "0.01": "cent ¢ penny pennies"},
    "volume": {"1": "L l liter litre", "0.001": "mL ml milliliter millilitre", "3.785411784": "gal gallon"},
    "energy": {"1": "J joule", "1000": "kJ kilojoule", "4.184": "cal calorie", "1.602176634e-19": "eV"},
    "": {"1": "unit"},
}
_KNOWN = {name: Unit(kind, Fraction(factor)) for kind, row in _TABLE.items() for factor, names in row.items() for name in names.split()} | {
    name: Unit(name) for name in "N W V A K F Hz Pa mol C T euro £ ¥ rupee yuan acre hectare radian".split()
}
_ALIASES = {"rad": "radian", "mph": "mile/hour", "kmph": "km/h", "kmh": "km/h", "kph": "km/h", "cc": "cm^3"}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3}
_DENSE = re.compile(r"(?P<over>/|\bper\b)|(?P<times>\*|·)|(?P<name>[A-Za-z¢€£¥°]+)|\^\s*\{?(?P<power>-?\d)\}?|(?P<space>[\s.{}\\-]+)")

MULTIPLIERS = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}


def read_unit(text: str) -> Unit | None:
    """The unit that the words, as in "square centimeters", "km/h" or "cm^2", stand for; None if they are no unit of the table."""
    text = _ALIASES.get(text.strip(" ."), text)
    factor, kinds, last = Fraction(1), Counter[str](), ""
    power, sign, position = 1, 1, 0

    def times(name: str, exponent: int) -> bool:
        nonlocal factor, last
        found = _lookup(name)
        if found is None:
            return False
        kinds[found.kind] += exponent
        factor *= found.factor**exponent
        last = name
        return True

    for part in _DENSE.finditer(text):
        if part.start() != position:
            return None
        position = part.end()
        if part["over"]:
            sign = -1
        elif name := part["name"]:
            named_power = _POWERS.get(name.casefold())
            if named_power and last and name.endswith("ed"):  # meters squared
                times(last, sign * (named_power - 1))
            elif named_power:
                power = named_power
            elif times(name, sign * power):
                power = 1
            else:
                return None
        elif part["power"] and last:
            times(last, sign * (int(part["power"]) - 1))
    if position != len(text) or not last:
        return None
    return Unit(" ".join(f"{kind}^{n}" for kind, n in sorted(kinds.items()) if n and kind), factor)


def counted(text: str) -> Unit:
    """A unit of things that are merely counted: the same words agree, in singular or plural."""
    return Unit(" ".join(re.sub(r"(?<=..)s$", "", word) for word in re.findall(r"[^\W\d_]+", text.casefold())))


def _lookup(name: str) -> Unit | None:
    lower = name.casefold()
    candidates = [name, lower, lower.removesuffix("s"), lower.removesuffix("es")] if len(name) > 1 else [name]
    return next((_KNOWN[candidate] for candidate in candidates if candidate in _KNOWN), None)


DEGREE, RADIAN, CENT = read_unit("°"), read_unit("radian"), read_unit("cent")
CURRENCY = {"¤": read_unit("dollar"), "€": read_unit("euro"), "£": read_unit("£"), "¥": read_unit("¥"), "¢": read_unit("cent")}
