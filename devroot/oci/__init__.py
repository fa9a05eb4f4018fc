"""OCI runtimes, Docker and podman: from a ``config.json`` or the options of ``run`` to mounts.

Pure functions over dictionaries and strings; nothing is read or asked.

.. versionadded:: 0.1.0
"""

from __future__ import annotations

from devroot.oci._config import mount_table
from devroot.oci._options import mount_option, volume

__all__ = ["mount_option", "mount_table", "volume"]
