"""Numbers in words: "twenty-one", "one hundred and five"."""

from __future__ import annotations

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {name: n for n, name in enumerate(_SMALL)} | {name: 10 * n for n, name in enumerate(_TENS, 2)}
_PARTS = {
    name: n
    for n, names in {
        2: "half halves",
        3: "third thirds",
        4: "quarter quarters fourth fourths",
        5: "fifth fifths",
        6: "sixth sixths",
    }.items()
    for name in names.split()
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}


def with_digits(words: str) -> str | None:
    """The text, in lower case and without punctuation, with the number it starts with in digits; None where it starts with none."""
    names = words.split()
    total = current = used = 0
    last = 10**9
    for name in names:
        if name in _VALUES and (value := _VALUES[name]) < last and not (value == 0 and used):
            current += value
            last = 10 if value >= 20 else 1  # after twenty comes one to nine; after nine or nineteen, nothing
        elif name in _SCALES and current:
            scale = _SCALES[name]
            total, current = (total, current * scale) if scale == 100 else (total + current * scale, 0)
            last = 100 if scale == 100 else 1000
        elif not (name == "and" and current >= 100):
            break
        used += 1
    if used and (part := _PARTS.get(names[used] if used < len(names) else "")):  # two thirds
        return " ".join([f"{total + current}/{part}", *names[used + 1 :]])
    return " ".join([str(total + current), *names[used:]]) if used else None
