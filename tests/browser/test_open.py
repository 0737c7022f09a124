"""The page as `smallloss open` serves it, in a real browser: decisions are saved as they are made."""

import threading
from math import ceil, floor
from pathlib import Path
from typing import Any

from audited import run_of
from made import rows_of
from smallloss.auditing.run import read_run
from smallloss.auditing.saved import ANSWERS, DECISIONS
from smallloss.auditing.serving import Server
from smallloss.auditing.session import read_back

SECONDS = 10
KEYS = "rrrnrrunrrrrrrrrrrrr"


def test_decisions_are_saved_as_they_are_made_and_every_picture_is_there(chromium: Any, tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.wait import WebDriverWait

    data = run_of(tmp_path / "run")
    run = read_run(tmp_path / "run").shown_with(data)
    with Server(run) as server:  # type: ignore[arg-type]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            chromium.get_log("browser")
            chromium.get(server.address)
            wait = WebDriverWait(chromium, SECONDS)
            wait.until(lambda b: b.find_elements("css selector", ".card"))
            large = "return document.querySelector('#evidence > img').naturalWidth"
            wait.until(lambda b: b.execute_script(large) == 4)
            ActionChains(chromium).send_keys("s").send_keys("u").perform()
            wait.until(lambda b: "Saved in the run folder" in b.find_element("css selector", "#bench-said").text)
            assert sorted(row["answer"] for row in rows_of(DECISIONS.path(run))) == ["unsure", "wrong"]
            chromium.execute_script("localStorage.clear()")
            chromium.get(server.address)
            wait.until(lambda b: b.find_element("css selector", "#answered").text == "2 decided")
            chromium.find_element("css selector", "a.button").click()
            wait.until(lambda b: b.find_elements("css selector", "#given"))
            betrayed = chromium.find_element("css selector", "main").text
            assert "takes it for" not in betrayed
            assert "label score" not in betrayed
            assert "kept" not in chromium.find_element("css selector", "#question").text
            for key in KEYS:
                ActionChains(chromium).send_keys(key).perform()
            answers = ANSWERS.path(run)
            wait.until(
                lambda _: answers.is_file() and sum(row["answer"] != "" for row in rows_of(answers)) == len(KEYS)
            )
            chromium.get(chromium.current_url)
            wait.until(lambda b: b.find_element("css selector", "#progress").text.startswith(f"{len(KEYS)} of"))
            ActionChains(chromium).send_keys("p").perform()
            said = chromium.find_element("css selector", "#title").text
            found = read_back(run.folder, answers).asked_about.precision
            ends = floor(1000 * found.low) / 10, ceil(1000 * found.high) / 10
            assert said == f"{ends[0]:.1f} % to {ends[1]:.1f} % of the kept labels are right."
            assert {row["stratum"] for row in rows_of(DECISIONS.path(run))} == {"suspicious"}
            assert [
                one
                for one in chromium.get_log("browser")
                if one["level"] == "SEVERE" and "favicon" not in one["message"]
            ] == []
        finally:
            server.shutdown()
            thread.join(SECONDS)
