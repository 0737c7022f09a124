"""Small changes to the code that tests ought to notice: draws some by a seed, runs the tests on each, says which live.

    python benchmarks/mutants.py --out mutants.jsonl              # 60 of all there are; goes on where it was stopped
    python benchmarks/mutants.py --out mutants.jsonl --only 0..9  # the first ten of the same draw
    python benchmarks/mutants.py --only 0..9                      # shows them, runs nothing

A mutant lives in a copy of the tree. First come the tests of its module, then the others by how near they import it;
the first failure ends it, and counts if the same test passes without the mutant. Those that change nothing anybody
could see stand in mutants_equivalent.json, as [before, after, reason]: shown, but not counted.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import local
from typing import Any, NamedTuple

from common import commit

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("criterion", "noise", "methods", "engine")
SAME = Path(__file__).with_name("mutants_equivalent.json")
NOT_RUN = ("browser", "docs", "packaging", "contributing", "tests/benchmarks")  # of words, pages and this very script

SWAPPED = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div,), ast.Mod: (ast.FloorDiv,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
PAIRS = "min max minimum maximum fmin fmax amin amax argmin argmax any all floor ceil zeros ones zeros_like ones_like"
NAMES = {one: other for pair in zip(*[iter(PAIRS.split())] * 2, strict=True) for one, other in (pair, pair[::-1])}
NO_CODE = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    """A file in which one node is written differently."""

    path: str
    line: int
    kind: str
    before: str  # the lines of the node
    after: str
    source: str


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """(kind of change, what is replaced, by what)."""
    match node:
        case ast.Compare(ops=[op]):
            yield from (("comparison", node, _with(node, ops=[other()])) for other in SWAPPED[type(op)])
        case ast.BoolOp(op=op, values=values):
            yield "and/or", node, _with(node, op=SWAPPED[type(op)][0]())
            yield from (("clause dropped", one, "True" if isinstance(op, ast.And) else "False") for one in values)
        case ast.UnaryOp(operand=operand):
            yield "sign dropped", node, f"({ast.unparse(operand)})"
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield "arithmetic", node, _with(node, op=SWAPPED[type(op)][0]())
        case ast.Constant(value=bool(value)):
            yield "constant", node, str(not value)
        case ast.Constant(value=int(value)):
            yield from (("constant", node, str(other)) for other in (value + 1, value - 1) if other >= 0)
        case ast.Constant(value=float(value)):
            yield "constant", node, repr(2 * value or 1.0)
        case ast.If(test=test) | ast.IfExp(test=test) if isinstance(test, ast.Name | ast.Attribute | ast.Call):
            yield "condition", test, f"(not ({ast.unparse(test)}))"
        case ast.Slice():
            yield "slice", node, ":"
        case ast.Expr(value=ast.Call()):
            yield "statement dropped", node, "pass"
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name not in ("field", "Knob", "Opt", "Arg"):
            yield from _of_call(node, name)


def _of_call(node: ast.Call, name: str) -> Iterator[tuple[str, ast.AST, str]]:
    """Another function, the other direction of a sort, one named argument fewer."""
    func = node.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    if name in NAMES:
        other = ast.Name(NAMES[name]) if owner is None else ast.Attribute(owner, NAMES[name])
        yield "function", node, _with(node, func=other)
    elif name == "argsort" and ast.unparse(func) in ("np.argsort", "torch.argsort"):
        yield "direction", node, _with(node, args=[ast.UnaryOp(ast.USub(), node.args[0]), *node.args[1:]])
    elif name == "argsort" and owner is not None:
        yield "direction", node, _with(node, func=ast.Attribute(ast.UnaryOp(ast.USub(), owner), name))
    for keyword in node.keywords:
        if keyword.arg != "strict":  # of zip: it guards what cannot happen
            yield "argument dropped", node, _with(node, keywords=[one for one in node.keywords if one is not keyword])


def _with(node: ast.AST, **new: Any) -> str:
    text = ast.unparse(type(node)(**{name: getattr(node, name) for name in node._fields} | new))
    return f"({text})" if isinstance(node, ast.expr) else text


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All that runs: no annotations, no decorators, no words of an error, nothing for type checkers."""
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            said = name in ("annotation", "returns", "decorator_list") or getattr(child, "arg", "") == "strict"
            typed = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            if isinstance(child, ast.AST) and not isinstance(child, NO_CODE) and not said and not typed:
                yield child
                yield from nodes(child)


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file, each once."""
    whole, ends = source.encode(), [0]
    for text in whole.splitlines(keepends=True):
        ends.append(ends[-1] + len(text))
    seen = {source}
    for node in nodes(ast.parse(source)):
        for kind, place, text in changes(node):
            first, last = place.lineno, place.end_lineno  # type: ignore[attr-defined]
            start, stop = ends[first - 1] + place.col_offset, ends[last - 1] + place.end_col_offset  # type: ignore[attr-defined]
            head, tail = whole[ends[first - 1] : start], whole[stop : ends[last]]
            lines = [part.decode() for part in (head + whole[start:stop] + tail, head + text.encode() + tail)]
            new = (whole[: ends[first - 1]] + lines[1].encode() + whole[ends[last] :]).decode()
            if new not in seen:
                seen.add(new)
                with suppress(SyntaxError):  # not every place takes every expression
                    compile(new, path, "exec", ast.PyCF_ONLY_AST)
                    before, after = (" ".join(part.split()) for part in lines)
                    yield Mutant(path, first, kind, before, after, new)


def draw(seed: int, number: int) -> list[Mutant]:
    files = [file for package in PACKAGES for file in sorted((ROOT / "src/smallloss" / package).rglob("*.py"))]
    every = [one for file in files for one in mutants_of(str(file.relative_to(ROOT)), file.read_text("utf-8"))]
    print(f"{len(every):,} mutants of {len(files)} files, {number} drawn by seed {seed}", flush=True)
    return random.Random(seed).sample(every, number)


@cache
def imports(folder: str, pattern: str) -> dict[str, set[str]]:
    """What each file of a folder imports, wherever in it."""
    found = {}
    for file in sorted((ROOT / folder).rglob(pattern)):
        some = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        found[str(file.relative_to(ROOT))] = {f"{node.module}.{alias.name}" for node in some for alias in node.names}
        found[str(file.relative_to(ROOT))] |= {str(node.module) for node in some}
    return found


def module_of(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tests_of(path: str) -> list[list[str]]:
    """Groups of test files: the module's own, then the others by how many imports lie between."""
    ours = {module_of(file): modules for file, modules in imports("src", "*.py").items()}
    tests = imports("tests", "test_*.py")
    left = {test: tests[test] for test in tests if not any(word in test for word in NOT_RUN)}
    folder, _, name = path.replace("src/smallloss", "tests").rpartition("/")
    order, reached = [test for test in left if test == f"{folder}/test_{name}"], {module_of(path)}
    ends = [len(order)]
    for _ in range(3):
        order += [test for test in left if left[test] & reached and test not in order]
        reached |= {module for module in ours if ours[module] & reached}
        ends.append(len(order))
    # Short files are mostly quick, and may know as well.
    order += sorted((test for test in left if test not in order), key=lambda test: (ROOT / test).stat().st_size)
    return [group for start, end in pairwise([0, *ends, len(order)]) if (group := order[start:end])]


class Runner:
    """Runs tests in copies of the tree, one copy for each worker."""

    def __init__(self, folder: str) -> None:
        self.folder, self.mine, self.sound = folder, local(), set[str]()

    @property
    def tree(self) -> Path:
        if not hasattr(self.mine, "tree"):
            left = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "runs")
            self.mine.tree = shutil.copytree(ROOT, Path(tempfile.mkdtemp(dir=self.folder), "tree"), ignore=left)
        return self.mine.tree

    def failing(self, tests: list[str]) -> str | None:
        """The first test that fails; None where all pass."""
        own = {"PYTHONPATH": str(self.tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        patience = 300 + 60 * len(tests)  # seconds, after which a mutant is taken to run for ever
        how: dict[str, Any] = {"cwd": self.tree, "env": os.environ | own, "timeout": patience, "check": False}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(command, capture_output=True, text=True, **how)
        except subprocess.TimeoutExpired:
            return f"nothing: it still ran after {patience} seconds"
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if done.returncode and not failed:
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return failed[0].partition(" ")[2].partition(" - ")[0] if failed else None

    def killer(self, mutant: Mutant) -> str | None:
        """The test that notices; None where the mutant lives."""
        file = self.tree / mutant.path
        original, found = file.read_text("utf-8"), None
        file.write_text(mutant.source, "utf-8")
        for tests in tests_of(mutant.path):
            found = found or self.failing(tests)
        file.write_text(original, "utf-8")
        if found is not None and found.startswith("tests/") and found not in self.sound:
            if self.failing([found]) is not None:
                raise SystemExit(f"{found} fails without a mutant, too: put that right first.")
            self.sound.add(found)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", type=int, default=60, help="how many")
    parser.add_argument("--only", default="", metavar="N..M", help="of those drawn, from 0, both included")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="one JSON line a mutant; those that have one are not run again")
    asked = parser.parse_args()
    first, _, last = asked.only.partition("..")
    drawn = draw(asked.seed, asked.draw)[int(first or 0) : int(last or first or asked.draw) + 1]
    killers: dict[tuple[Any, ...], str | None] = {}
    if asked.out is not None and asked.out.exists():
        rows = [json.loads(line) for line in asked.out.read_text("utf-8").splitlines()]
        killers = {tuple(row[name] for name in Mutant._fields[:-1]): row["killed_by"] for row in rows}

    def run(mutant: Mutant) -> None:
        if (facts := mutant[:-1]) in killers:
            return
        begun = time.perf_counter()
        killers[facts] = runner.killer(mutant)
        row = dict(zip(Mutant._fields, facts, strict=False)) | {"killed_by": killers[facts], "commit": commit()}
        row["seconds"] = round(time.perf_counter() - begun)
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print("killed" if killers[facts] else "LIVES ", row["seconds"], "s", mutant.path, mutant.line, flush=True)

    if asked.out is not None:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as workers:
            runner = Runner(folder)
            list(workers.map(run, drawn))
    equal = {(before, after): why for before, after, why in json.loads(SAME.read_text("utf-8"))}
    living = [one for one in drawn if killers.get(one[:-1]) is None]
    for path, line, kind, before, after, _ in living:
        print(f"\n{path}:{line} {kind}\n- {before}\n+ {after}\n{equal.get((before, after), '')}".rstrip())
    if asked.out is not None:
        n, known = len(living), sum((one.before, one.after) in equal for one in living)
        print(f"\n{len(drawn) - n} of {len(drawn)} are noticed; {n - known} live, and {known} change nothing.")


if __name__ == "__main__":
    main()
