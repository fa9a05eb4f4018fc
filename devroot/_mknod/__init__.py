"""Device nodes: say what is to be done, then do it, each node in one atomic step.

The rooms in here, each importing only from those before it: `_advice`, `_steps`, `_jobs`,
`_places`, `_report`, `_plan`, `_apply`, `_make`, `_char_links`.
"""

from devroot._mknod._char_links import char_links
from devroot._mknod._jobs import OnConflict
from devroot._mknod._make import apply, mknod, remove
from devroot._mknod._plan import plan
from devroot._mknod._report import Outcome, Report, Result
from devroot._mknod._steps import Action, Plan, Step

__all__ = [
    "Action",
    "OnConflict",
    "Outcome",
    "Plan",
    "Report",
    "Result",
    "Step",
    "apply",
    "char_links",
    "mknod",
    "plan",
    "remove",
]
