"""The one way pages are made: everything escaped, nothing left undefined."""

from pathlib import Path
from typing import Any


def environment(**filters: Any) -> Any:
    """A jinja environment over the templates of this folder, with some filters added."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made
