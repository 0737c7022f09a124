"""Each layer imports only from itself and from those above it; torch is loaded only when a network is."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import smallloss

ROOT = Path(smallloss.__file__).parent
LAYERS = [
    {"errors", "words", "files", "knobs"},
    {"criterion"},
    {"noise"},
    {"data"},
    {"record"},
    {"report"},
    {"auditing"},
    {"exporting"},
    {"models"},  # torch from here on
    {"engine"},
    {"methods"},
    {"run"},
    {"comparing"},
    {"paper"},
    {"integrations"},
    {"cli"},
    {"__main__"},
]
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path: Path) -> str:
    return ".".join(("smallloss", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever in it: inside functions and under TYPE_CHECKING too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = name_of(path).split(".")
                package = parents if path.name == "__init__.py" else parents[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "smallloss" and len(parts) > 1 and parts[1] in DEPTH else None


def test_every_file_has_its_layer():
    assert {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} <= DEPTH.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_layer_imports_only_from_itself_and_above(path):
    own = layer_of(name_of(path))
    assert own is not None
    reached = {module: layer_of(module) for module in imports(path)}
    below = sorted(module for module, layer in reached.items() if layer and DEPTH[layer] > DEPTH[own])
    assert not below


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if DEPTH[p.relative_to(ROOT).parts[0].removesuffix(".py")] < DEPTH["models"]],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_what_comes_before_the_networks_never_imports_torch(path):
    assert not [module for module in imports(path) if module.split(".")[0] == "torch"]


def test_nothing_reads_or_writes_pickle():
    """But for the restricted reader of the official CIFAR files."""
    users = {name_of(path) for path in FILES if {"pickle", "joblib"} & {m.split(".")[0] for m in imports(path)}}
    assert users <= {"smallloss.data.cifar"}
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert "allow_pickle=True" not in text, path
        assert "torch.load(" not in text, path
        assert "torch.save(" not in text, path


LIGHT = """
import sys
import smallloss
assert "torch" not in sys.modules, "import smallloss"
{use}
assert "torch" not in sys.modules, {use!r}
"""
MAIN = """
from smallloss.cli import main
sys.argv = ["smallloss", *{arguments!r}]
try:
    main()
except SystemExit as stopped:
    assert not stopped.code, stopped.code
"""


@pytest.mark.parametrize(
    "use",
    [
        "smallloss.LossLedger(3); smallloss.select([1.0, 2.0], [0, 1], noise_rate=0.1)",
        "dir(smallloss)",
        MAIN.format(arguments=["--help"]),
        MAIN.format(arguments=["--version"]),
        MAIN.format(arguments=["clean", "--help"]),
    ],
    ids=["select", "dir", "--help", "--version", "clean --help"],
)
def test_torch_stays_out(use):
    done = subprocess.run([sys.executable, "-c", LIGHT.format(use=use)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_check_and_corrupt_need_no_torch(tmp_path):
    (tmp_path / "T.csv").write_text("0.8,0.2\n0.3,0.7\n")
    (tmp_path / "labels.csv").write_text("label\na\nb\n")
    out = str(tmp_path / "noisy.csv")
    for arguments in (
        ["check", str(tmp_path / "T.csv")],
        ["corrupt", str(tmp_path / "labels.csv"), "--noise", "uniform:0.2", "--out", out],
    ):
        use = MAIN.format(arguments=arguments)
        script = LIGHT.format(use=use)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_what_the_package_offers_is_there_and_type_checkers_see_the_same():
    offered = {name: getattr(smallloss, name) for name in smallloss.__all__ if name != "__version__"}
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    (only_checked,) = (node for node in tree.body if isinstance(node, ast.If))  # if TYPE_CHECKING
    aliases = [(node.module, alias) for node in only_checked.body for alias in node.names]
    assert {alias.asname: getattr(import_module(home), alias.name) for home, alias in aliases} == offered
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = smallloss.nothing
