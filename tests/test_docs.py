"""The documentation holds: its links, commands and names exist, and its code runs as it is written."""

import ast
import doctest
import importlib
import inspect
import math
import re
import runpy
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import smallloss as sl
from command import smallloss
from made import rows_of, write_rows
from smallloss.cli import app
from smallloss.criterion.selection import REASONS
from smallloss.record.examples import COLUMNS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]


def blocks(page: Path, language: str = "python") -> list[str]:
    return [text for kind, text in FENCED.findall(page.read_text(encoding="utf-8")) if kind == language]


def block_with(page: str, word: str) -> str:
    (block,) = (text for text in blocks(DOCS / page) if word in text)
    return block


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def sections(page: Path) -> dict[str, str]:
    """Title -> text, of every ## and ### section."""
    parts = re.split(r"^###? (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title.strip("`"): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


# --- links ---------------------------------------------------------------------------------------------------


@cache
def anchors(page: Path) -> set[str]:
    """As GitHub makes them: small letters, no punctuation, hyphens for blanks, numbers for those that come again."""
    found: Counter[str] = Counter()
    made = set()
    for title in re.findall(r"^#{1,6} (.*)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        made.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return made


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    for target in re.findall(r"(?:\]\(|src=\")([^)\"\s]+)", text):
        if re.match(r"\w+:", target):  # another site: nothing is fetched here
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), target


@pytest.mark.parametrize("page", [path for path in PAGES if DOCS in path.parents], ids=str)
def test_every_page_is_in_an_index(page):
    if page.name == "README.md" and page.parent == DOCS:
        return
    index = (
        DOCS / "README.md" if page.name == "README.md" or page.parent.name != "decisions" else page.parent / "README.md"
    )
    assert f"({page.relative_to(index.parent).as_posix()})" in index.read_text(encoding="utf-8")


# --- commands ------------------------------------------------------------------------------------------------

ALONE = {"--version", "--help", "--install-completion"}
VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options(verb: str) -> set[str]:
    return {name for one in VERBS[verb].params for name in (*one.opts, *one.secondary_opts) if name.startswith("--")}


def commands(page: Path) -> Iterator[list[str]]:
    """The words after `smallloss`, of every command in a block or in a line of prose."""
    text = page.read_text(encoding="utf-8")
    lines = [line for _, block in FENCED.findall(text) for line in block.splitlines()]
    for line in [*lines, *re.findall(r"`([^`\n]+)`", prose(page))]:
        if line.startswith("smallloss "):
            yield shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_has_its_verb_and_options(page):
    for words in commands(page):
        if words[0].startswith("--"):
            assert words[0] in ALONE, words
            continue
        assert words[0] in VERBS, words
        assert {word for word in words if word.startswith("--")} <= options(words[0]), words


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_option_in_a_sentence_exists(page):
    known = ALONE.union(*map(options, VERBS))
    told = [code for code in re.findall(r"`([^`\n]+)`", prose(page)) if code.startswith("--")]
    assert {name for code in told for name in re.findall(r"(?<!\S)--[\w-]+", code)} <= known


def test_the_page_of_the_command_line_is_what_the_script_makes():
    """If not: python docs/make_cli.py."""
    made = runpy.run_path(str(DOCS / "make_cli.py"))["page"]()
    assert (DOCS / "reference" / "cli.md").read_text(encoding="utf-8") == made
    assert all(f"\n## {verb}\n" in made and all(f"`{name}" in made for name in options(verb)) for verb in VERBS)


# --- names ---------------------------------------------------------------------------------------------------


def has(thing: Any, dotted: str) -> bool:
    """Is there such an attribute, a field of a dataclass or an annotated one included?"""
    for name in dotted.split("."):
        known = {item.name for item in fields(thing)} if is_dataclass(thing) else set()
        if hasattr(thing, name):
            thing = getattr(thing, name)
        else:
            return name in known
    return True


def module_of(path: str) -> ModuleType:
    return importlib.import_module("smallloss." + path.removesuffix(".py").strip("/").replace("/", "."))


def test_from_the_paper_to_the_code_names_what_is_there():
    seen = 0
    for line in (DOCS / "paper-to-code.md").read_text(encoding="utf-8").splitlines():
        module: ModuleType | None = None
        for code in re.findall(r"`([^`]+)`", line.rpartition(" | ")[2] if line.startswith("|") else line):
            name = re.match(r"[A-Za-z_][\w.]*(?=$|\()", code)
            if code.startswith(("benchmarks/", "examples/", "tests/")):
                assert (ROOT / code).exists(), code
            elif code.endswith((".py", "/")) and code != "src/smallloss/":
                assert (ROOT / "src" / "smallloss" / code).exists(), code
                module = module_of(code)
            elif name and module is not None:
                assert has(module, name[0]), f"{code} of {module.__name__}"
                seen += 1
    assert seen > 80


CALLED = (
    "clean",
    "load_classifier",
    "predict",
    "LossLedger",
    "select",
    "estimate",
    "RSLClassifier",
    "check",
    "load",
    "corrupt",
)


@pytest.mark.parametrize("name", sl.__all__)
def test_every_public_name_is_in_the_api(name):
    text = sections(DOCS / "reference" / "api.md")[name]
    assert "```python" in text
    thing = getattr(sl, name)
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        told = set(re.findall(r"\w+", text))
        own = {one for base in thing.__mro__ if base.__module__.startswith("smallloss") for one in vars(base)}
        public = {one for one in own if not one.startswith(("_", "set_"))}
        public |= {item.name for item in fields(thing)} if is_dataclass(thing) else set()
        assert public <= told


@pytest.mark.parametrize("name", CALLED)
def test_a_signature_in_the_api_is_that_of_the_code(name):
    (written,) = re.findall(rf"^sl\.{name}\((.*?)\)$", sections(DOCS / "reference" / "api.md")[name], re.M | re.DOTALL)
    arguments = ast.parse(f"def f({written}): ...").body[0].args  # type: ignore[attr-defined]
    plain = [one.arg for one in arguments.args]
    defaults = dict(zip(reversed(plain), reversed(arguments.defaults), strict=False))
    defaults |= {one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    real = inspect.signature(getattr(sl, name)).parameters
    assert [*plain, *(one.arg for one in arguments.kwonlyargs)] == list(real)
    for parameter in real.values():
        told, true = defaults.get(parameter.name), parameter.default
        value = inspect.Parameter.empty if told is None else ast.literal_eval(told)
        assert value == true or (isinstance(true, float) and math.isclose(value, true)), parameter
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (parameter.name not in plain)


def test_every_reason_is_explained():
    text = sections(DOCS / "reference" / "run-folder.md")["Reasons"]
    assert re.findall(r"^- `([^`]+)`:", text, re.MULTILINE) == list(REASONS)


# --- what is written as code runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")], ids=str)
def test_what_a_session_shows_is_what_it_prints(page):
    for block in blocks(page, ""):
        if ">>>" in block:
            session = re.sub(r"\n(?=\n)", "\n<BLANKLINE>", block)
            example = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
            assert doctest.DocTestRunner().run(example).failed == 0


def a_few(tiny: Any) -> dict[str, Any]:
    """What the examples take for granted."""
    labels = np.array(["cat", "dog", "eel"])[tiny.labels]
    rng = np.random.default_rng(0)
    X = rng.normal(3, 2, (96, 5)) + tiny.true_labels[:, None]
    P = np.eye(3)[tiny.true_labels] * 0.7 + 0.1
    known = {"np": np, "sl": sl, "pictures": tiny.inputs, "new_pictures": tiny.inputs[:7], "labels": labels}
    return known | {"X": X, "y": labels, "P": P, "losses": rng.random(96)}


def test_the_api_runs_as_it_is_written(tiny, tmp_path, monkeypatch, capsys):
    """And the folder of its run holds what the page on run folders says."""
    monkeypatch.chdir(tmp_path)
    known = a_few(tiny)
    for block in blocks(DOCS / "reference" / "api.md"):
        exec(block, known)
    assert "likely wrong" in capsys.readouterr().out
    page = (DOCS / "reference" / "run-folder.md").read_text(encoding="utf-8")
    folder = tmp_path / "runs" / "photos"
    assert all(f"`{path.name}{'/' * path.is_dir()}`" in page for path in folder.iterdir() if path.name != ".lock")
    header = (folder / "examples.csv").read_text(encoding="utf-8").splitlines()[0]
    columns = [name.strip('"') for name in header.split(",")]
    assert len(columns) > 10
    assert set(columns) <= {column.name for column in COLUMNS}
    assert [f"- `{one.name}`: {one.doc}" for one in COLUMNS] == re.findall(
        r"^- `.*", sections(DOCS / "reference" / "run-folder.md")["Columns of the examples"], re.MULTILINE
    )
    assert set(np.load(folder / "selection.npz")) <= set(re.findall(r"`(\w+)`", page))


def typed(page: Path) -> Iterator[tuple[str, ...]]:
    """The commands of its blocks, in their order, with less training."""
    lines = [line for block in blocks(page, "") for line in block.splitlines() if line.startswith("smallloss ")]
    for words in (shlex.split(line, comments=True)[1:] for line in lines):
        yield (*words, *(("--epochs", "3") if words[0] == "clean" else ()))


def test_the_tutorial_runs_as_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "guide" / "tutorial.md"
    for words in typed(page):
        if "--answers" in words:
            asked = rows_of(Path("runs/digits/audit/audit.csv"))
            write_rows(Path(words[-1]), [row | {"answer": "right"} for row in asked])
        smallloss(*words)
    known: dict[str, Any] = {}
    (in_python,) = blocks(page)
    exec(in_python, known)
    assert len(known["classifier"].predict(known["new"])) == 5
    assert Path("cleaned.csv").exists()


def test_the_commands_of_the_front_page_run_as_they_are_written(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, (picture, label) in enumerate(zip(tiny.inputs, tiny.labels, strict=True)):
        place = Path("photos", "abc"[label], f"{k}.png")
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(place)
    for words in typed(ROOT / "README.md"):
        smallloss(*words)
    assert {path.name for path in Path("run").iterdir()} >= {"report.html", "examples.csv", "audit"}
    assert any(Path("cleaned").rglob("*.png"))


def test_the_front_page_runs_in_python_as_it_is_written(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (in_python,) = blocks(ROOT / "README.md")
    known = a_few(tiny)
    exec(in_python.replace('labels), "run")', 'labels), "run", epochs=2)'), known)
    assert (known["classifier"].predict(tiny.inputs) == known["run"].predict(tiny.inputs)).all()


def test_the_loop_of_the_guide_runs_as_it_is_written(tiny):
    x = torch.from_numpy(tiny.inputs).flatten(1).float() / 255
    batches = [(rows, x[rows], torch.from_numpy(tiny.labels)[rows]) for rows in torch.arange(96).split(32)]
    known = a_few(tiny) | {"n": 96, "epochs": 2, "loader": batches, "net": torch.nn.Linear(x.shape[1], 3)}
    exec(block_with("guide/your-loop.md", "for epoch in range"), known)
    assert known["ledger"].epochs == 2
    assert known["selection"].mask.any()


@pytest.mark.parametrize("kind", ["pictures", "features"])
def test_the_classifier_of_a_run(kind, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tiny.inputs if kind == "pictures" else np.random.default_rng(0).normal(3, 2, (96, 5)).astype(np.float32)
    run = sl.clean((x, np.array(["cat", "dog", "eel"])[tiny.labels]), "runs/photos", noise_rate=0.2, epochs=3)
    names: dict[str, Any] = {"sl": sl, "pictures": x}
    exec(block_with("guide/predict.md", "classifier = sl.load_classifier"), names)
    classifier = names["classifier"]
    assert classifier.predict(x).tolist() == run.predict(x).tolist()
    assert (classifier.predict_proba(x) == run.classifier.predict_proba(x)).all()
    # "it takes (x - mean) / std, x in 0..1"
    plain = torch.from_numpy(x).permute(0, 3, 1, 2) / 255 if kind == "pictures" else torch.from_numpy(x)
    each = (1, -1) + (1,) * (plain.ndim - 2)
    mean, std = (torch.tensor(numbers).view(each) for numbers in (classifier.seen.mean, classifier.seen.std))
    with torch.no_grad():
        g = classifier.network(((plain - mean) / std).float()).softmax(1)
    np.testing.assert_allclose(g.numpy(), run.classifier.predict_proba(x), atol=1e-5)


def test_rates_that_nobody_knows_are_estimated_beside_an_own_loop(capsys):
    X, true = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in range(10)])
    wrong = np.random.default_rng(0).random(len(true)) < 0.2
    labels = names[np.where(wrong, (true + 1) % 10, true)]
    ledger = sl.LossLedger(len(X))
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    g = model.fit(X, labels).predict_proba(X)
    ledger.update(np.arange(len(X)), -np.log(g[np.arange(len(X)), np.searchsorted(names, labels)]))
    ledger.end_epoch()
    known: dict[str, Any] = {"sl": sl, "model": model, "X": X, "labels": labels, "ledger": ledger}
    exec(block_with("guide/your-loop.md", "cross_val_predict"), known)
    found = known["found"]
    assert list(found.classes) == names.tolist()
    assert found.overall[1] <= wrong.mean() <= found.overall[2]
    assert known["selection"].is_label_issue[wrong].mean() > 0.75
    assert (known["selection"].mask & wrong).sum() < 0.02 * known["selection"].mask.sum()
    assert "differ from each other" in capsys.readouterr().out
