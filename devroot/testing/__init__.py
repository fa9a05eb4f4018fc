"""Test code that works for a host, without a host: no root, no Linux and no GPU.

The names are loaded on first use, so that the pytest plugin costs a test run nothing until a
test asks for one of its fixtures.

.. versionadded:: 0.1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devroot.testing._container import FakeContainer
    from devroot.testing._devices import FakeDevice
    from devroot.testing._faults import Operation, ProcessKilled
    from devroot.testing._files import ProcessFileSystem
    from devroot.testing._handles import TreeDirectory
    from devroot.testing._host import FakeHost
    from devroot.testing._scenarios import Scenario, scenario, scenario_names
    from devroot.testing._tree import TreeFileSystem
    from devroot.testing._udev import FakeUdev

_ROOMS: Final = {
    "FakeContainer": "_container",
    "FakeDevice": "_devices",
    "FakeHost": "_host",
    "FakeUdev": "_udev",
    "Operation": "_faults",
    "ProcessFileSystem": "_files",
    "ProcessKilled": "_faults",
    "Scenario": "_scenarios",
    "TreeDirectory": "_handles",
    "TreeFileSystem": "_tree",
    "scenario": "_scenarios",
    "scenario_names": "_scenarios",
}

__all__ = [
    "FakeContainer",
    "FakeDevice",
    "FakeHost",
    "FakeUdev",
    "Operation",
    "ProcessFileSystem",
    "ProcessKilled",
    "Scenario",
    "TreeDirectory",
    "TreeFileSystem",
    "scenario",
    "scenario_names",
]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        value: object = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
        globals()[name] = value
        return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__
