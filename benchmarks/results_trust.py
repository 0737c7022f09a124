"""Sections of docs/results.md on labels whose noise nobody knows, from the lines of trust.py."""

from results_tools import NOT_COUNTED, Row, made, mean, part, table

PEERS = ("cleanlab", "prediction is not the label")
NETWORKS = ("cross_entropy", "rsl")
UNKNOWN = """## Where nobody knows the noise

{sets} sets with true labels to judge by: people's labels (CIFAR-10N, Fashion-MNIST, YouTube comments), made noise,
clean and shuffled labels; pictures, texts and tables of {least} to {most:,} examples. An *able* network errs on at most
15 %, a *weak* one on more. Noise that is a function of the input follows a rule, which networks learn. In the
table:

- error: of the noise rate per label, ours / cleanlab's
- flags: F1 of what is flagged, ours / cleanlab's / what the network says otherwise; on clean labels the share flagged
- right: how many of the kept labels are, mean and worst set
- red: sets whose verdict is *do not trust*; all others are *unchecked*
- accuracy: how far its estimate by true labels is off, in points, without answers / after 60 / by the given labels
- shipped: true accuracy above plain cross entropy's, in points

"""


def by_group() -> str:
    parts = {name: part(name) for name in ("estimate", "verdict", "accuracy", "shipped")}
    groups: dict[str, dict[str, list[Row]]] = {}
    for name, rows in parts.items():
        for row in sorted(rows, key=lambda row: (row["kind"] in NOT_COUNTED, row["group"])):
            groups.setdefault(row["group"], {}).setdefault(name, []).append(row)
    rows = parts["estimate"]
    sizes = [row["n"] for row in rows]
    head = ["sets", "error", "flags", "right", "red", "accuracy", "shipped"]
    body = [[f"{name} ({len(found['estimate'])})", *_group(name, found)] for name, found in groups.items()]
    told = UNKNOWN.format(sets=len(rows), least=min(sizes), most=max(sizes))
    return told + table(head, body) + made("trust.jsonl", rows)


def _group(name: str, found: dict[str, list[Row]]) -> list[str]:
    rules = [row["rules"] for row in found["estimate"]]
    shown = "flagged" if "clean" in name else "f1"
    right = [row["precision"] for row in found["verdict"] if row["precision"] is not None]
    said = [row[network] for row in found.get("accuracy", []) for network in NETWORKS]
    off = [
        mean(abs(one["value"] - one["truth"]) for one in said), mean(one["answered"]["off"] for one in said),
        mean(abs(one["by given labels"] - one["truth"]) for one in said),
    ]  # fmt: skip
    return [
        "/".join(f"{mean(one[rule]['mae'] for one in rules):.3f}" for rule in ("now", "cleanlab")),
        "/".join(f"{mean(one[rule][shown] for one in rules):.2f}" for rule in ("now", *PEERS)),
        f"{100 * mean(right):.1f}, {100 * min(right):.1f}",
        str(sum(row["tone"] == "red" for row in found["verdict"])),
        "/".join(f"{100 * one:.1f}" for one in off) if said else "–",
        f"{100 * mean(row['gain'] for row in found['shipped']):+.1f}",
    ]


def on_a_gpu() -> str:
    found = {name: part(name, file="trust_gpu.jsonl") for name in ("estimate", "verdict", "shipped")}
    ordered = (sorted(rows, key=lambda row: (row["name"], row["noise"])) for rows in found.values())
    body = []
    for said, verdict, shipped in zip(*ordered, strict=True):
        now, truth = said["rules"]["now"], shipped["truth"]
        body.append([
            f"{said['name'].split(',')[0]}, {said['noise']}", f"{100 * said['wrong']:.1f}",
            f"{100 * now['overall']:.1f} ({100 * now['low']:.0f} to {100 * now['high']:.0f})",
            "/".join(f"{said['rules'][rule]['f1']:.2f}" for rule in ("now", *PEERS)),
            f"{verdict['kept']:,}, {100 * verdict['precision']:.1f}",
            "/".join(f"{100 * truth[network]:.1f}" for network in NETWORKS), shipped["shipped"],
        ])  # fmt: skip
    head = ["50,000 pictures", "wrong", "estimated", "flags", "kept, right", "accuracy, cross entropy/RSL", "shipped"]
    return table(head, body) + made("trust_gpu.jsonl", found["estimate"])
