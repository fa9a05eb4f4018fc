"""Errors about what was given: a path, a mount, a node or a document that cannot be."""

from __future__ import annotations

from devroot.errors._base import DevRootError


class InvalidPathError(DevRootError, ValueError):
    """A text is not a path of the kind that is wanted.

    Attributes:
        text: what was given.
        kind: what was wanted, such as ``HostPath``.
        reason: what is wrong with the text.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "kind", "reason")

    def __init__(self, text: str, *, kind: str, reason: str) -> None:
        self.text = text
        self.kind = kind
        self.reason = reason
        super().__init__(f"{text!r} cannot be a {kind}: {reason}")


class PathKindError(DevRootError, TypeError):
    """A path of one kind was given where another kind belongs.

    Attributes:
        value: what was given.
        wanted: the name of the type that belongs there.

    .. versionadded:: 0.1.0
    """

    _fields = ("value", "wanted")

    def __init__(self, value: object, *, wanted: str) -> None:
        self.value = value
        self.wanted = wanted
        super().__init__(f"a {wanted} is wanted here, not {value!r}")


class InvalidMountError(DevRootError, ValueError):
    """A declared mount is not possible, or contradicts another one.

    Attributes:
        text: the mount as it was given.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "reason")

    def __init__(self, text: str, *, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"mount {text!r}: {reason}")


class InvalidManifestError(DevRootError, ValueError):
    """A Kubernetes object or an OCI ``config.json`` is not as it has to be.

    Attributes:
        location: the field, such as ``spec.volumes[0].hostPath.path``; empty for the whole.
        value: what is there.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("location", "value", "reason")

    def __init__(self, location: str, value: object, *, reason: str) -> None:
        self.location = location
        self.value = value
        self.reason = reason
        shown = f" is {value!r}" if isinstance(value, (str, int, float)) else ""
        super().__init__(f"{location or 'the object'}{shown}: {reason}")


class InvalidNodeError(DevRootError, ValueError):
    """A device node cannot be as described.

    Attributes:
        field: the field that is wrong.
        value: its value.
        reason: what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("field", "value", "reason")

    def __init__(self, field: str, value: object, *, reason: str) -> None:
        self.field = field
        self.value = value
        self.reason = reason
        super().__init__(f"{field}={value!r}: {reason}")


class InvalidSceneError(DevRootError, ValueError):
    """What a test asks of `devroot.testing` cannot be understood.

    Attributes:
        text: the line or the call.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("text", "reason")

    def __init__(self, text: str, *, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"{text}: {reason}")


class InvalidSpecError(DevRootError, ValueError):
    """A CDI spec, or a part of one, is not as the specification wants it.

    Attributes:
        location: the part, such as ``devices[0].containerEdits.deviceNodes[2].minor``; empty for
            the spec as a whole.
        value: what is there.
        reason: what is wrong with it and what would be right.

    .. versionadded:: 0.1.0
    """

    _fields = ("location", "value", "reason")

    def __init__(self, location: str, value: object, *, reason: str) -> None:
        self.location = location
        self.value = value
        self.reason = reason
        where = location or "the spec"
        shown = f" is {value!r}" if isinstance(value, (str, int, float)) else ""
        super().__init__(f"{where}{shown}: {reason}")


class NotModelledError(DevRootError, NotImplementedError):
    """An answer would depend on something that `devroot.testing` does not model.

    It is no `OSError`, so that no code under test takes it for an answer of the kernel.

    Attributes:
        what: what is not modelled.
        remedy: what a test can do instead.
        where: the path or the field at which it was met; empty if there is none.

    .. versionadded:: 0.1.0
    """

    _fields = ("what", "remedy", "where")

    def __init__(self, what: str, *, remedy: str, where: str = "") -> None:
        self.what = what
        self.remedy = remedy
        self.where = where
        at = f"{where}: " if where else ""
        super().__init__(f"{at}devroot.testing does not model {what}; {remedy}")
