"""The public API as it is: every name that users can import or type, with its signature as text.

A text is the same on every Python and with every version of the dependencies that devroot
supports; a test run on each of them holds it to that.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from tests.public_api import sources
from tests.public_api.commands import commands
from tests.public_api.documents import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# An object that is exported twice is described where it comes first.
ENTRANCES: Final = (
    "devroot",
    "devroot.errors",
    "devroot.nvidia",
    "devroot.cdi",
    "devroot.kubernetes",
    "devroot.oci",
    "devroot.udev",
    "devroot.testing",
    "devroot.testing.pytest_plugin",
)
OPERATORS: Final = frozenset(
    f"__{name}__"
    for name in (
        *("call", "contains", "enter", "exit", "fspath", "getitem", "iter", "len", "next"),
        *("add", "and", "bool", "ge", "gt", "index", "int", "le", "lt", "or", "sub", "truediv"),
    )
)
STARS: Final[dict[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}
LINE: Final = 88  # of which the name takes a part


class PublicApi:
    """What devroot exports, described name by name.

    Attributes:
        described: each name in full, such as ``devroot.Mount.host``, with its description.
        private: names of classes that stand in public signatures and that users cannot import,
            with where they stand.
    """

    def __init__(self) -> None:
        self.described: dict[str, str] = {}
        self.private: dict[str, set[str]] = {}
        self._names: dict[int, str] = {}
        self._exported: set[str] = set()
        found: dict[str, object] = {}
        for entrance in ENTRANCES:
            module = importlib.import_module(entrance)
            for name in sorted(module.__all__):
                found[f"{entrance}.{name}"] = value = getattr(module, name)
                self._exported.add(name)
                if not isinstance(value, str):
                    self._names.setdefault(id(value), f"{entrance}.{name}")
        for name, value in found.items():
            if (first := self._names.get(id(value), name)) != name:
                self.described[name] = f"the same as {first}"
            else:
                self._describe(name, value)
        self.described.update(commands())
        self.described.update(documents())

    def _describe(self, name: str, value: object) -> None:
        if name.endswith(".__version__"):
            self.described[name] = "constant"
        elif isinstance(value, type):
            self._describe_class(name, value)
        elif name.startswith("devroot.testing.pytest_plugin."):
            returns = self._annotation(
                inspect.unwrap(cast("Any", value)).__annotations__["return"],
                name,
                "devroot.testing.pytest_plugin",
            )
            self.described[name] = f"fixture -> {returns}"
        elif inspect.isfunction(value):
            self.described[name] = "function" + self._signature(value, name)
        else:
            text = self._value(value, named=False)
            kind = "alias" if text.startswith("Literal[") else "constant"
            self.described[name] = f"{kind} = {text}"

    # Classes.

    def _describe_class(self, name: str, cls: type[Any]) -> None:
        bases = self._bases(cls)
        if issubclass(cls, enum.Enum):
            self.described[name] = f"enum{bases}"
            for key, member in cls.__members__.items():
                self.described[f"{name}.{key}"] = f"member = {member.value!r}"
        elif getattr(cls, "_is_protocol", False):
            runtime = ", runtime_checkable" if getattr(cls, "_is_runtime_protocol", False) else ""
            self.described[name] = f"protocol{runtime}{bases}"
        else:
            unhashable = "" if issubclass(cls, Hashable) else ", unhashable"
            self.described[name] = f"class{unhashable}{self._constructor(cls, name)}{bases}"
        for attribute, description in sorted(self._members(name, cls)):
            self.described[f"{name}.{attribute}"] = description

    def _bases(self, cls: type) -> str:
        names = [*dict.fromkeys(self._named_bases(cls))]
        names += [f"Generic[{each}]" for each in getattr(cls, "__parameters__", ())]
        return f" extends {', '.join(names).replace('~', '')}" if names else ""

    def _named_bases(self, cls: type) -> Iterator[str]:
        for base in cls.__bases__:
            if id(base) in self._names:
                yield self._names[id(base)]
            elif base.__module__.startswith("devroot"):
                yield from self._named_bases(base)
            elif base is not object and base.__module__ not in {"typing", "typing_extensions"}:
                yield base.__name__

    def _constructor(self, cls: type, name: str) -> str:
        """Return the parameters of the class, or that users do not make it."""
        owner = next(each for each in cls.__mro__ if "__init__" in vars(each))
        if not owner.__module__.startswith("devroot"):
            return "(*args)" if issubclass(cls, BaseException) else "()"
        signature = inspect.signature(cls)
        for parameter in signature.parameters.values():
            _, private = self._expanded(parameter.annotation, owner.__module__)
            if private and parameter.default is parameter.empty:
                return ", made by devroot alone"
        return self._parameters(signature, owner.__module__, name, returns=False)

    def _members(self, name: str, cls: type) -> Iterator[tuple[str, str]]:
        seen: set[str] = set(cls.__members__ if issubclass(cls, enum.Enum) else ())
        for owner in cls.__mro__:
            if not owner.__module__.startswith("devroot"):
                continue
            annotations: dict[str, Any] = vars(owner).get("__annotations__", {})
            kept = dict.fromkeys([] if attrs.has(owner) else sources.kept_by_init(owner))
            for member in dict.fromkeys([*annotations, *vars(owner), *kept]):
                if member in seen or (member.startswith("_") and member not in OPERATORS):
                    continue
                seen.add(member)
                full = f"{name}.{member}"
                value = vars(owner).get(member)
                if member in annotations and not isinstance(value, property):
                    text = self._annotation(annotations[member], full, room=owner.__module__)
                    yield member, f"attribute: {text}"
                elif member in kept:
                    yield member, self._kept(owner, member, full)
                else:
                    yield member, self._member(owner, member, value, full)

    def _kept(self, owner: type, member: str, full: str) -> str:
        """Describe what ``__init__`` keeps: of the type of its parameter, where it has one."""
        parameter = inspect.signature(owner).parameters.get(member)
        if parameter is None:
            return "attribute"
        return "attribute: " + self._annotation(parameter.annotation, full, room=owner.__module__)

    def _member(self, owner: type, member: str, value: object, full: str) -> str:
        kind = "method"
        if isinstance(value, property):
            assert value.fget is not None
            settable = ", settable" if value.fset else ""
            returns = value.fget.__annotations__["return"]
            return f"property{settable} -> {self._annotation(returns, full, owner.__module__)}"
        if isinstance(value, classmethod | staticmethod):
            kind = "class method" if isinstance(value, classmethod) else "static method"
            value = cast("object", vars(owner)[member].__func__)
        if not inspect.isfunction(value):
            return f"attribute = {self._value(value)}"
        bound = kind != "static method"
        functions = sources.overloads(owner, member) or [value]
        return "\n".join(kind + self._signature(each, full, bound=bound) for each in functions)

    # Signatures.

    def _signature(self, function: Callable[..., object], full: str, *, bound: bool = False) -> str:
        signature = inspect.signature(function)
        if bound:
            _self, *rest = signature.parameters.values()
            signature = signature.replace(parameters=rest)
        deprecated = ", deprecated" if hasattr(function, "__deprecated__") else ""
        return deprecated + self._parameters(signature, function.__module__, full)

    def _parameters(
        self, signature: inspect.Signature, room: str, full: str, *, returns: bool = True
    ) -> str:
        parts: list[str] = []
        last = None
        kinds = inspect.Parameter
        for parameter in signature.parameters.values():
            if last is kinds.POSITIONAL_ONLY and parameter.kind is not kinds.POSITIONAL_ONLY:
                parts.append("/")
            if parameter.kind is kinds.KEYWORD_ONLY and last not in {
                kinds.KEYWORD_ONLY,
                kinds.VAR_POSITIONAL,
            }:
                parts.append("*")
            last = parameter.kind
            stars = STARS.get(parameter.kind, "")
            default: object = parameter.default
            if default is not parameter.empty and self._expanded(parameter.annotation, room)[1]:
                continue  # nobody but devroot can give it
            text = f"{stars}{parameter.name}: "
            text += self._annotation(parameter.annotation, full, room)
            if default is not parameter.empty:
                mode = parameter.name == "mode" and isinstance(default, int)
                text += " = " + (oct(cast("int", default)) if mode else self._value(default))
            parts.append(text)
        if last is kinds.POSITIONAL_ONLY:
            parts.append("/")
        answer = self._annotation(signature.return_annotation, full, room) if returns else ""
        tail = f" -> {answer}" if returns else ""
        return _laid_out(parts, tail, width=LINE - len(full))

    def _expanded(self, annotation: object, room: str) -> tuple[str, set[str]]:
        if annotation is None or annotation is inspect.Parameter.empty:
            return "None", set()
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        return sources.expand(text, room=room, exported=self._exported)

    def _annotation(self, annotation: object, full: str, room: str) -> str:
        text, private = self._expanded(annotation, room)
        for each in private:
            self.private.setdefault(each, set()).add(full)
        return text

    def _value(self, value: object, *, named: bool = True) -> str:
        """Return a default or constant as text that does not depend on the order of a set."""
        if named and not isinstance(value, str | int | None) and id(value) in self._names:
            return self._names[id(value)].rpartition(".")[2]
        if isinstance(value, frozenset):
            elements = cast("frozenset[object]", value)
            return _laid_out(sorted(map(self._value, elements)), "", brackets="{}")
        if isinstance(value, tuple):
            return _laid_out([*map(self._value, cast("tuple[object, ...]", value))], "")
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, type):
            return value.__name__
        text = "<made anew>" if value is attrs.NOTHING else repr(value)
        return re.sub(r"\btyping\.", "", text)


def _laid_out(parts: list[str], tail: str, *, brackets: str = "()", width: int = 80) -> str:
    """Return the parts in brackets: on one line if that is short, else on a line each."""
    line = brackets[0] + ", ".join(parts) + brackets[1] + tail
    if len(line) <= width and "\n" not in line:
        return line
    inner = "".join(f"{part},\n" for part in parts)
    return f"{brackets[0]}\n{textwrap.indent(inner, '    ')}{brackets[1]}{tail}"
