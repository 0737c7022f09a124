"""Answers by hand that later runs must respect: what `smallloss audit` wrote, or any table of the same columns."""

from pathlib import Path

from smallloss.data.dataset import Dataset
from smallloss.data.table_files import by_spelling, read_table
from smallloss.errors import InputError
from smallloss.noise.answers import true_class
from smallloss.words import quoted

ANSWERS = ("right", "wrong", "none")


def read_corrections(path: str | Path, dataset: Dataset) -> dict[int, int]:
    """Row of the dataset -> its true class by hand, or NONE.

    Columns: id, answer (right, wrong, none) and true_label, which only the right ones may do without. It is the truth
    whatever the label is today: one that was wrong may have been mended since, and one that was right changed.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"corrections is a {type(path).__name__}; give the path of a table of id, answer, true_label.")
    table = read_table(path)
    for name in ("id", "answer", "true_label"):
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name!r}; corrections have id, answer and true_label.")
    row_of = {name: index for index, name in enumerate(dataset.ids)}
    place = {spelling: row_of[name] for spelling, name in by_spelling(dataset.ids).items()}
    code, spelled = {name: k for k, name in enumerate(dataset.classes)}, by_spelling(dataset.classes)
    pins: dict[int, int] = {}
    columns = (table[name].to_pylist() for name in ("id", "answer", "true_label"))
    for row, (name, answer, label) in enumerate(zip(*columns, strict=True), 1):
        if str(name) not in place:
            raise InputError(
                f"Row {row} of {path} names {name!r}, which is not an example of {dataset.name}. If it was moved or "
                "renamed, write its new id there; if it is gone, take the row out."
            )
        word, index = str(answer or "").strip().lower(), place[str(name)]
        if word not in ANSWERS:
            raise InputError(f"Row {row} of {path} has the answer {answer!r}; it must be {', '.join(ANSWERS)}.")
        if index in pins:
            raise InputError(f"Row {row} of {path} answers for {quoted(str(name))} a second time; keep one of the two.")
        true = "" if label is None else spelled.get(str(label), str(label))
        where = f"Row {row} of {path} ({name!r})"
        if true and true in code and word != "none":
            pins[index] = code[true]
        else:
            pins[index] = true_class(word, true, int(dataset.labels[index]), code, where)
    return pins
