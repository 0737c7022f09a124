"""Take the pictures of the documentation anew: pages of a real run on digits, seen by Chromium without a window.

python docs/make_pictures.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURES = Path(__file__).parent / "pictures"
SEEN = {  # name: page of the run, width of the window, and which rows of its pixels are shown
    "report": ("report.html", 1200, (0, 1190)),
    "suspicious": ("report.html", 1200, (480, 1400)),
    "audit": ("audit/audit.html", 900, (0, 800)),
}
QUIET = ("no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars")
MOST = 150_000  # bytes of a picture


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Install chromium: it takes the pictures.")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "runs" / "digits"
        for words in (["clean", "digits", "--out", str(run)], ["audit", str(run)]):
            subprocess.run([sys.executable, "-m", "smallloss", *words], check=True)
        for name, (page, width, rows) in SEEN.items():
            seen = (run / page).with_suffix(".seen.html")  # without the place of this folder, which is nobody's
            seen.write_text((run / page).read_text(encoding="utf-8").replace(f"{folder}/", ""), encoding="utf-8")
            take(chromium, seen, width, rows, Path(folder) / f"{name}.png")


def take(chromium: str, page: Path, width: int, rows: tuple[int, int], shot: Path) -> None:
    top, bottom = rows
    options = [f"--{name}" for name in ("headless=new", "disable-gpu", *QUIET)]
    options += [f"--screenshot={shot}", f"--window-size={width},{bottom}", f"--user-data-dir={shot.parent / 'browser'}"]
    options += ["--virtual-time-budget=5000"]  # the scripts of the page are through
    options += ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox refuses to start for root
    subprocess.run([chromium, *options, page.as_uri()], check=True, capture_output=True)
    made = PICTURES / f"{shot.stem}.webp"
    Image.open(shot).convert("RGB").crop((0, top, width, bottom)).save(made, quality=80, method=6)
    if made.stat().st_size > MOST:
        sys.exit(f"{made.name} has {made.stat().st_size:,} bytes, of {MOST:,} allowed: make its window smaller.")


if __name__ == "__main__":
    main()
