"""What mkdocs is told beside mkdocs.yml: programs that pages link to, outside docs/, come along.

make docs
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\]\((?:\.\./)+(examples/[\w.]+)\)")


def on_files(files: Any, config: Any) -> Any:
    for path in sorted(filter(Path.is_file, (ROOT / "examples").iterdir())):
        files.append(File.generated(config, f"examples/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The same link, one level lower: in the site, examples/ stands beside the guides."""
    up = "../" * page.file.src_uri.count("/")
    return OUTSIDE.sub(lambda link: f"]({up}{link[1]})", markdown)
