"""The example of a DRA driver in the docs."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).parents[2] / "docs"
EXAMPLE: Final = DOCS / "examples/dra_driver"


def _loaded(name: str) -> Any:  # noqa: ANN401 - it is loaded by its path
    spec = spec_from_file_location(name, EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


deployment: Final = _loaded("deployment")
