"""The real file system; every link is resolved inside a root.

The rooms in here, each importing only from those before it: `_walk`, `_directory`, `_bulk`,
`_handle`, `_portable`, `_openat2`, `_system`.
"""

from devroot._local._system import LocalFileSystem, Resolver

__all__ = ["LocalFileSystem", "Resolver"]
