"""The tree of errors as the reference shows it, made from the classes.

    PYTHONPATH=. python tests/_error_tree.py

writes it into ``docs/reference/errors.md``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from devroot import errors

PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
BLOCK: Final = re.compile(r"(?<=<!-- The tree -->\n).*(?=<!-- The end of the tree -->)", re.DOTALL)


def builtin_of(error: type[BaseException]) -> type[BaseException]:
    """Return the built-in error that an error also is: the closest one."""
    return next(each for each in error.__mro__ if each.__module__ == "builtins")


def public_errors() -> list[type[errors.DevRootError]]:
    """Return the errors below the base, those of one built-in together."""
    found = [getattr(errors, name) for name in errors.__all__ if name != "DevRootError"]
    return sorted(found, key=lambda each: (builtin_of(each).__name__, each.__name__))


def public_base_of(error: type[BaseException]) -> type[BaseException]:
    """Return the closest base of an error that has a public name."""
    public = {getattr(errors, name) for name in errors.__all__}
    return next(each for each in error.__mro__[1:] if each in public or each is Exception)


def lines_below(base: type[BaseException], indent: str = "") -> list[str]:
    """Return a line for each error right below a base, with those below it."""
    found = [each for each in public_errors() if public_base_of(each) is base]
    lines: list[str] = []
    for each in found:
        last = each is found[-1]
        lines.append(
            f"{indent}{'└' if last else '├'}── {each.__name__}({builtin_of(each).__name__})"
        )
        lines += lines_below(each, f"{indent}{' ' if last else '│'}   ")
    return lines


def block() -> str:
    """Return what stands between the two marks of the page."""
    base = errors.DevRootError
    tree = [f"{base.__name__}({builtin_of(base).__name__})", *lines_below(base)]
    return "\n".join(["```text", *tree, "```", ""])


if __name__ == "__main__":
    TEXT = BLOCK.sub(lambda _: block(), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(TEXT, encoding="utf-8")
