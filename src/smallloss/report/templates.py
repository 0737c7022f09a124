"""The one way pages are made: everything escaped, nothing left undefined, no script but the page's own."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from smallloss.words import percent


def environment(folder: Path, **filters: Any) -> Any:
    """A jinja environment over the templates of a folder and the report's, with some filters added."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"sha256": _sha256, "percent": percent, "count": "{:,}".format} | filters
    made.policies["json.dumps_kwargs"] = {"allow_nan": False}  # browsers read no NaN; keys in the order given
    return made


def _sha256(script: str) -> str:
    """The hash by which a Content-Security-Policy lets this one script run and no other."""
    return base64.b64encode(hashlib.sha256(str(script).encode("utf-8")).digest()).decode("ascii")
