"""The HTML report: whole, bounded, harmless whatever a model wrote, and legible in a real browser."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import codeeval as ce
from codeeval.analysis.report import report
from codeeval.errors import NotComparable, ResultsError
from codeeval.metrics import PassAtK, StatusRates
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Estimate, Results
from codeeval.results.table import report_card
from codeeval.sample import Attempt, Sample
from codeeval.testing import FakeExecutor

HOSTILE = (
    '</pre></details></style></title><script>document.title="owned"</script>'
    '<img src=//127.0.0.1/a.png onerror="document.title=\'owned\'">" onmouseover=alert(1) \x1b[2J\u202e\ud800\x00'
)


def attempt(
    task_id: str,
    index: int = 0,
    *,
    status: Status = Status.FAILED,
    code: str = "return 1",
    message: str = "assert f(1) == 2",
) -> Attempt:
    tests = (TestResult(name="0", passed=status is Status.PASSED, message="" if status is Status.PASSED else message),)
    execution = Execution(status=status, message=message, tests=tests, cpu_s=0.01 * (index + 1))
    sample = Sample(task_id=task_id, completion=code, index=index)
    return Attempt(sample=sample, code=code, executions={"tests": execution})


def a_run(problems: int = 12, n: int = 4) -> Results:
    """Build results in which task i passes in i of n samples, again and again."""
    attempts = [
        attempt(
            f"toy/{i}",
            j,
            status=Status.PASSED if j < i % (n + 1) else Status.FAILED,
            code=f"def f(x):\n    return {j}\n",
        )
        for i in range(problems)
        for j in range(n)
    ]
    manifest = {
        "benchmark": {"name": "toy", "version": "1.0", "sha256": "abcdef0123456789"},
        "finished": "2026-11-30T02:48:04+00:00",
    }
    r = Results(manifest=manifest, task_ids=[f"toy/{i}" for i in range(problems)], attempts=attempts)
    r.metrics |= {**PassAtK(1, n)(r), **StatusRates()(r)}
    return r


def hostile_run(text: str = HOSTILE) -> Results:
    """Build results with `text` in every place that a model, a candidate or a file can fill."""
    attempts = [
        attempt(text, 0, code=text, message=text),
        attempt(text, 1, status=Status.SANDBOX_ERROR, code=text, message=text),
    ]
    manifest = {"benchmark": {"name": text, "version": text, "sha256": text}, "finished": text}
    return Results(
        manifest=manifest, task_ids=[text, "other"], attempts=attempts, metrics={text: Estimate(value=0.5, unit=text)}
    )


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        found = dict(attrs)
        self.attributes |= set(found)
        self.ids.append(found.get("id") or "")
        self.links.append(found.get("href") or "")
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


TAGS = {"html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "p"}
TAGS |= {"div", "span", "b", "i", "table", "tr", "th", "td", "ul", "li", "figure", "figcaption", "details", "summary"}
TAGS |= {"pre", "a", "svg", "rect", "path", "circle", "text"}


class TestPage:
    def test_shows_scores_intervals_samples_statuses_and_every_task(self, tmp_path: Path) -> None:
        r = a_run()

        shown = _Page(report(r, tmp_path / "report.html").read_text("utf-8")).text

        for part in ("toy 1.0", "sha256 abcdef01", "12 problems", "4 samples each", "48 attempts judged", "2026-11-30"):
            assert part in shown
        for name in ("pass@1", "pass@4", "rate/failed"):
            assert f"{r[name].value:.3f}" in shown
            assert f"95 % CI {r[name].ci_low:.3f}–{r[name].ci_high:.3f}" in shown
        assert all(f"toy/{i}" in shown for i in range(12))
        assert "assert f(1) == 2" in shown
        assert "Every attempt was judged" in shown

    def test_every_cell_of_the_map_leads_to_the_row_of_its_task(self, tmp_path: Path) -> None:
        page = _Page(report(a_run(), tmp_path / "report.html").read_text("utf-8"))

        rows = [f"task-{i}" for i in range(12)]
        assert [name for name in page.ids if name] == rows
        assert [link.removeprefix("#") for link in page.links if link] == rows

    def test_withheld_scores_are_replaced_by_the_reason(self, tmp_path: Path) -> None:
        r = a_run()
        withheld = Results(
            manifest=r.manifest, task_ids=r.task_ids, attempts=r.attempts, metrics=r.metrics, withheld="9 of 48 broke"
        )

        shown = _Page(report(withheld, tmp_path / "report.html").read_text("utf-8")).text

        assert "SCORES WITHHELD: 9 of 48 broke" in shown
        assert f"{r['pass@1'].value:.3f}" not in shown
        assert "pass@k" not in shown

    def test_what_was_not_judged_is_loud_and_counted_by_reason(self, tmp_path: Path) -> None:
        lost = [attempt("a", i, status=Status.SANDBOX_ERROR, message="worker lost") for i in range(3)]
        r = Results(manifest={}, task_ids=["a", "b"], attempts=[*lost, attempt("b")])

        shown = _Page(report(r, tmp_path / "report.html").read_text("utf-8")).text

        assert "NOT JUDGED: 3 of 4 attempts" in shown
        assert "3 × worker lost" in shown
        assert "PARTIAL: 1/2 problems" in shown

    def test_settings_that_the_scores_depend_on_close_the_report(self, tmp_path: Path) -> None:
        r = a_run()
        r.manifest["sampler"] = {"sampler": "ServerSampler", "model": "toy-1b", "temperature": 0.8}

        shown = _Page(report(r, tmp_path / "report.html").read_text("utf-8")).text

        card = shown.partition("Report card")[2]
        for label, value in report_card(r).rows:
            assert label in card
            assert value in card
        assert "toy-1b" in card

    def test_a_baseline_is_compared_with(self, tmp_path: Path) -> None:
        shown = _Page(report(a_run(), tmp_path / "r.html", baseline=a_run()).read_text("utf-8")).text

        assert "Against the baseline" in shown
        assert "+0.000" in shown
        assert "12 unchanged" in shown

    def test_a_baseline_of_other_problems_is_refused_before_anything_is_written(self, tmp_path: Path) -> None:
        with pytest.raises(NotComparable, match="the tasks are"):
            report(a_run(), tmp_path / "r.html", baseline=a_run(5))

        assert list(tmp_path.iterdir()) == []

    def test_results_without_any_attempt_have_a_report_too(self, tmp_path: Path) -> None:
        assert (
            "PARTIAL: 0/1 problem"
            in report(Results(manifest={}, task_ids=["a"], attempts=[]), tmp_path / "r").read_text()
        )

    def test_several_suites_are_shown_apart(self, tmp_path: Path) -> None:
        ended = {"base": Execution(status=Status.PASSED), "plus": Execution(status=Status.TIMED_OUT)}
        one = Attempt(sample=Sample(task_id="a", completion=""), code="", executions=ended)

        shown = _Page(report(Results(manifest={}, task_ids=["a"], attempts=[one]), tmp_path / "r").read_text()).text

        assert re.search(r"base\s*passed 100.0% \(1\)\s*plus\s*timed_out 100.0% \(1\)", shown)


class TestBounds:
    @pytest.mark.slow
    def test_16400_attempts_fit_and_what_is_left_out_is_said(self, tmp_path: Path) -> None:
        code = "def f(x):\n" + "    x = x + 1  # a long program, with <markup> to escape\n" * 60
        attempts = [attempt(f"toy/{i}", j, code=code, message=f"assert {j}") for i in range(164) for j in range(100)]
        r = Results(manifest={}, task_ids=[f"toy/{i}" for i in range(164)], attempts=attempts)

        started = time.process_time()
        page = report(r, tmp_path / "report.html").read_text("utf-8")

        assert time.process_time() - started < 20
        assert len(page) < 6_000_000
        assert re.search(r"\d+ of 16,400 are in it, at most 3 per task", page)
        assert page.count('<details id="task-') == 164

    def test_hostile_sizes_are_bounded_and_later_tasks_say_that_they_show_none(self, tmp_path: Path) -> None:
        attempts = [attempt(f"toy/{i}", code="<\n" * 5_000, message="&" * 100_000) for i in range(1140)]
        r = Results(manifest={}, task_ids=[f"toy/{i}" for i in range(1140)], attempts=attempts)

        page = report(r, tmp_path / "report.html").read_text("utf-8")

        assert len(page) < 7_000_000
        assert re.search(r"[\d,]+ tasks with failures show none", page)
        assert "… and 1 more failing, not in this file" in page

    def test_failures_of_different_kinds_come_before_repetitions(self, tmp_path: Path) -> None:
        said = ["same", "same", "same", "other", "third"]
        attempts = [attempt("a", i, message=message) for i, message in enumerate(said)]

        page = report(Results(manifest={}, task_ids=["a"], attempts=attempts), tmp_path / "r").read_text("utf-8")

        assert re.findall(r"<summary>a sample (\d)", page) == ["0", "3", "4"]
        assert "… and 2 more failing, not in this file" in page


class TestHarmless:
    @pytest.mark.parametrize("title", [None, HOSTILE])
    def test_hostile_text_everywhere_leaves_our_tags_only(self, tmp_path: Path, title: str | None) -> None:
        text = report(hostile_run(), tmp_path / "report.html", title=title, baseline=hostile_run()).read_text("utf-8")

        page = _Page(text)
        assert page.tags <= TAGS
        assert not {name for name in page.attributes if name.startswith("on") or name == "src"}
        assert {link for link in page.links if link} <= {"#task-0", "#task-1"}
        assert all(character.isprintable() or character == "\n" for character in text)

    @given(text=st.text(st.characters(), max_size=60))
    @settings(deadline=None, max_examples=30)
    def test_no_text_whatever_gets_through_raw(self, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        if text == "other":
            return
        path = tmp_path_factory.mktemp("any") / "report.html"

        page = _Page(report(hostile_run(text), path, title=text).read_text("utf-8"))

        assert page.tags <= TAGS

    def test_nothing_is_fetched_and_no_script_may_run(self, tmp_path: Path) -> None:
        page = report(a_run(), tmp_path / "report.html").read_text("utf-8")

        assert "default-src 'none'" in page
        assert page.index("Content-Security-Policy") < page.index("<style>")
        assert not re.search(r"<script|javascript:|https?://|@import|url\(|<link|<iframe|\ssrc=", page)


class TestWriting:
    def test_gives_the_path_and_leaves_nothing_else(self, tmp_path: Path) -> None:
        path = report(a_run(), tmp_path / "report.html")

        assert path == tmp_path / "report.html"
        assert [file.name for file in tmp_path.iterdir()] == ["report.html"]

    def test_a_folder_that_is_not_there_is_named_and_not_made(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match=r"there is no folder .*typo; make it first"):
            report(a_run(), tmp_path / "typo" / "report.html")

        assert list(tmp_path.iterdir()) == []

    def test_run_directories_will_do_as_well_as_results(self, tmp_path: Path) -> None:
        problems = ce.ProblemSet([ce.Problem.from_test("add/0", "def add(a, b):\n", "assert add(1, 2) == 3", "add")])
        sampler = ce.RecordedSampler([{"task_id": "add/0", "completion": "    return a + b\n"}])
        run = tmp_path / "run"
        results = ce.evaluate(problems, sampler, FakeExecutor(), out=run, cache=False)

        path = report(str(run), tmp_path / "read.html", baseline=run)

        assert "Against the baseline" in path.read_text("utf-8")
        assert report(run, tmp_path / "1").read_text() == report(results, tmp_path / "2").read_text()

    def test_what_is_no_results_is_refused_with_what_was_wanted(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="Results or the path of a run directory"):
            report([], tmp_path / "r.html")  # type: ignore[arg-type]  # what is tested
        with pytest.raises(ResultsError, match="no run directory"):
            report(tmp_path, tmp_path / "r.html")

    @pytest.mark.parametrize("name", ["taken/report.html", "folder"])
    def test_a_path_that_cannot_be_written_is_named(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "taken").write_text("a file")
        (tmp_path / "folder").mkdir()

        with pytest.raises(ResultsError, match=rf"cannot write the report .*{name}: .*(directory|folder)") as caught:
            report(a_run(), tmp_path / name)

        assert caught.value.path == str(tmp_path / name)

    def test_an_older_report_stays_whole_when_the_new_one_cannot_be_finished(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = report(a_run(), tmp_path / "report.html")
        before = path.read_bytes()

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", full)
        with pytest.raises(ResultsError, match="No space left on device"):
            report(a_run(3), path)

        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


# In a real browser

Browser = Callable[..., str]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Return a function that runs headless Chromium once, on a fresh profile, and gives what it prints."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")

    def run(*arguments: str) -> str:
        profile = tmp_path_factory.mktemp("profile")
        fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]
        fixed += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        fixed += ["--allow-file-access-from-files", f"--user-data-dir={profile}"]
        ended = subprocess.run([program, *fixed, *arguments], capture_output=True, check=True, timeout=60)
        return ended.stdout.decode(errors="replace")

    return run


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(a_run(164, 10), tmp_path_factory.mktemp("page") / "report.html", title="A run of a toy model")


@pytest.mark.sandbox
class TestInABrowser:
    @pytest.mark.parametrize(("scheme", "ground"), [("light", (255, 255, 255)), ("dark", (20, 23, 26))])
    def test_is_drawn_on_the_ground_that_the_reader_prefers(
        self, browser: Browser, page: Path, tmp_path: Path, scheme: str, ground: tuple[int, int, int]
    ) -> None:
        image = pytest.importorskip("PIL.Image", reason="needs Pillow, which comes with codeeval[plots]")
        shot = tmp_path / "shot.png"
        preference = "--blink-settings=preferredColorScheme=" + ("0" if scheme == "dark" else "1")

        browser(preference, "--window-size=1280,1600", f"--screenshot={shot}", page.as_uri())

        with image.open(shot) as opened:
            pixels = opened.convert("RGB")
        colors = {color: count for count, color in pixels.getcolors(1 << 24)}
        assert pixels.size == (1280, 1600)
        assert pixels.getpixel((2, 2)) == ground
        assert max(colors, key=lambda color: colors[color]) == ground
        assert colors.get((0, 158, 115), 0) > 1000  # passed
        assert colors.get((213, 94, 0), 0) > 1000  # failed
        assert len(colors) > 100

    def test_no_width_needs_scrolling_sideways(self, browser: Browser, page: Path, tmp_path: Path) -> None:
        """A frame is as narrow as it is told to be; a window isn't. The script is the frames' holder's, not ours."""
        text = page.read_text("utf-8")
        tmp_path.joinpath("closed.html").write_text(text, "utf-8")
        tmp_path.joinpath("opened.html").write_text(text.replace("<details", "<details open"), "utf-8")
        widths = [400, 600, 768, 1000, 1280]
        holder = tmp_path / "holder.html"
        holder.write_text(
            "<!doctype html><title></title>"
            + "".join(
                f'<iframe src="{name}.html" style="border:0;width:{width}px;height:900px"></iframe>'
                for name in ("closed", "opened")
                for width in widths
            )
            + "<script>onload = () => { document.title = [...document.querySelectorAll('iframe')]"
            ".map(frame => frame.contentDocument.documentElement.scrollWidth).join(' ') }</script>"
        )

        dom = browser("--dump-dom", holder.as_uri())

        assert title_of(dom).split() == [str(width) for width in widths * 2]

    def test_no_interval_is_broken_over_lines_on_a_phone(self, browser: Browser, tmp_path: Path) -> None:
        report(a_run(164, 10), tmp_path / "report.html", baseline=a_run(164, 10))
        holder = tmp_path / "holder.html"
        holder.write_text(
            '<!doctype html><meta charset="utf-8"><title></title>'
            '<iframe src="report.html" style="width:400px;height:900px"></iframe>'
            "<script>onload = () => { const page = document.querySelector('iframe').contentDocument, lines = [];"
            "const texts = page.createTreeWalker(page.querySelector('main'), NodeFilter.SHOW_TEXT);"
            "while (texts.nextNode()) { const range = page.createRange(); range.selectNodeContents(texts.currentNode);"
            "if (/^(95 % CI )?[+−]?\\d\\.\\d{3}( to |–)/.test(range.toString()))"
            "lines.push(range.getClientRects().length) } document.title = lines.join(' ') }</script>",
            "utf-8",
        )

        dom = browser("--dump-dom", holder.as_uri())

        found = title_of(dom).split()
        assert len(found) >= 5  # the scores', both runs', the difference's
        assert set(found) == {"1"}

    def test_a_hostile_completion_runs_no_script(self, browser: Browser, tmp_path: Path) -> None:
        dom = browser("--dump-dom", report(hostile_run(), tmp_path / "report.html", title="ours").as_uri())

        assert title_of(dom) == "ours"

    def test_no_request_leaves_even_for_markup_that_slipped_through(self, browser: Browser, tmp_path: Path) -> None:
        """The policy is the second wall: here the first one, escaping, is torn down on purpose."""
        with listening() as (port, connections):
            leak = f'<body><img src="//127.0.0.1:{port}/x.png"><script>document.title="owned"</script>'
            text = report(a_run(), tmp_path / "report.html", title="ours").read_text("utf-8").replace("<body>", leak)
            without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
            guarded, bare = tmp_path / "guarded.html", tmp_path / "bare.html"
            guarded.write_text(text.replace('"//', '"http://'), "utf-8")
            bare.write_text(without.replace('"//', '"http://'), "utf-8")

            guarded_title = title_of(browser("--dump-dom", guarded.as_uri()))
            guarded_connections = list(connections)
            bare_title = title_of(browser("--dump-dom", bare.as_uri()))

        assert (guarded_title, guarded_connections) == ("ours", [])
        assert bare_title == "owned"
        assert connections


def title_of(dom: str) -> str:
    found = re.search("<title>(.*?)</title>", dom)
    assert found, dom[:2000]
    return found.group(1)


class listening:
    """A port of this machine that notes who connects, and hangs up."""

    def __enter__(self) -> tuple[int, list[object]]:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[object] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self._socket.getsockname()[1], self._connections

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def _accept(self) -> None:
        for connection in self._accepted():
            self._connections.append(connection.getpeername())
            connection.close()

    def _accepted(self) -> Iterator[socket.socket]:
        while True:
            try:
                yield self._socket.accept()[0]
            except OSError:
                return
