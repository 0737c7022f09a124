"""Script modules joined into one, for pages that load nothing and let no script run but this one, by its hash."""

import re
from collections.abc import Sequence
from pathlib import Path

SHARED = Path(__file__).parent / "js"
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:class|const|function) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


def joined(folders: Sequence[Path], *names: str) -> str:
    """The modules, from the first folder that has them, each in a scope of its own, so that their names cannot clash.

    Of `x.js` it makes `const $x = (() => { ...; return { what it exports }; })();`, and of an import from it, which
    must stand below it, `const { what } = $x;`. Nothing else is understood, and what is not is refused.
    """
    exported: dict[str, list[str]] = {}
    parts = []
    for name in names:
        home = next(folder for folder in folders if (folder / f"{name}.js").is_file())
        text = (home / f"{name}.js").read_text(encoding="utf-8")
        for what, module in _IMPORT.findall(text):
            missing = set(what.split(", ")) - set(exported.get(module, []))
            if missing:
                raise ValueError(f"{name}.js imports {', '.join(sorted(missing))}, which no {module}.js above exports.")
        exported[name] = _EXPORT.findall(text)
        text = _IMPORT.sub(r"const { \1 } = $\2;", _EXPORT.sub("", text))
        left = _LEFT.search(text)
        if left:
            raise ValueError(f"{name}.js cannot be joined for this line: {left[0].strip()}")
        parts.append(f"const ${name} = (() => {{\n{text}return {{ {', '.join(exported[name])} }};\n}})();\n")
    return "".join(parts)
