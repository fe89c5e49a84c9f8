"""From the text of an ABS file to its parse tree, or to an error that shows the place."""

from __future__ import annotations

import functools
import string
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from treadle.actors.abs.errors import Source
from treadle.actors.abs.refusals import WORDS
from treadle.core.errors import TreadleBug

_IN_WORDS = {
    "UPPER": "a name that begins with an upper-case letter",
    "LOWER": "a name that begins with a lower-case letter",
    "INT": "a number",
    "STRING": "a string",
    "NEW_KIND": "'local'",
    "$END": "the end of the file",
}
"""What is expected, where its text does not say it."""
_OPERATORS = frozenset(
    {
        "OR", "AND", "EQUALITY", "RELATION", "LESS", "GREATER", "PLUS", "MINUS", "STAR", "SLASH",
        "IMPLEMENTS", "AS", "DOT", "BANG", "QMARK", "AMPERSAND",
    }
)  # fmt: skip
_OPERANDS = frozenset(
    {
        "LOWER", "UPPER", "QUALIFIED", "INT", "FLOAT", "STRING", "TEMPLATE", "THIS", "NULL", "NEW",
        "DESTINY", "LPAR", "BANG", "TILDE", "__ANON_0", "MINUS", "IF", "WHEN", "LET", "CASE",
        "AWAIT",
    }
)  # fmt: skip
_LETTERS = f"{string.ascii_letters}{string.digits}_"
_MOST_EXPECTED = 6
"""If more would fit, a list of them helps nobody."""


@functools.cache
def _parser() -> Lark:
    """Return the parser. Lark keeps its tables in a file, so that later processes start faster."""
    grammar = files("treadle.actors.abs").joinpath("abs.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["start", "expression", "arguments"],
        propagate_positions=True,
        maybe_placeholders=True,
        cache=True,
    )


def parse(source: Source) -> Tree[Token]:
    """Parse a whole file."""
    return _parsed(source, source.text, "start", 1, 1)


def parse_part(source: Source, text: str, start: str, line: int, column: int) -> Tree[Token]:
    """Parse an expression, or arguments, that begins somewhere in a file."""
    padding = "\n" * (line - 1) + " " * (column - 1)
    return _parsed(source, padding + text, start, line, column)


def _parsed(source: Source, text: str, start: str, line: int, column: int) -> Tree[Token]:
    try:
        parsed = _parser().parse(text, start=start)
    except UnexpectedEOF as error:
        last = source.text.splitlines() or [""]
        expected = _expected(set(error.expected))
        source.refuse_at(len(last), len(last[-1]) + 1, f"the file ends too early{expected}")
    except UnexpectedInput as error:
        _refuse_words(source, text, error.pos_in_stream or 0)
        at = (error.line, error.column) if error.line and error.line > 0 else (line, column)
        source.refuse_at(*at, _in_words(error, text))
    return parsed if isinstance(parsed, Tree) else Tree("literal", [parsed])


def _refuse_words(source: Source, text: str, at: int) -> None:
    """Refuse a word that begins something which is not supported: at the place, or before it."""
    before = len(text[:at].rstrip().rstrip(_LETTERS))
    for start in (at, before):
        word = _word_at(text, start)
        if word in WORDS:
            line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
            source.refuse_at(line, column, f"{word}: {WORDS[word]}")


def _in_words(error: UnexpectedInput, text: str) -> str:
    """Say what is wrong at a place."""
    if isinstance(error, UnexpectedToken):
        if error.token.type == "$END":
            return f"the text ends too early{_expected(error.accepts or error.expected)}"
        return f"syntax error at {str(error.token)!r}{_expected(error.accepts or error.expected)}"
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        found = text[at : at + 1]
        if found in ('"', "`"):
            return "syntax error: this string has no end"
        word = _word_at(text, at)
        return f"syntax error at {word or found!r}{_expected(error.allowed or set())}"
    raise TreadleBug(f"lark says {error!r}")


def _word_at(text: str, start: int) -> str:
    rest = text[start:]
    return rest[: len(rest) - len(rest.lstrip(_LETTERS))]


def _expected(names: set[str]) -> str:
    """Say what would fit, unless that is too much."""
    patterns = {terminal.name: terminal.pattern for terminal in _parser().terminals}
    left, words = set(names), []
    for group, word in ((_OPERANDS, "an expression"), (_OPERATORS, "an operator")):
        if len(left & group) > 2:
            left -= group
            words.append(word)
    for name in sorted(left & {*_IN_WORDS, *patterns}):
        words.append(_IN_WORDS.get(name) or repr(patterns[name].value))
    if not words or len(words) > _MOST_EXPECTED:
        return ""
    return ", expected " + " or ".join(words)
