"""A run is a folder: marked as ours, locked while in use, refused when it belongs to something else."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from smallloss.errors import InputError, SmallLossError
from smallloss.files import is_leftover, sweep, write_json, write_text
from smallloss.words import listed

MARKER = "config.json"
_LOCK = ".lock"
_NOTHING: tuple[Any, ...] = (None, [], {})  # a setting that is new and not used differs from none
_BEFORE = {  # runs without these settings did just that
    "precision": "bf16", "decay_last": False, "passes": "joined", "norm_rate": 1.0, "lr_start": 0.0, "lr_end": 0.0,
    "label_smoothing": 0.0, "alternate_flip": False, "cutout": 0.0, "strong": False, "mirror": False,
}  # fmt: skip
_MANY = 5  # values, or differences: more of them are not told one by one
_LONG = 80  # characters
# Stages in their order, and the settings that none before them used. All others are stage 1's already; a method's own
# stages come last, whatever it calls them, and so do the groups of settings but for stage 1's.
_STAGES = {"stage1": 0, "half0": 1, "half1": 1}
_METHOD = 2
_FIRST_USED = {"half_epochs": 1, "final_net": _METHOD}


class RunFolder:
    """`with RunFolder(path, config) as folder:` creates the run or goes on with it.

    It also goes on where nothing but settings differ that no saved stage was trained by: a step that was too large in
    the last stage does not cost the first. `changed` then says in words what is new.
    """

    def __init__(self, path: str | Path, config: dict[str, Any]) -> None:
        self.path = Path(path)
        self._config = json.loads(json.dumps(config))  # as it will be read back: tuples are lists
        self._lock: IO[bytes] | None = None
        self.changed = ""

    def __enter__(self) -> "RunFolder":
        self._refuse_strangers()
        self.path.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            self._begin_or_go_on()
        except BaseException:
            self._release_lock()
            raise
        return self

    def _begin_or_go_on(self) -> None:
        marker, config = self.path / MARKER, {"smallloss_run": 1, **self._config}
        before = read_config(self.path) if marker.exists() else config
        different = _differences(_without_other_methods(before, config), config)
        if different:
            self._refuse_unless_unused(different)
            self.changed = f"{_in_words(different)}; nothing was trained with that yet, so the run goes on"
        elif marker.exists():
            self.changed = str(before.get("changed", ""))
        if self.changed:
            config["changed"] = self.changed
        sweep(self.path)
        if different or not marker.exists():
            write_json(marker, config)

    def _refuse_unless_unused(self, different: Mapping[str, tuple[Any, Any]]) -> None:
        """Settings may change until the first stage that is trained by them has saved something."""
        if "data.fingerprint" in different and not {"noise.drawn", "seed"} & different.keys():
            raise InputError(
                f"{self.path} holds a run on other data, or on this data before it changed ({_in_words(different)}). "
                "Put it back as it was to resume, or name another --out."
            )
        first, trained = min(map(_first_used, different)), trained_by(self.path, different)
        finished = (self.path / "report.html").exists()
        if first >= 0 and not trained and not finished:
            return
        again = ""
        if first > 0 and not finished:
            files = " and ".join(f"checkpoint/{stage}.safetensors" for stage in trained)
            again = f" To keep what came before and train {' and '.join(trained)} again, delete {files} in it."
        raise InputError(
            f"{self.path} holds a run with other settings ({_in_words(different)}). "
            f"Give the same command to resume it, or another --out.{again}"
        )

    def __exit__(self, *error: object) -> None:
        self._release_lock()

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def add(self, **facts: Any) -> None:
        """What config.json says at the end, of what bears on no training."""
        write_json(self.path / MARKER, read_config(self.path) | json.loads(json.dumps(facts)))

    def start_metrics(self, rows: Iterable[dict[str, Any]]) -> None:
        """Lay down exactly the rows that are committed, before new ones are appended."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def add_metrics(self, row: dict[str, Any]) -> None:
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _refuse_strangers(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"--out {self.path} is a file; name a folder")
        if self.path.is_dir() and not (self.path / MARKER).exists():
            names = [entry.name for entry in self.path.iterdir()]
            others = [name for name in names if name != _LOCK and not is_leftover(name)]
            if others:
                raise InputError(
                    f"--out {self.path} is not empty and not a smallloss run (it holds {others[0]!r}); "
                    "name another folder"
                )

    def _take_lock(self) -> None:
        import fcntl  # freed by the kernel however the process ends, also by SIGKILL

        self._lock = (self.path / _LOCK).open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise SmallLossError(
                f"{self.path} is in use by another process; wait for it or name another --out"
            ) from None

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def trained_by(run: Path, settings: Iterable[str]) -> list[str]:
    """The saved stages of a run that some settings bear on, by the names that config.json has: "settings.rsl.lr"."""
    saved = sorted(path.stem for path in (run / "checkpoint").glob("*.safetensors"))
    return [stage for stage in saved if _STAGES.get(stage, _METHOD) >= min(map(_first_used, settings))]


def _first_used(name: str) -> int:
    """The first stage that something in config.json bears on; -1 for what is no setting and may never change."""
    head, _, rest = name.partition(".")
    group, dot, _ = rest.partition(".")
    last = _METHOD if dot and group not in ("stage1", "own_nets") else 0
    return _FIRST_USED.get(group, last) if head == "settings" else -1


def read_config(path: Path) -> dict[str, Any]:
    """The settings a run was made with."""
    marker = path / MARKER
    if not marker.is_file():
        raise InputError(f"{path} is not a run folder (it has no {MARKER}); name one that `smallloss clean` wrote")
    try:
        config = json.loads(marker.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{marker} cannot be read ({error}); it is not a smallloss run, or is damaged") from error
    if not isinstance(config, dict) or "smallloss_run" not in config:
        raise InputError(f"{marker} was not written by smallloss; name another folder")
    return config


def _without_other_methods(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Folders of before list the settings of every method; they bear on no training of this one."""
    groups, mine = old.get("settings", {}), new.get("settings", {})
    used = {name: one for name, one in groups.items() if name in mine or not isinstance(one, dict)}
    return old | ({"settings": used} if groups else {})


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> dict[str, tuple[Any, Any]]:
    """What another command would change: name -> what it was, what it is now."""
    found: dict[str, tuple[Any, Any]] = {}
    # An upgrade, moved data or words must not end a run.
    free = {"version", "versions", "source", "label", "frame"}
    free |= {"chosen", "changed", "options", "given", "shipped", "promise"}
    for name in sorted((old.keys() | new.keys()) - free):
        before, after = old.get(name, _BEFORE.get(name)), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            found |= _differences(before, after, f"{prefix}{name}.")
        elif before != after and not (before in _NOTHING and after in _NOTHING):
            found[f"{prefix}{name}"] = (before, after)
    return found


def _in_words(different: Mapping[str, tuple[Any, Any]]) -> str:
    follows = {"data.fingerprint", "noise.transition", "noise.prior"} if "noise.drawn" in different else set()
    told = [_one_in_words(name, *values) for name, values in different.items() if name not in follows]
    return listed(told, _MANY, str, "; ")


def _one_in_words(name: str, before: Any, after: Any) -> str:
    words = f"was {before!r}, now {after!r}"
    long = any(isinstance(value, list) and len(value) > _MANY for value in (before, after))
    return f"{name} differs" if long or len(words) > _LONG else f"{name} {words}"
