"""Fields of a manifest that others wrote: each knows where it is, for the error that it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast, final

import attrs

from devroot.errors import InvalidManifestError, InvalidPathError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

T = TypeVar("T")

# Under names of the plain types, from which a type checker infers no unknown parameters.
_OBJECT: Final[type] = Mapping
_LIST: Final[type] = Sequence


@final
@attrs.frozen(kw_only=True)
class Field:
    """A value in a manifest, and its location.

    A field that is absent has the value None, as one that is ``null``.

    Attributes:
        value: what is there.
        location: where, such as ``spec.volumes[0].name``; empty for the whole.
    """

    value: object
    location: str = ""

    def __getitem__(self, name: str) -> Field:
        """Return the field *name* of this object; without a value if this one has none.

        Raises:
            InvalidManifestError: this is no object.
        """
        location = f"{self.location}.{name}" if self.location else name
        return Field(value=self.mapping().get(name), location=location)

    def mapping(self) -> Mapping[str, object]:
        """Return the fields of this object; none if it is absent.

        Raises:
            InvalidManifestError: this is no object.
        """
        if self.value is None:
            return {}
        if not isinstance(self.value, _OBJECT):
            raise self.error(reason=f"give it as a dictionary, not as {self._kind}")
        return cast("Mapping[str, object]", self.value)

    def items(self) -> Iterator[Field]:
        """Yield the elements of this list; none if it is absent.

        Raises:
            InvalidManifestError: this is no list.
        """
        if self.value is None:
            return
        if isinstance(self.value, (str, bytes)) or not isinstance(self.value, _LIST):
            raise self.error(reason=f"give it as a list, not as {self._kind}")
        for index, value in enumerate(cast("Sequence[object]", self.value)):
            yield Field(value=value, location=f"{self.location}[{index}]")

    def text(self, default: str | None = None, *, among: Collection[str] | None = None) -> str:
        """Return this text.

        Args:
            default: what an absent or empty one stands for; None if there must be one.
            among: the texts that are possible; None for any.

        Raises:
            InvalidManifestError: this is no text, or not one of them.
        """
        if self.value is None or self.value == "":
            if default is None:
                raise self.error(reason="it is needed")
            return default
        if not isinstance(self.value, str):
            raise self.error(reason=f"give it as a string, not as {self._kind}")
        if among is not None and self.value not in among:
            raise self.error(reason=f"it can be {', '.join(sorted(among))}")
        return self.value

    def flag(self) -> bool | None:
        """Return this boolean; None if it is absent.

        Raises:
            InvalidManifestError: this is no boolean.
        """
        if self.value is not None and not isinstance(self.value, bool):
            raise self.error(reason=f"give it as true or false, not as {self._kind}")
        return self.value

    def path(self, make: Callable[[str], T], text: str | None = None) -> T:
        """Return the path that *make* makes of this text, or of *text* that comes from it.

        Raises:
            InvalidManifestError: it is no such path.
        """
        try:
            return make(self.text() if text is None else text)
        except InvalidPathError as error:
            raise self.error(reason=error.reason) from error

    @property
    def _kind(self) -> str:
        return type(self.value).__name__

    def error(self, *, reason: str) -> InvalidManifestError:
        """Return the error that says what is wrong with this field."""
        return InvalidManifestError(self.location, self.value, reason=reason)
