"""What the kernel says exists: device nodes from sysfs and udev, and the news of them.

It starts with `DeviceCatalog.of_host`. The shared library of udev is loaded on first use, and
where there is none, `DeviceCatalog.of_sysfs` still reads devices from sysfs itself.
"""

from __future__ import annotations

from devroot._presence import NodePresence, NodeSet, Presence
from devroot.udev._catalog import DeviceCatalog, missing
from devroot.udev._context import Record, UdevContext, UdevMonitor, UdevNews
from devroot.udev._device import Device, Parent
from devroot.udev._query import Query
from devroot.udev._watch import Change, Event, Watch, watch

__all__ = [
    "Change",
    "Device",
    "DeviceCatalog",
    "Event",
    "NodePresence",
    "NodeSet",
    "Parent",
    "Presence",
    "Query",
    "Record",
    "UdevContext",
    "UdevMonitor",
    "UdevNews",
    "Watch",
    "missing",
    "watch",
]
