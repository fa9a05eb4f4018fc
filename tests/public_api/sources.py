"""What only the source text says of the public API: overloads, aliases, and what errors keep.

`inspect` gives neither the overloads of a method on Python 3.10, nor what an alias such as
``Path = str | ContainerPath`` stands for in an annotation.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

import devroot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_ROOMS = frozenset(
    module.name for module in pkgutil.walk_packages(devroot.__path__, "devroot.")
) | {"devroot"}


@functools.cache
def tree_of(room: str) -> ast.Module:
    """Return the syntax tree of a module of devroot."""
    return ast.parse(inspect.getsource(importlib.import_module(room)))


def _all_nodes(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module or class, those in ``if TYPE_CHECKING:`` included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _all_nodes(node.body)
            yield from _all_nodes(node.orelse)
        else:
            yield node


def _definition(room: str, name: str) -> tuple[str, ast.stmt] | None:
    """Return what defines *name* as *room* has it, and in which room; None if not devroot."""
    for node in _all_nodes(tree_of(room).body):
        if isinstance(node, ast.ImportFrom) and node.module in _ROOMS:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _definition(node.module, alias.name)
        elif name in _defined(node):
            return room, node
    return None


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    return [*map(ast.unparse, node.targets)] if isinstance(node, ast.Assign) else []


class _Expand(ast.NodeTransformer):
    """Put what an alias stands for in its place, unless users can name the alias."""

    def __init__(self, room: str, exported: Collection[str]) -> None:
        self.room = room
        self.exported = exported
        self.private: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = None if node.id in self.exported else _definition(self.room, node.id)
        if found is None:
            return node
        room, definition = found
        if isinstance(definition, ast.ClassDef):
            if "TypedDict" in map(ast.unparse, definition.bases):
                return self._keys(room, definition)
            self.private.add(node.id)
            return node
        value = definition.value if isinstance(definition, ast.Assign | ast.AnnAssign) else None
        if value is None or isinstance(value, ast.Call):  # a type variable
            return node
        return self._in(room, value)

    def _in(self, room: str, value: ast.expr) -> ast.expr:
        inner = _Expand(room, self.exported)
        expanded = inner.visit(ast.parse(ast.unparse(value), mode="eval").body)
        self.private |= inner.private
        assert isinstance(expanded, ast.expr)
        return expanded

    def _keys(self, room: str, definition: ast.ClassDef) -> ast.expr:
        keys = [node for node in definition.body if isinstance(node, ast.AnnAssign)]
        return ast.Dict(
            keys=[ast.Constant(ast.unparse(node.target)) for node in keys],
            values=[self._in(room, node.annotation) for node in keys],
        )


def expand(annotation: str, *, room: str, exported: Collection[str]) -> tuple[str, set[str]]:
    """Return *annotation* as users can read it, and the classes in it that they cannot name.

    Args:
        annotation: its source text.
        room: the module in which it stands.
        exported: the names that users can import, which are left as they are.
    """
    visitor = _Expand(room, exported)
    expanded = visitor.visit(ast.parse(annotation.strip("'\""), mode="eval").body)
    return ast.unparse(expanded), visitor.private


def _class_of(cls: type) -> ast.ClassDef | None:
    found = _definition(cls.__module__, cls.__name__)
    return found[1] if found and isinstance(found[1], ast.ClassDef) else None


def overloads(cls: type, name: str) -> list[Callable[..., object]]:
    """Return the overloads of the method *name* in the body of *cls*; none if it has none."""
    node = _class_of(cls)
    found: list[Callable[..., object]] = []
    for each in node.body if node else []:
        if isinstance(each, ast.FunctionDef) and each.name == name and _is_overload(each):
            alone = copy.copy(each)
            alone.decorator_list = []
            module = ast.Module([alone], type_ignores=[])
            code = compile(module, f"<{cls.__module__}>", "exec", flags=annotations.compiler_flag)
            namespace = dict(vars(importlib.import_module(cls.__module__)))
            exec(code, namespace)
            found.append(namespace[name])
    return found


def _is_overload(node: ast.FunctionDef) -> bool:
    return "overload" in map(ast.unparse, node.decorator_list)


def kept_by_init(cls: type) -> list[str]:
    """Return the public attributes that ``__init__`` of *cls* sets on itself, in their order."""
    node = _class_of(cls)
    found = [
        target.attr
        for init in (node.body if node else [])
        if isinstance(init, ast.FunctionDef) and init.name == "__init__"
        for each in ast.walk(init)
        if isinstance(each, ast.Assign | ast.AnnAssign)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        if isinstance(target, ast.Attribute)
        and ast.unparse(target.value) == "self"
        and not target.attr.startswith("_")
    ]
    return list(dict.fromkeys(found))
