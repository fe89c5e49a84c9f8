"""Shell completion: what can follow `FILE.py::`, and the scripts that shells need.

Names are found by reading the file, not by running it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
)

_SEPARATOR = "::"
_VARIABLE = "_TREADLE_COMPLETE"


def complete_target(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the programs of a file, or ask the shell for files."""
    del context, parameter
    file, separator, beginning = incomplete.partition(_SEPARATOR)
    if not separator:
        return [CompletionItem(incomplete, type="file")]
    return [
        CompletionItem(f"{file}{_SEPARATOR}{name}")
        for name in programs_in(Path(file))
        if name.startswith(beginning)
    ]


def programs_in(file: Path) -> list[str]:
    """Return names of a file that may be programs: functions without parameters, and models."""
    try:
        module = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    names: list[str] = []
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and not _parameters(statement):
            names.append(statement.name)
        elif isinstance(statement, ast.Assign) and _makes_program(statement.value):
            names += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _parameters(function: ast.FunctionDef) -> bool:
    arguments = function.args
    return bool(
        len(arguments.posonlyargs) + len(arguments.args) > len(arguments.defaults)
        or any(default is None for default in arguments.kw_defaults)
    )


def _makes_program(value: ast.expr) -> bool:
    """Tell whether an expression is a call of something named `Program`."""
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    return (isinstance(called, ast.Attribute) and called.attr == "Program") or (
        isinstance(called, ast.Name) and called.id == "Program"
    )


class _Bash(BashComplete):
    """Bash, which takes `FILE.py::NAME` for three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Put together what belongs together."""
        words, incomplete = super().get_completion_args()
        if incomplete == _SEPARATOR and words:
            return words[:-1], words[-1] + _SEPARATOR
        if len(words) > 1 and words[-1] == _SEPARATOR:
            return words[:-2], words[-2] + _SEPARATOR + incomplete
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return only the last of the words."""
        return f"{item.type},{item.value.rpartition(_SEPARATOR)[2]}"


add_completion_class(_Bash, "bash")


@click.command(short_help="Print the script for completion in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete commands, options, files and programs.

    \b
    Examples:
      treadle completion bash >> ~/.bashrc
      treadle completion zsh >> ~/.zshrc
      treadle completion fish > ~/.config/fish/completions/treadle.fish
    """
    chosen = get_completion_class(shell)
    assert chosen is not None
    click.echo(chosen(context.find_root().command, {}, "treadle", _VARIABLE).source())
