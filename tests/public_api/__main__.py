"""Write the snapshot of the public API for the version that is about to be released."""

from __future__ import annotations

import sys
from pathlib import Path

import devroot
from tests.public_api import changelog, names, snapshot

CHANGELOG = Path(__file__).parent.parent.parent / "CHANGELOG.md"


def write(text: str, *, version: str, log: str, directory: Path) -> str:
    """Write the snapshot *text* and return what was done; a released one is never changed.

    Raises:
        ValueError: the present API is that of no release.
    """
    released = {section.version for section in changelog.sections(log) if section.date}
    if ".dev" in version and released:
        message = (
            f"{version} is in the making: say in CHANGELOG.md what has changed. The snapshot is"
            " written when __version__ and the changelog have the version of the release."
        )
        raise ValueError(message)
    name = ".".join(map(str, snapshot.version_of(version)))
    path = directory / f"{name}.txt"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return f"{path.name} is as it was"
    if path.exists() and name in released:
        message = (
            f"{name} is released, by CHANGELOG.md, with another API. If it is not out yet,"
            f" remove {path.name} first."
        )
        raise ValueError(message)
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"{path.name} is written"


def main() -> int:
    """Do it, or say why not."""
    text = snapshot.dump(names.PublicApi().described)
    log = CHANGELOG.read_text(encoding="utf-8")
    directory = snapshot.DIRECTORY
    try:
        done = write(text, version=devroot.__version__, log=log, directory=directory)
    except ValueError as error:
        print(error, file=sys.stderr)  # noqa: T201 - for a person
        return 1
    print(done)  # noqa: T201 - likewise
    return 0


if __name__ == "__main__":
    sys.exit(main())
