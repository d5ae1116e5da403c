"""How results and failures look, above all when a model wrote something hostile."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from codeeval._render import svg, untrusted
from codeeval._render.page import Rendered
from codeeval.analysis.comparison import compare, compare_many
from codeeval.analysis.history import History
from codeeval.metrics import PassAtK
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Estimate, Failures, Results
from codeeval.results.failures import gist
from codeeval.sample import Attempt, Sample

HOSTILE = {
    "markup": "</pre></details><img src=x onerror=alert(1)>",
    "script": "<script>alert('owned')</script>",
    "attribute": '" onmouseover="alert(1)',
    "clear screen": "\x1b[2J\x1b[H",
    "window title": "\x1b]0;owned\x07",
    "8-bit escape": "\x9b31m\x9d",
    "bidi": "\u202e\u2066 }if admin\u2069\u200f",
    "nul": "a\x00b",
    "backspace": "bad\b\b\bgood\rok",
    "lone surrogate": "\ud800 and \udfff",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "zero width": "a\u200bb\ufeffc",
    "tags": "\U000e0041",
    "ten megabytes in one line": "<" * 10_000_000,
    "ten megabytes of lines": "\x1b\n" * 5_000_000,
}
ALLOWED_TAGS = {"div", "span", "b", "table", "tr", "th", "td", "details", "summary", "pre"}
ALLOWED_TAGS |= {"svg", "rect", "path", "circle", "text"}
DRAWING = {
    "width",
    "height",
    "viewbox",
    "preserveaspectratio",
    "aria-hidden",
    "role",
    "x",
    "y",
    "rx",
    "cx",
    "cy",
    "r",
    "d",
}
DRAWING |= {"fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linejoin", "text-anchor"}
DRAWING |= {"font-size", "font-family"}


def failing(text: str, *, task_id: str = "toy/0", index: int = 0, status: Status = Status.FAILED) -> Attempt:
    """Build an attempt with `text` wherever a model or a candidate can put some."""
    execution = Execution(
        status=status,
        stdout=text,
        stderr=text,
        message=text,
        tests=(TestResult(name=text, passed=False, message=text),),
    )
    return Attempt(
        sample=Sample(task_id=task_id, completion=text, index=index), code=text, executions={"tests": execution}
    )


def hostile_results(text: str) -> Results:
    """Build results with `text` also in every label that a file could bring."""
    return Results(
        manifest={
            "benchmark": {"name": text, "version": text, "sha256": text},
            "executor": {"guarantees": {"held": {text: 1}, "missing": {text: text}}},
        },
        task_ids=[text, "other"],
        attempts=[failing(text, task_id=text), failing(text, task_id=text, index=1, status=Status.SANDBOX_ERROR)],
        metrics={text: Estimate(value=0.5, unit=text)},
    )


def shown_as_text(text: str) -> list[str]:
    r = hostile_results(text)
    return [str(r), repr(r.failures()), repr(r.per_task())]


def shown_as_html(text: str) -> list[str]:
    r = hostile_results(text)
    return [r._repr_html_(), r.failures()._repr_html_(), r.per_task()._repr_html_()]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def parse(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


class TestHostileText:
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_a_terminal_gets_printable_characters_only(self, text: str) -> None:
        for shown in shown_as_text(text):
            assert all(character.isprintable() or character == "\n" for character in shown)
            shown.encode()

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_a_notebook_gets_our_tags_only(self, text: str) -> None:
        for page in shown_as_html(text):
            parser = parse(page)
            assert parser.tags <= ALLOWED_TAGS
            assert parser.attributes <= {"style", "open", *DRAWING}
            assert all(character.isprintable() or character == "\n" for character in page)
            page.encode()

    @given(st.text(st.characters(), max_size=60))
    def test_no_text_whatever_gets_through_raw(self, text: str) -> None:
        for shown in shown_as_text(text):
            assert all(character.isprintable() or character == "\n" for character in shown)
        for page in shown_as_html(text):
            assert parse(page).tags <= ALLOWED_TAGS

    @pytest.mark.parametrize("name", ["ten megabytes in one line", "ten megabytes of lines"])
    def test_failures_of_ten_megabytes_are_shown_in_bounded_size(self, name: str) -> None:
        attempts = [failing(HOSTILE[name], index=index) for index in range(5)]
        failures = Failures(attempts)

        text, page = repr(failures), failures._repr_html_()

        assert len(text) < 500_000
        assert len(page) < 1_500_000

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("\x1b[31m", r"\x1b[31m"),
            ("\u202e", r"\u202e"),
            ("\ud800", r"\ud800"),
            ("\x00", r"\x00"),
            ("a\tb\r\nc", "a   b\nc"),
            ("héllo 你好 → ∀", "héllo 你好 → ∀"),
        ],
    )
    def test_unprintable_characters_are_spelled_out(self, text: str, expected: str) -> None:
        assert untrusted.visible(text) == expected


class TestResultsReport:
    @staticmethod
    def scored(judged: int, of: int, *, withheld: str = "") -> Results:
        attempts = [failing("x", task_id=f"HumanEval/{i}", status=Status.PASSED) for i in range(judged)]
        manifest = {
            "benchmark": {"name": "HumanEval", "version": "1.0", "sha256": "abcdef0123456789"},
            "executor": {
                "isolation": {"held": {"net": "no network"}, "missing": {"cgroup": "read-only"}},
                "guarantees": {"held": {"network": ["net"]}, "missing": {"read": "landlock: EPERM"}},
            },
        }
        task_ids = [f"HumanEval/{i}" for i in range(of)]
        r = Results(manifest=manifest, task_ids=task_ids, attempts=attempts, withheld=withheld)
        if not r.withheld:
            r.metrics.update(PassAtK(1)(r))
        return r

    def test_shows_score_interval_problems_samples_status_and_provenance(self) -> None:
        r = self.scored(164, 164)
        low = f"{r['pass@1'].ci_low:.3f}"

        for shown in (str(r), "\n".join(parse(r._repr_html_()).data)):
            for part in ("HumanEval 1.0", "abcdef01", "pass@1", "1.000", low, "164 problems", "1 per problem"):
                assert part in shown
            for part in ("passed 100.0% (164)", "network · MISSING: read (landlock: EPERM)"):
                assert part in shown
            assert "PARTIAL" not in shown
            assert "NOT JUDGED" not in shown

    def test_a_partial_score_never_looks_like_a_full_one(self) -> None:
        r = self.scored(12, 164)

        score_line = next(line for line in str(r).split("\n") if "pass@1" in line)
        assert "PARTIAL 12/164 problems" in score_line
        assert "!! PARTIAL: 12/164 problems" in str(r)
        assert r._repr_html_().count("12/164 problems") == 2

    def test_a_metric_that_is_undefined_for_some_problems_is_marked_partial(self) -> None:
        attempts = [failing("x", task_id=t, index=i) for t, i in (("a", 0), ("a", 1), ("b", 0))]
        r = Results(manifest={}, task_ids=["a", "b"], attempts=attempts)
        r.metrics.update(PassAtK(1, 2)(r))

        lines = {line.split()[0]: line for line in str(r).split("\n") if "pass@" in line}

        assert "PARTIAL" not in lines["pass@1"]
        assert "PARTIAL 1/2 problems" in lines["pass@2"]
        assert "1–2 per problem" in str(r)

    def test_seconds_of_the_slowest_say_what_they_are_a_mean_of(self) -> None:
        sample = Sample(task_id="a", completion="x")
        slow = Attempt(sample=sample, code="x", executions={"t": Execution(status=Status.PASSED, cpu_s=1.5)})

        shown = str(Results(manifest={}, task_ids=["a"], attempts=[slow]))

        assert "mean CPU per sample: a 1.50 s" in shown

    def test_withheld_scores_are_replaced_by_the_reason(self) -> None:
        r = self.scored(2, 2, withheld="5 of 100 attempts were not judged")
        r.metrics["pass@1"] = Estimate(value=0.123)

        for shown in (str(r), r._repr_html_()):
            assert "WITHHELD: 5 of 100 attempts were not judged" in shown
            assert "0.123" not in shown

    def test_what_was_not_judged_is_loud_and_says_why(self) -> None:
        attempts = [failing("worker lost", task_id="a", status=Status.SANDBOX_ERROR), failing("x", task_id="b")]
        r = Results(manifest={}, task_ids=["a", "b"], attempts=attempts)

        assert "!! NOT JUDGED: 1 of 2 attempts" in str(r)
        assert "worker lost" in str(r)
        assert "failed 100.0% (1)" in str(r)

    @pytest.mark.parametrize(
        ("manifest", "expected"),
        [
            ({"executor": {"isolation": "namespaces, seccomp"}}, "namespaces, seccomp"),
            ({"executor": {"isolation": {"held": ["pids"], "missing": []}}}, "pids"),
            (
                {"executor": {"isolation": {"held": {"net": "no network"}, "missing": {"pid": "EPERM"}}}},
                "net · MISSING: pid (EPERM)",
            ),
            ({"executor": {"isolation": {"held": {}, "missing": ["pid"]}}}, "none · MISSING: pid"),
            ({"executor": "remote", "benchmark": "mine"}, "mine"),
        ],
    )
    def test_a_manifest_of_another_shape_is_shown_as_it_is(self, manifest: dict[str, object], expected: str) -> None:
        assert expected in str(Results(manifest=manifest, task_ids=["a"], attempts=[]))

    def test_html_needs_no_script_no_network_and_no_fixed_ground(self) -> None:
        page = self.scored(12, 164)._repr_html_()

        assert not re.search(r"<script|javascript|https?://|@import|url\(", page)
        assert set(re.findall(r"background:([^;\"]+)", page)) == {"transparent"}
        assert not re.search(r"(?<!-)\bcolor:(?!inherit|currentColor)", page)


class TestFailures:
    def test_shows_the_program_the_assertion_with_values_and_stderr(self) -> None:
        execution = Execution(
            status=Status.FAILED,
            stderr="Traceback (most recent call last):\n  …\nAssertionError",
            tests=(
                TestResult(name="test 1", passed=True),
                TestResult(name="test 2", passed=False, message="assert add(1, 2) == 3\n  add(1, 2) = 4"),
            ),
        )
        code = "def add(a, b):\n\treturn a + b + 1\n"
        attempt = Attempt(
            sample=Sample(task_id="HumanEval/3", completion=code, index=7), code=code, executions={"tests": execution}
        )
        failures = Failures([attempt])

        for shown in (repr(failures), "\n".join(parse(failures._repr_html_()).data)):
            for part in ("HumanEval/3 sample 7", "failed", "2 |     return a + b + 1", "assert add(1, 2) == 3"):
                assert part in shown
            assert "add(1, 2) = 4" in shown
            assert "AssertionError" in shown
            assert "test 1" not in shown
            assert "3 |" not in shown

    def test_a_traceback_does_not_repeat_the_message_above_it(self) -> None:
        message = "ZeroDivisionError: division by zero; in `assert f(1) == 2`"
        execution = Execution(
            status=Status.FAILED,
            message=message,
            stderr=f"Traceback (most recent call last):\n    return 1 / 0\n{message}\n",
            tests=(TestResult(name="0", passed=False, message=message),),
        )
        attempt = Attempt(sample=Sample(task_id="a", completion=""), code="x", executions={"tests": execution})

        shown = repr(Failures([attempt]))

        assert shown.count("ZeroDivisionError") == 1
        assert shown.endswith("    return 1 / 0")

    def test_stderr_that_is_the_message_alone_is_not_shown_again(self) -> None:
        execution = Execution(status=Status.CRASHED, message="killed", stderr="killed\n")
        attempt = Attempt(sample=Sample(task_id="a", completion=""), code="x", executions={"tests": execution})

        assert "end of stderr" not in repr(Failures([attempt]))

    def test_text_has_the_last_lines_of_each_stream_and_says_how_many_are_left_out(self) -> None:
        execution = Execution(
            status=Status.FAILED,
            stdout="".join(f"out {number}\n" for number in range(2000)),
            stderr="".join(f"err {number}\n" for number in range(11)),
        )
        failures = Failures([ended(execution)])

        lines = repr(failures).splitlines()

        last = [f"    out {number}" for number in range(1990, 2000)]
        assert lines[-12:] == ["  tests, end of stdout:", "    … 1,990 lines left out", *last]
        assert lines[-24:-22] == ["  tests, end of stderr:", "    … 1 line left out"]
        assert "out 1900" in failures._repr_html_()

    @pytest.mark.parametrize("written", ["", "a", "\n\na\nb\n\n", "\n".join("0123456789"), "a\r\nb"])
    def test_an_end_that_is_short_is_whole(self, written: str) -> None:
        assert untrusted.tail(written, 100, lines=10) == untrusted.tail(written, 100)

    def test_a_suite_that_passed_is_not_blamed(self) -> None:
        good, bad = Execution(status=Status.PASSED, stderr="fine"), Execution(status=Status.CRASHED, signal=11)
        attempt = Attempt(sample=Sample(task_id="a", completion=""), code="x", executions={"base": good, "plus": bad})

        shown = repr(Failures([attempt]))

        assert "fine" not in shown
        assert "plus: crashed after 0.00 CPU s, signal 11" in shown

    def test_a_long_program_keeps_its_first_and_last_lines_with_their_numbers(self) -> None:
        shown = untrusted.numbered("".join(f"line_{n}\n" for n in range(1, 1001))).split("\n")

        assert shown[0] == "   1 | line_1"
        assert shown[-1] == "1000 | line_1000"
        assert sum("lines left out" in line for line in shown) == 1
        assert "     … 860 lines left out" in shown

    @pytest.mark.parametrize("lines", [0, 1, 139, 140, 141, 142, 300])
    @pytest.mark.parametrize("width", [0, 1, 100, 1000])
    @pytest.mark.parametrize("end", ["", "\n"])
    def test_every_line_is_shown_once_or_counted_as_left_out(self, lines: int, width: int, end: str) -> None:
        code = "\n".join("x" * width for _ in range(lines)) + end

        accounted = 0
        for line in untrusted.numbered(code).split("\n"):
            left_out = re.fullmatch(r" *… ([\d,]+) lines? left out", line)
            if left_out:
                accounted += int(left_out[1].replace(",", ""))
            else:
                accounted += 1
                assert int(line.partition("|")[0]) == accounted

        assert accounted == max(1, code.count("\n") + (not code.endswith("\n")))

    def test_is_a_sequence_whose_slices_show_the_next(self) -> None:
        attempts = [failing("x", index=index) for index in range(60)]
        failures = Failures(attempts)

        assert (len(failures), failures[3], list(failures[58:])) == (60, attempts[3], attempts[58:])
        assert repr(failures).endswith("… and 55 more; failures[5:] shows the next")
        assert "toy/0 sample 5 " in repr(failures[5:])
        assert "more; failures[50:] shows the next" in failures._repr_html_()

    def test_each_attempt_folds(self) -> None:
        page = Failures([failing("x"), failing("y", index=1)])._repr_html_()

        assert page.count("<details") == 2
        assert page.count("<details open>") == 1

    def test_a_fault_of_ours_is_not_blamed_on_the_candidate(self) -> None:
        failures = Failures([failing("x", status=Status.SANDBOX_ERROR)])

        assert "not judged: infrastructure error" in repr(failures)


def two_runs(text: str = "x") -> tuple[Results, Results]:
    """Build comparable results of two models, with `text` wherever one can be."""
    runs = []
    for passing in (1, 3):
        status = [Status.PASSED if i < passing else Status.FAILED for i in range(4)]
        attempts = [failing(text, task_id=f"{text}{i}", status=s) for i, s in enumerate(status)]
        manifest = {"benchmark": {"name": text}, "sampler": {"model": f"{text}{passing}"}, "n_samples": 1}
        runs.append(Results(manifest=manifest, task_ids=[f"{text}{i}" for i in range(4)], attempts=attempts))
    return runs[0], runs[1]


def history_of(*runs: Results) -> History:
    history = History()
    for number, run in enumerate(runs):
        history.append(run, 500 * number)
    return history


class TestComparison:
    def test_shows_scores_difference_interval_p_tasks_statuses_and_settings(self) -> None:
        a, b = two_runs("toy/")
        c = compare(a, b, names=("before", "after"))

        shown = "\n".join(parse(c._repr_html_()).data)

        for part in ("before → after", "pass@1", "0.250", "0.750", "+0.500", "McNemar exact", "4 problems", "n = 1"):
            assert part in shown
        assert f"p = {c.p_value:.3f}" in shown
        assert "toy/1 0/1 → 1/1" in shown
        for part in ("2 gained", "0 lost", "2 unchanged", "25.0%", "75.0%", "+50.0 pp", "−50.0 pp"):
            assert part in shown
        assert "sampler.model" in shown

    def test_what_it_was_restricted_to_is_loud(self) -> None:
        a, b = two_runs("toy/")
        part = Results(manifest=a.manifest, task_ids=a.task_ids[:2], attempts=a.attempts[:2])

        page = compare(part, b, on="common")._repr_html_()

        assert "RESTRICTED to the 2 common tasks" in page

    def test_many_say_how_their_p_values_are_adjusted(self) -> None:
        a, b = two_runs("toy/")

        for correction, said in (("holm", "adjusted by holm"), (None, "NOT adjusted")):
            many = compare_many({"one": a, "two": b}, correction=correction)  # type: ignore[arg-type]  # a literal each
            page = many._repr_html_()
            assert said in page
            assert "one → two" in page


class TestHistory:
    def test_shows_the_curve_the_highest_and_every_checkpoint(self) -> None:
        a, b = two_runs("toy/")

        page = history_of(a, b)._repr_html_()

        shown = "\n".join(parse(page).data)
        assert "pass@1 over 2 checkpoints" in shown
        assert "Highest: step 500: 0.750" in shown
        assert page.count("<circle") >= 2
        for part in ("0.250", "0.750", "step 0", "step 500"):
            assert part in shown

    def test_one_without_any_checkpoint_or_score_says_so(self) -> None:
        assert "no checkpoint has the score" in History()._repr_html_()
        withheld = Results(manifest={}, task_ids=["a"], attempts=[failing("x", task_id="a")], withheld="broken")
        assert "SCORES WITHHELD at step 0: broken" in history_of(withheld)._repr_html_()


@pytest.mark.parametrize("text", list(HOSTILE.values())[:-2], ids=list(HOSTILE)[:-2])
def test_comparisons_and_histories_get_our_tags_only(text: str) -> None:
    a, b = two_runs(text)
    pages = [
        compare(a, b, names=(text, text + "b"))._repr_html_(),
        compare_many({text: a, text + "b": b})._repr_html_(),
        history_of(a, b)._repr_html_(),
    ]

    for page in pages:
        parser = parse(page)
        assert parser.tags <= ALLOWED_TAGS
        assert parser.attributes <= {"style", "open", *DRAWING}
        assert all(character.isprintable() or character == "\n" for character in page)
        assert not re.search(r"<script|javascript|https?://|@import|url\(", page.replace(text, ""))
        assert set(re.findall(r"background:([^;\"]+)", page)) == {"transparent"}


class TestPictures:
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0.0, 1.0, [0, 0.25, 0.5, 0.75, 1]),
            (0.12, 0.57, [0, 0.2, 0.4, 0.6]),
            (500, 4000, [0, 1000, 2000, 3000, 4000]),
            (0.3, 0.3, [0.3, 0.4]),
        ],
    )
    def test_ticks_are_round_and_enclose_what_is_drawn(self, low: float, high: float, expected: list[float]) -> None:
        assert svg.ticks(low, high) == pytest.approx(expected)

    @given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
    def test_ticks_enclose_whatever_there_is(self, low: float, span: float) -> None:
        found = svg.ticks(low, low + span)

        assert found[0] <= low + 1e-6 * span
        assert found[-1] >= low + span - 1e-6 * span
        assert len(found) <= 12

    def test_an_interval_is_drawn_where_its_numbers_are(self) -> None:
        drawn = svg.interval(0.5, 0.25, 0.75, axis=(0.0, 1.0), wide=108)

        assert 'cx="54.0"' in drawn
        assert '<rect x="29.0" y="4" width="50.0"' in drawn

    def test_what_is_undefined_is_not_drawn(self) -> None:
        nan = float("nan")

        assert svg.interval(nan, nan, nan, axis=(0.0, 1.0)) == ""
        assert "<rect" not in svg.interval(0.5, nan, nan, axis=(0.0, 1.0))
        assert svg.curves([svg.Curve(x=[1], y=[nan])], svg.Axes(x_label="", y_label="")) == ""
        assert svg.shares({}) == ""

    def test_an_undefined_point_breaks_the_curve_and_its_band(self) -> None:
        y = [0.1, 0.2, float("nan"), 0.4, 0.5]

        drawn = svg.curves([svg.Curve(x=range(5), y=y, low=y, high=y)], svg.Axes(x_label="", y_label=""))

        assert drawn.count('stroke-width="2"') == 2
        assert drawn.count("Z") == 2

    def test_every_status_has_a_colour_of_its_own(self) -> None:
        assert set(svg.STATUS_COLORS) == set(Status)
        assert len(set(svg.STATUS_COLORS.values())) == len(Status)

    @pytest.mark.parametrize("color", [*svg.STATUS_COLORS.values(), svg.BAND])
    @pytest.mark.parametrize("ground", [1.0, 0.0056], ids=["white", "#111"])
    def test_every_colour_can_be_seen_on_light_and_dark(self, color: str, ground: float) -> None:
        """WCAG's contrast between relative luminances; text stands beside every mark, so 2 is enough."""
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        contrast = (max(luminance, ground) + 0.05) / (min(luminance, ground) + 0.05)

        assert contrast > 2


def ended(execution: Execution) -> Attempt:
    return Attempt(sample=Sample(task_id="toy/0", completion=""), code="f = 1", executions={"tests": execution})


def test_what_a_failing_test_says_is_not_said_again() -> None:
    tests = tuple(TestResult(name=str(i), passed=False, message=f"f({i}) gave {i}") for i in (3, 4))

    shown = repr(Failures([ended(Execution(status=Status.FAILED, message="test 3: f(3) gave 3", tests=tests))]))

    assert shown.count("f(3) gave 3") == 1
    assert "tests:\n" not in shown


def test_what_ended_a_run_comes_before_the_tests_that_were_not_heard() -> None:
    tests = (
        TestResult(name="T.test_a", passed=False, message="1 != 2"),
        *(TestResult(name=f"T.test_{name}", passed=False, message="no verdict") for name in "bcdefgh"),
    )
    loading = Execution(status=Status.FAILED, message="No module named 'x'", tests=tests[1:])
    late = Execution(status=Status.TIMED_OUT, message="cpu: used its 1 CPU seconds", tests=tests)

    unloaded, timed_out = (repr(Failures([ended(execution)])).splitlines()[2:] for execution in (loading, late))

    assert unloaded == [
        "  tests:",
        "    No module named 'x'",
        "  tests, no verdict from:",
        "    T.test_b, T.test_c, T.test_d, T.test_e, T.test_f and 2 more",
    ]
    assert timed_out[:4] == ["  tests, test T.test_a:", "    1 != 2", "  tests:", "    cpu: used its 1 CPU seconds"]
    assert gist(ended(loading)) == "No module named 'x'"


class TestFrames:
    """Whatever is a table is a data frame, too."""

    def test_have_a_row_for_each_of_the_results_rows(self) -> None:
        pytest.importorskip("pandas", reason="needs codeeval[frames]")
        results, other = two_runs()
        compared = compare(results, other)
        tables: list[Rendered] = [results, results.per_task(), compared, compare_many({"x": results, "y": other})]

        for table in tables:
            frame = table.to_pandas()
            assert len(frame) == len(table.to_rows()) > 0
            assert list(frame.columns) == list(table.to_rows()[0])
        assert results.per_task().to_pandas()["n"].tolist() == results.counts()[0].tolist()
        assert compared.to_pandas()["change"].sum() == pytest.approx(compared.difference.value * compared.n_problems)
