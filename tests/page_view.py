#!/usr/bin/env python3
"""The page of `fairground view` in a real browser, driven through chromedriver: what a reader does works, without an error on
the console and without a request.

    tests/page_view.py PAGE HOSTILE [DIR]    pictures stay in DIR

HOSTILE is a view of the part from 0.2 to 0.6 s of a trace whose threads are called HOSTILE_NAME.
"""

import base64
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

# No machine comes near: a page that has not come by then never comes.
PATIENCE_S = 120

HOSTILE_NAME = "<img src=x onerror=window.ran=1>"


class Browser:
    """A headless Chromium: the few calls of WebDriver that are needed here."""

    def __init__(self, width, height, scheme):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.rsplit("port", 1)[1].strip(" .\n")
                break
        assert port, "chromedriver did not start"
        self.session = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        created = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.session += "/" + created["sessionId"]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.chrome("Emulation.setDeviceMetricsOverride", size)
        self.chrome("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.session + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)["value"]

    def chrome(self, command, parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def open(self, page):
        self.call("POST", "/url", {"url": page.resolve().as_uri()})
        end = time.monotonic() + PATIENCE_S
        while not self.run("return FairgroundView.page !== null"):
            assert time.monotonic() < end, f"{page} is not shown"
            time.sleep(0.05)

    def type(self, css, text):
        found = self.call("POST", "/element", {"using": "css selector", "value": css})
        self.call("POST", f"/element/{next(iter(found.values()))}/value", {"text": text})

    def click(self, css, x, y):
        """Clicks at a place of an element, from its upper left corner."""
        at = self.run("const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.x, box.y]", css)
        place = {"duration": 0, "x": round(at[0] + x), "y": round(at[1] + y), "origin": "viewport"}
        actions = [{"type": "pointerMove", **place}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def text(self, css):
        return self.run("return document.querySelector(arguments[0]).innerText", css)

    def state(self):
        return self.run("const {frames, ...rest} = FairgroundView.page.state(); return rest")

    def picture(self, file):
        file.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def complaints(self):
        """What is on the console, and what the page has asked for but itself."""
        said = [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]
        sent = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        urls = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
        return said + [url for url in urls if not url.startswith(("file:", "data:"))]

    def end(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()


def read_by_mouse_and_keys(browser, pictures):
    # A click on the mark of a wakeup shows its candidates and the other scheduler's choice.
    where = browser.run("""
        const page = FairgroundView.page, base = page.model.sides[0], decisions = base.tables.decisions;
        let wanted = 0;
        while (!(decisions.kind[wanted] === 0 && decisions.steps[wanted] && base.differs[wanted])) wanted++;
        const time = decisions.time[wanted];
        page.show(time - 20000, time + 20000);
        const canvas = document.querySelector(".fg-scroll canvas"), gutter = canvas.clientWidth < 560 ? 64 : 156;
        const lane = base.lane.get(decisions.chosen[wanted]);
        return { wanted, x: gutter + (canvas.clientWidth - gutter) / 2, lane, chosen: decisions.chosen[wanted] };
    """)
    # Below the axis of 24 px and the head of the side of 22 px, lanes of 34 px.
    browser.click(".fg-scroll", where["x"] + 1, 24 + 22 + 34 * where["lane"] + 6)
    assert browser.state()["selected"] == {"side": 0, "decision": where["wanted"]}, browser.state()
    details = browser.text(".fg-panel")
    for words in ["woken", "select_idle_", "Candidates", "just before", "Under fair:v5.9+asym-prev-first", "another CPU", "step by step"]:
        assert words in details, (words, details)
    rows = browser.run("return document.querySelectorAll('.fg-panel > .fg-candidates tbody tr').length")
    chosen = browser.run("return document.querySelector('.fg-panel > .fg-candidates .fg-chosen th').textContent")
    assert rows >= 2 and chosen.startswith(str(where["chosen"])), (rows, chosen)
    browser.picture(pictures / "view-placement.png")

    # A search by name: its tasks, then the next placements are theirs.
    browser.type(".fg-view input", "pipe-1")
    found = browser.text(".fg-found")
    assert "sched-pipe-1" in found and "sched-pipe-0" not in found and "placements" in found, found
    browser.type(".fg-view input", "\ue007")
    browser.type(".fg-scroll", "n")
    for _ in range(3):
        browser.type(".fg-scroll", "n")
        task = browser.run("""
            const { model, state } = FairgroundView.page, { side, decision } = FairgroundView.page.state().selected;
            return model.sides[side].threads[model.sides[side].tables.decisions.thread[decision]].name;
        """)
        assert task == "sched-pipe-1", task
    browser.type(".fg-view input", "\ue003" * 6 + "no such task")
    assert "No task" in browser.text(".fg-found")

    # Keys alone: out to all, in, along, to the next that differs, to the details and back.
    browser.type(".fg-scroll", "\ue00c")
    browser.type(".fg-scroll", "0")
    all_of_it = browser.state()
    browser.type(".fg-scroll", "+")
    nearer = browser.state()
    assert nearer["to"] - nearer["from"] < all_of_it["to"] - all_of_it["from"]
    browser.type(".fg-scroll", "\ue014")
    assert browser.state()["from"] > nearer["from"]
    browser.type(".fg-scroll", "x")
    differs = browser.run("const { side, decision } = FairgroundView.page.state().selected; return FairgroundView.page.model.sides[side].differs[decision]")
    assert differs == 1
    browser.type(".fg-scroll", "\ue007")
    assert browser.run("return document.activeElement.className") == "fg-panel"
    browser.type(".fg-panel", "\ue00c")
    assert browser.run("return document.activeElement.className") == "fg-scroll"


def numbers_are_those_of_the_model(browser):
    """Text of steps has its numbers, spans do not overlap, and what runs is what the lanes say."""
    problems = browser.run("""
        const out = [];
        for (const side of FairgroundView.page.model.sides) {
          const { runs, decisions, steps, numbers } = side.tables;
          for (let lane = 0; lane < side.cpus.length; lane++) {
            for (let i = runs.first[lane] + 1; i < runs.first[lane + 1]; i++) {
              if (runs.begin[i] < runs.begin[i - 1] + runs.length[i - 1]) out.push(`overlap on lane ${lane}`);
            }
          }
          if (side.numberFirst[steps.rows] !== numbers.rows) out.push("numbers are left over");
          if (side.stepFirst[decisions.rows] !== steps.rows) out.push("steps are left over");
          for (let i = 1; i < decisions.rows; i++) if (decisions.time[i] < decisions.time[i - 1]) out.push("decisions out of order");
        }
        return out;
    """)
    assert not problems, problems[:3]


def hostile_names_stay_text(page):
    """In the list of what is found, in the details and in their tables; and a part of a trace is all that the axis has."""
    browser = Browser(1300, 1000, "light")
    try:
        browser.open(page)
        assert {"from": 2e8, "to": 6e8}.items() <= browser.state().items(), browser.state()
        assert "10 events in 400 ms" in browser.text(".fg-facts"), browser.text(".fg-facts")
        browser.run("FairgroundView.page.show(0, 1e12)")
        assert {"from": 2e8, "to": 6e8}.items() <= browser.state().items(), browser.state()
        browser.type(".fg-view input", "onerror")
        assert HOSTILE_NAME in browser.text(".fg-found"), browser.text(".fg-found")
        browser.run("FairgroundView.page.select(0, 0)")
        assert HOSTILE_NAME in browser.text(".fg-panel"), browser.text(".fg-panel")
        assert browser.run("return document.images.length === 0 && window.ran === undefined"), "a name has become an element"
        complaints = browser.complaints()
        assert not complaints, complaints
    finally:
        browser.end()


def main(page, hostile, pictures):
    page = Path(page)
    hostile_names_stay_text(Path(hostile))
    for width, height, scheme in [(1300, 1000, "light"), (1300, 1000, "dark"), (390, 1400, "light")]:
        browser = Browser(width, height, scheme)
        try:
            browser.open(page)
            numbers_are_those_of_the_model(browser)
            if (width, scheme) == (1300, "light"):
                read_by_mouse_and_keys(browser, pictures)
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} px wide in a window of {width} px"
            browser.picture(pictures / f"view-{width}-{scheme}.png")
            complaints = browser.complaints()
            assert not complaints, complaints
            # The check itself: it sees an error and a request that is refused.
            browser.run("setTimeout(() => { fetch('http://example.invalid/'); nothing(); })")
            end = time.monotonic() + PATIENCE_S
            seen = []
            while not any("nothing" in words for words in seen):
                assert time.monotonic() < end, f"the check does not see an error: {seen}"
                seen += browser.complaints()
        finally:
            browser.end()
    print("page: a view has names as text, is quiet in light, dark and 390 px; a click, a search and keys do what they say")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3] if len(sys.argv) > 3 else "."))
