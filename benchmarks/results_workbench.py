"""The report as it is worked in: how fast it is, and what its evidence is worth. Read by results_page.py."""

from results_tools import latest, lines, made, table


def section() -> str:
    speed, found = latest(lines("speed_page.jsonl"), "of"), latest(lines("evidence.jsonl"), "data", "seed")
    times = [
        [f"{row['examples']:,} {row['of']}", f"{row['write_seconds']:.1f}", f"{row['bytes'] / 1e6:.1f}",
         *(f"{row['milliseconds'][what]:.0f}" for what in ("empty", "interactive", "filter", "sort"))]
        for row in speed
    ]  # fmt: skip
    auc = [
        [row["data"], *(f"{row[what]:,}" for what in ("seed", "n", "flagged", "false alarms")),
         *(f"{row[f'AUC of {which}']:.2f}" for which in ("the nearest", "random ones"))]
        for row in found
    ]  # fmt: skip
    head = ["report of", "written, s", "MB", "empty page, ms", "to be used", "filter", "sort"]
    return (
        "## The report as it is worked in\n\nOn two busy cores, in Chromium; two seconds and 100 ms were asked for.\n\n"
        + table(head, times) + made("speed_page.jsonl", speed)
        + "\nEvidence: of what is flagged, how well it tells wrong labels from false alarms whether the nearest kept "
        "example of the label\nor of the class seen is nearer (AUC; .70 was asked for), and a random one of each.\n\n"
        + table(["data", "seed", "examples", "flagged", "false alarms", "nearest", "random"], auc)
        + made("evidence.jsonl", found)
    )  # fmt: skip
