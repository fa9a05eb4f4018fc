"""The names in a CDI spec: kinds, devices, annotations, and the file that holds it."""

from __future__ import annotations

import re
from typing import Final

from devroot.errors import InvalidSpecError

_QUALIFIER: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9._-]*[A-Za-z0-9])")
_DEVICE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")

_VENDOR_MAX: Final = 253
_CLASS_MAX: Final = 63
_FILE_NAME_MAX: Final = 255
"""``NAME_MAX`` of limits.h(0p); in bytes."""


def split_kind(kind: object, *, location: str = "kind") -> tuple[str, str]:
    """Return vendor and class of a kind such as ``vendor.com/class``.

    The rules are those of "Kind" in the CDI specification and of the library that runtimes read
    specs with: ASCII letters, digits, ``.``, ``_`` and ``-``, a letter first and no punctuation
    last. A name of one letter is refused: podman 4.3, say, crashes on it.

    Raises:
        InvalidSpecError: *kind* is no such kind.
    """
    if not isinstance(kind, str) or kind.count("/") != 1:
        raise InvalidSpecError(location, kind, reason="it is a vendor, a slash and a class")
    vendor, _, class_ = kind.partition("/")
    for what, name, most in (("vendor", vendor, _VENDOR_MAX), ("class", class_, _CLASS_MAX)):
        if len(name) > most:
            reason = f"the {what} has at most {most} characters"
            raise InvalidSpecError(location, kind, reason=reason)
        if not _QUALIFIER.fullmatch(name):
            reason = (
                f"the {what} {name!r} is two or more ASCII letters, digits, '.', '_' or '-', with"
                " a letter first and a letter or digit last"
            )
            raise InvalidSpecError(location, kind, reason=reason)
    return vendor, class_


def check_device_name(name: object, location: str) -> None:
    """Make sure that a device can have this name; see "CDI Devices" in the specification.

    Raises:
        InvalidSpecError: it cannot.
    """
    if not isinstance(name, str) or not _DEVICE.fullmatch(name):
        reason = (
            "a device's name is ASCII letters, digits, '.', '_', '-' or ':', with a letter or"
            " digit first and last"
        )
        raise InvalidSpecError(location, name, reason=reason)


def check_annotation(key: object, location: str) -> None:
    """Make sure that an annotation can have this key, as Kubernetes would take it.

    Raises:
        InvalidSpecError: it cannot.
    """
    prefix, slash, name = key.rpartition("/") if isinstance(key, str) else ("", "", "")
    good_prefix = not slash or (len(prefix) <= _VENDOR_MAX and _SUBDOMAIN.fullmatch(prefix))
    if not good_prefix or len(name) > _CLASS_MAX or not _LABEL.fullmatch(name):
        reason = "the key of an annotation is a name, or a DNS subdomain, a slash and a name"
        raise InvalidSpecError(location, key, reason=reason)


def qualified_name(kind: str, name: str) -> str:
    """Return what a runtime calls a device: ``vendor.com/class=name``.

    Raises:
        InvalidSpecError: the kind or the name is none.

    .. versionadded:: 0.1.0
    """
    split_kind(kind)
    check_device_name(name, "name")
    return f"{kind}={name}"


def file_name(kind: str, *, transient_id: str | None = None) -> str:
    """Return the name of the file for a spec, as others name theirs.

    Args:
        kind: of the spec.
        transient_id: what sets this spec apart from others of its kind, such as the ID of a
            claim; a slash in it becomes ``_``. None for the only one of its kind.

    Returns:
        ``VENDOR-CLASS.json`` or ``VENDOR-CLASS_ID.json``.

    Raises:
        InvalidSpecError: the kind is none; or *transient_id* is empty, holds a control character,
            or makes a name of more than 255 bytes, which no file can have.

    .. versionadded:: 0.1.0
    """
    vendor, class_ = split_kind(kind)
    if transient_id is None:
        return f"{vendor}-{class_}.json"
    name = f"{vendor}-{class_}_{transient_id.replace('/', '_')}.json"
    where = "transient_id"
    if not transient_id:
        raise InvalidSpecError(where, transient_id, reason="it is empty; leave it out")
    if not transient_id.isprintable():
        raise InvalidSpecError(where, transient_id, reason="it holds what cannot be printed")
    if len(name.encode()) > _FILE_NAME_MAX:
        reason = f"a file name has at most {_FILE_NAME_MAX} bytes, and {name} has more"
        raise InvalidSpecError(where, transient_id, reason=reason)
    return name
