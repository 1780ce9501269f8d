"""One spelling for the many in which LaTeX, Unicode and plain text write the same thing. Nothing is interpreted here.

After `canonical`, relations and operators are single characters (≤ ≥ ≠ ≈ ∈ ∪ ∩ ∖ ∞ ± ∓ ° … ∅ | : * /), "and" and "or" are `∧` and `∨`,
words stand in `\\text{...}`, `¤` is a dollar, and no delimiters, sizes or spacing commands are left.
"""

from __future__ import annotations

import re
import unicodedata

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ", "0123456789+-ni")
_SUBSCRIPT = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_UNICODE = {
    **dict.fromkeys("−–—‐‑﹣", "-"),
    **dict.fromkeys("×·⋅∙∗✕", "*"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("≤⩽≦", "≤"),
    **dict.fromkeys("≥⩾≧", "≥"),
    **dict.fromkeys("≈≃≅", "≈"),
    **dict.fromkeys("º˚", "°"),
    **dict.fromkeys("∅⌀Ø", "∅"),
    **dict.fromkeys("⟨〈", r"\langle "),
    **dict.fromkeys("⟩〉", r"\rangle "),
    **dict.fromkeys("’′‘`", "'"),
    **dict.fromkeys("“”", '"'),
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "ℝ": r"\R ",
    "、": ",",
    "∶": ":",
    "∠": r"\angle ",
    "∨": " or ",
    "∧": " and ",
    "⋯": "…",
    "ϕ": r"\phi ",
    "½": r"\frac{1}{2}",
    "⅓": r"\frac{1}{3}",
    "⅔": r"\frac{2}{3}",
    "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}",
    "⅛": r"\frac{1}{8}",
    "℃": "°C",
}
_IGNORED = '"\ufe0e\ufe0f'
_GREEK = {
    letter: f"\\{name} "
    for name in (
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega "
        "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
    ).split()
    for letter in [
        unicodedata.lookup(f"GREEK {'CAPITAL' if name[0].isupper() else 'SMALL'} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")
    ]
}
_CHARACTERS = str.maketrans(_UNICODE | _GREEK)

_OPERATORS = {
    command: sign
    for sign, commands in {
        "≤": "le leq leqslant leqq",
        "≥": "ge geq geqslant geqq",
        "≠": "ne neq",
        "<": "lt",
        ">": "gt",
        "≈": "approx simeq",
        "≡": "equiv",
        "∈": "in",
        "∪": "cup bigcup",
        "∩": "cap",
        "∖": "setminus backslash",
        "∞": "infty",
        "±": "pm",
        "∓": "mp",
        "*": "times cdot ast",
        "/": "div",
        "|": "mid vert lvert rvert",
        ":": "colon",
        "°": "degree degrees",
        "…": "ldots dots cdots dotsc",
        "∅": "emptyset varnothing",
        "∧": "land wedge",
        "∨": "lor vee",
        "'": "prime",
        r"\frac": "dfrac tfrac cfrac",
        r"\binom": "dbinom tbinom",
        r"\R ": "R Reals reals",
        r"\{": "lbrace",
        r"\}": "rbrace",
        "(": "lparen lgroup langle",
        ")": "rparen rgroup rangle",
        "[": "lbrack",
        "]": "rbrack",
        " ": "quad qquad enspace thinspace",
        "": "displaystyle textstyle scriptstyle limits nolimits small footnotesize normalsize large Large tiny mathstrut left right middle "
        "boxed fbox big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr boldmath rm bf it sf tt hfill hline nonumber notag",
    }.items()
    for command in commands.split()
}

_COMMAND = re.compile(r"\\([A-Za-z]+)\s?")
_STYLED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|up|sc)?|underline|math(?:rm|bf|it|sf|tt|normal)|operatorname\*?|mbox|hbox|bm|boldsymbol|emph|textcolor\{\w+\})"
    r"\s*\{([^{}]*)\}"
)
_PLAIN_CONTENT = re.compile(r"[^A-Za-z\u00c0-\uffff]*[A-Za-z]?[^A-Za-z\u00c0-\uffff]*|[0-9A-F]*\d[0-9A-F]*")
_FUNCTIONS = "sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|log|ln|exp|sqrt|pi|lcm|gcd|max|min|floor|ceil|abs|cis"
_UNIT_VECTOR = (r"\\(?:hat|vec|widehat|overrightarrow)\s*(?:\{\s*\\?([ijk])(?:math)?\s*\}|\\?([ijk])(?:math)?(?![A-Za-z]))", r" \1\2 ")
_UNIT_LETTERS = tuple("msghLlNJWVACKFT")  # after a number, \text{m} is a unit; elsewhere it is a letter
_JOINING = re.compile(r"^[\s,;]*\b(and|or)\b[\s,;]*$", re.IGNORECASE)

_REWRITES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"\s+", " "),
        (r"\\\\\s*\[-?[\d.]+\s*(?:pt|ex|em|mm|cm)\]", r"\\\\ "),  # the height of a matrix row
        (r"\\(?:left|right)\s*\.", ""),
        (r"\\math(?:bb|bf|cal)\s*\{?\s*([RN])\s*\}?(?![A-Za-z])", r"\\\1 "),
        (r"(?<!\\)\\!\s*", ""),
        (r"(?<!\\)\\[,;:> ]|~", " "),
        (r"\\not\s*=", "≠"),
        (r"(?<=\d)\{\s*,\s*\}", ","),  # 7{,}425
        (r"\\(?:hspace|vspace|phantom|color|label|tag)\*?\{[^{}]*\}", ""),
        (r"(?<![A-Za-z.])(?:np|numpy|math|sympy|sp|cmath)\.(?=[a-z])", ""),  # np.arcsin(10/13)
        (r"\*\*", "^"),
        (r"\\\$|\$(?=\d[\d,.]*$)", "¤"),
        (r"\$|\\[()]|(?<!\\)\\[\[\]]", ""),
        (r"\\%", "%"),
        (r"\\#", ""),
        (r"(?<![A-Za-z])US(?:D\s*¤?|\s*¤)\s*(?=[\d.])", "¤"),
        _UNIT_VECTOR,
    ]
]
_LATE_REWRITES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"\^\s*\{?\s*\\circ\s*\}?|\\circ(?![A-Za-z])|\^\s*\{?\s*°\s*\}?", "°"),
        (r"(?<=\d)\s*\^\s*\{?\s*o\s*\}?(?![A-Za-z])", "°"),
        (r"\^\s*\{\s*'\s*\}|\^\s*'", "'"),
        (r"(?<=[\d})])\s*\\text\{\s*to\s*\}\s*(?=[\d\\])", ":"),  # 2 to 3
        (r"\\frac\s*\{\s*\\text\{([^{}]*)\}\s*\}\s*\{\s*(?:\\text\{)?([^{}]*?)\s*\}?\s*\}", r"\\text{\1/\2}"),  # \frac{km}{h}
        _UNIT_VECTOR,
        (r"\\R\s*-\s*(?=\\\{)", r"\\R ∖"),  # \R - \{1\}
        (r"\\text\{\s*mod\s*\}|(?<![A-Za-z\\])mod(?![A-Za-z])", r"\\mod "),
        (r"<=", "≤"),
        (r">=", "≥"),
        (r"!=", "≠"),
        (r"\.\.\.+", "…"),
        (r"\+\s*/\s*-|\+-", "±"),
        (r"(?<![\\A-Za-z])(?:infinity|inf|oo)(?![A-Za-z])", "∞"),
        (r"(?<![A-Za-z\\{])\s*\band\b\s*(?![A-Za-z}])", "∧"),
        (r"(?<![A-Za-z\\{])\s*\bor\b\s*(?![A-Za-z}])", "∨"),
        (r"(?<![\d.A-Za-z_])(\d+\.?\d*|\.\d+)[eE]([+-]?\d+)(?![\dA-Za-z])", r"\1*10^{\2}"),  # 4.5e33
        (r"(?<![\d.A-Za-z_])(\d+\.?\d*)\s*[xX]\s*10\s*\^", r"\1*10^"),  # 3 x 10^8
        (r"\\text\{\s*(?:percent|per cent|percentage|pct)\s+([A-Za-z ]+)\}", r"%\\text{\1}"),
        (r"\\text\{\s*(?:percent|per cent|percentage|pct)\s*\}|(?<![A-Za-z])(?:percent|per cent|pct)(?![A-Za-z])", "%"),
        (r"\s+", " "),
    ]
]
_REPEATING = re.compile(  # 0.1\overline{6}, 0.\dot{6}, 0.333..., 0.3636...
    r"(?<![\d.])(?P<whole>\d{0,20})\.(?P<fixed>\d{0,20}?)"
    r"(?:\\(?:overline|bar|dot)\s*\{?(?P<period>\d{1,20})\}?(?:(?P<middle>\d{0,20})\\dot\s*\{?(?P<last>\d)\}?)?|(?P<block>\d{1,6}?)(?P=block){2,20}…)"
)
_ENUMERATED = re.compile(r",(?:\s*and\s)?|\sand\s")
_TEXT_WITH_DIGITS = re.compile(r"\\text\{([^{}]*\d[^{}]*)\}")
_THOUSANDS = re.compile(r"(?<![\w.,^])\d{1,3}(?:,\d{3})+(?!\d|,\d)")


def canonical(text: str) -> str:
    """The text in its one spelling; see the module. The text is at most some thousand characters long."""
    text = _plain_characters(text)
    if r"\begin" not in text:
        text = re.sub(r"\\\\(?=[A-Za-z])", r"\\", text)  # \\frac, as JSON writes it
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = _COMMAND.sub(lambda command: _OPERATORS.get(command[1], command[0]), text)
    for _ in range(3):  # \textbf{\text{...}}
        text = _STYLED.sub(_unstyled, text)
    text = _infix_macros(text)
    for pattern, replacement in _LATE_REWRITES:
        text = pattern.sub(replacement, text)
    if whole := _TEXT_WITH_DIGITS.fullmatch(text.strip()):  # \\text{7 days}
        text = whole[1]
    text = text.replace("∓", "±") if "±" not in text else text
    text = _REPEATING.sub(_as_fraction, text)
    text = text.strip().rstrip(".,;:!").strip() if not text.endswith("!") else text.strip()
    return text


def joined_thousands(text: str) -> str:
    """1,250,000 becomes 1250000: groups of three after a comma without space, outside brackets."""
    return _THOUSANDS.sub(_joined_outside_brackets, text)


def _joined_outside_brackets(number: re.Match[str]) -> str:
    before = number.string[: number.start()]
    depth = sum(before.count(bracket) for bracket in "([{") - sum(before.count(bracket) for bracket in ")]}")
    return number[0] if depth > 0 else number[0].replace(",", "")


def _infix_macros(text: str) -> str:
    """{1 \\over 2} becomes \\frac{1}{2}, {n \\choose k} becomes \\binom{n}{k}."""
    for infix, macro in (("over", "frac"), ("choose", "binom")):
        if f"\\{infix}" in text:
            text = re.sub(rf"\{{([^{{}}]*)\\{infix}(?![A-Za-z])([^{{}}]*)\}}", rf"\\{macro}{{\1}}{{\2}}", "{" + text + "}")
    return text


def _as_fraction(number: re.Match[str]) -> str:
    """The repeating decimal as the fraction that it is."""
    period = number["block"] or number["period"] + (number["middle"] or "") + (number["last"] or "")
    fixed, nines = (number["whole"] or "0") + number["fixed"], int("9" * len(period))
    return f"\\frac{{{int(fixed) * nines + int(period)}}}{{{nines * 10 ** len(number['fixed'])}}}"


def compact(text: str) -> str:
    """Canonical text without spaces, for comparing spellings; one between digits stays, unless it sets thousands apart."""
    text = re.sub(r"(?<![\d.,] )(?<![\d.,])\d{1,3}(?: \d{3})+(?! ?[\d])", lambda number: number[0].replace(" ", ""), text)
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", text)


def words(text: str) -> str:
    """What a verbal answer says: lower case, no macros, articles or punctuation."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"[\s\"'.,;:!?(){}$\\-]+", " ", text).strip().casefold()
    return re.sub(r"^(?:an?|the) ", "", text)


def _plain_characters(text: str) -> str:
    text = "".join(unicodedata.normalize("NFKC", c) if "\uff00" <= c <= "\uffef" or "\U0001d400" <= c <= "\U0001d7ff" else c for c in text)
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ]+", lambda run: "^{" + run[0].translate(_SUPERSCRIPT) + "}", text)
    text = re.sub(r"[₀₁₂₃₄₅₆₇₈₉]+", lambda run: "_{" + run[0].translate(_SUBSCRIPT) + "}", text)
    text = re.sub(r"√\s*(\d+(?:\.\d+)?|[A-Za-z])", r"\\sqrt{\1}", text).replace("√", r"\sqrt ")
    text = re.sub(r"∛\s*(\d+|[A-Za-z])", r"\\sqrt[3]{\1}", text)
    text = text.translate(_CHARACTERS)
    return "".join(
        " " if c.isspace() else c
        for c in text
        if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn") and c not in _IGNORED
    )


def _unstyled(styled: re.Match[str]) -> str:
    content = styled[1]
    joining = _JOINING.match(content)
    if joining:
        return "∧" if joining[1].lower() == "and" else "∨"
    name = content.strip()
    if name in _UNIT_LETTERS and re.search(r"[\d})]\s*$", styled.string[max(0, styled.start() - 9) : styled.start()]):
        return f"\\text{{{name}}}"
    if name.casefold() == "infinity":
        return "∞"
    if "," in name and re.search(r"[A-Za-z]{2}", name):  # red, blue
        return ",".join(f"\\text{{{part.strip()}}}" for part in _ENUMERATED.split(name) if part.strip())
    if len(two := name.split(" and ")) == 2 and all(1 <= len(part.split()) <= 2 for part in two):  # Tom and Jerry
        return "∧".join(f"\\text{{{part.strip()}}}" for part in two)
    if re.fullmatch(_FUNCTIONS, name):
        return f"\\{name} "
    return f" {name} " if _PLAIN_CONTENT.fullmatch(name) else f"\\text{{{name}}}"
