"""Every result shows itself from one page: safe whatever a model wrote, bounded on screens, whole in exports."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import codeeval as ce
from codeeval import analysis
from codeeval._render.page import Page, Rendered
from codeeval._render.parts import (
    Bars,
    Code,
    Drawn,
    Facts,
    Fold,
    Heading,
    Interval,
    Items,
    Listing,
    Note,
    Only,
    Passage,
    Setting,
    Swatch,
    Table,
    Warn,
)
from codeeval.analysis.auditing import Audit, Difference, Undecided
from codeeval.analysis.extractors import ChangedVerdict, ExtractorComparison
from codeeval.analysis.hard import HardSelection, HardTask
from codeeval.languages.doctor import Diagnoses, Diagnosis
from codeeval.preflight.preloading import ImportCost, Preload
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Results
from codeeval.sample import Attempt, Sample
from codeeval.truth import GroundTruth, Outcome

HOSTILE = "</pre><script>alert(1)</script>\x1b[2J\n| \\end{verbatim} `x` $y$ \u202e"

OWN_LOOKS = {"to_rows", "to_pandas", "to_markdown", "to_latex", "__str__", "__repr__", "_repr_html_"}
#: What may say more than its page does, and why.
ALLOWED = {
    "Leaderboard": {"to_rows", "to_pandas", "to_markdown", "to_latex"},  # by which split
    "Results": {"to_rows"},  # its rows are attempts: explained where they are looked for
    "Tasks": {"to_rows"},
}


def run(text: str, passing: int) -> Results:
    attempts = []
    for number in range(4):
        status = Status.PASSED if number < passing else Status.FAILED
        tests = (TestResult(name=text, passed=False, message=text),)
        execution = Execution(status=status, message=text, stderr=text, stdout=text, tests=tests)
        sample = Sample(task_id=f"{text}{number}", completion=text)
        attempts.append(Attempt(sample=sample, code=text, executions={"tests": execution}))
    manifest = {
        "benchmark": {"name": text},
        "sampler": {"model": f"{text}{passing}"},
        "executor": {"guarantees": {"held": {text: 1}, "missing": {text: text}}},
        "n_samples": 1,
    }
    task_ids = [f"{text}{number}" for number in range(5)]
    results = Results(
        manifest=manifest, task_ids=task_ids, attempts=attempts, tags={t: {"language": text} for t in task_ids}
    )
    results.metrics |= ce.PassAtK(1)(results)
    return results


def examples(text: str) -> list[Rendered]:
    """Return one of every kind of result, with `text` wherever one can be."""
    one, other = run(text, 1), run(text, 3)
    passed, failed = Execution(status=Status.PASSED), Execution(status=Status.FAILED, message=text)
    history = ce.History()
    history.append(one, 0)
    history.append(other, 500)
    problem = ce.Problem.from_test(f"t{text}".replace("\n", ""), "", "assert f(1)", "f", metadata={"libs": ["a"]})
    hard = HardTask(
        task_id=text,
        is_selected=True,
        unmet=(),
        similarity=0.9,
        query_index=0,
        query=text,
        n_libraries=3,
        n_solution_chars=1,
        solve_rate=0.1,
    )
    board = ce.leaderboard({f"a{text}": one, f"b{text}": other})
    difference = Difference(task_id=text, index=0, suite=text, code=text, execution=passed, other=failed)
    return [
        one,
        one.card,
        one.failures(),
        one.per_task(),
        ce.compare(one, other, names=(text, text + "b")),
        ce.compare_many({text: one, text + "b": other}),
        analysis.by_language(one),
        history,
        board,
        board.ratings(replicates=5),
        HardSelection(
            problems=ce.ProblemSet([problem]),
            tasks=(hard,),
            counts={"similarity": 1},
            remaining={"similarity": 1},
            thresholds={"similarity": text},
            n_queries=1,
            n_similar_queries=1,
        ),
        Audit(
            differences=(difference,),
            undecided=(Undecided(task_id=text, index=0, suite=text, why=text),),
            not_auditable={text: text},
            n_compared=1,
            n_drawn=1,
            n_attempts=1,
            seed=0,
        ),
        ExtractorComparison(
            results={text: one, text + "b": other},
            changed=(
                ChangedVerdict(
                    task_id=text,
                    index=0,
                    passed={text: True, text + "b": False},
                    code={text: text, text + "b": text},
                ),
            ),
        ),
        GroundTruth(
            benchmark=text,
            outcomes={text: Outcome(status=Status.FAILED, message=text, cpu_s=0, wall_s=0)},
            without_solution=(text,),
            digests={},
            fingerprint="",
            executor={"executor": text, "environment": {"name": text}},
        ),
        Diagnoses(
            [Diagnosis(language=ce.languages.get("bash"), state="broken", tool=text, version=text, message=text)]
        ),
        Preload(costs=(ImportCost(module=text, n_problems=1, why_not=text),)),
    ]


def kinds() -> set[type[Rendered]]:
    """Return every class of ours that is rendered."""
    for module in pkgutil.walk_packages(ce.__path__, "codeeval."):
        if not re.search(r"\.sandbox\.", module.name):
            importlib.import_module(module.name)
    found: set[type[Rendered]] = set()
    kind: type
    waiting: list[type] = [Rendered]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("codeeval."):  # a dataclass with slots leaves the class behind that it was
                found.add(getattr(sys.modules[kind.__module__], kind.__name__))
    return found


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def assert_is_harmless(page: str) -> None:
    parser = _Tags()
    parser.feed(page)
    assert parser.tags & {"script", "img", "a", "iframe", "style"} == set()
    assert not any(name.startswith("on") for name in parser.attributes)
    assert all(character.isprintable() or character == "\n" for character in page)


class TestEveryResult:
    def test_is_among_the_examples(self) -> None:
        assert {type(example) for example in examples("x")} == kinds()

    def test_says_how_it_looks_once(self) -> None:
        said_again = {kind.__name__: OWN_LOOKS & vars(kind).keys() for kind in kinds()}

        assert {name: looks for name, looks in said_again.items() if looks} == ALLOWED

    @pytest.mark.parametrize("number", range(16))
    def test_is_harmless_in_every_look(self, number: int) -> None:
        example = examples(HOSTILE)[number]

        assert_is_harmless(example._repr_html_())
        for shown in (str(example), repr(example), example.to_markdown(), example.to_latex()):
            assert all(character.isprintable() or character == "\n" for character in shown)
        assert "<script" not in example.to_markdown()
        assert r"\end{verbatim}" not in example.to_latex()

    @pytest.mark.parametrize("number", range(16))
    def test_is_a_data_frame_too(self, number: int) -> None:
        pytest.importorskip("pandas", reason="needs codeeval[frames]")
        example = examples("x")[number]

        frame = example.to_pandas()

        assert len(frame) == len(example.to_rows()) > 0
        assert list(frame.columns) == list(example.to_rows()[0])

    @pytest.mark.parametrize("number", range(16))
    def test_gives_rows_of_plain_data(self, number: int) -> None:
        rows = examples("x")[number].to_rows()

        assert rows
        assert len({tuple(row) for row in rows}) == 1  # the same columns in each
        json.dumps(rows)


class TestPage:
    def test_screens_are_bounded_and_exports_are_not(self) -> None:
        rows = [(f"task-{number}", "x") for number in range(30)]
        page = Page(title="Tasks", parts=(Table(header=("task", "it"), rows=rows, most=(5, 10), rest="tasks()"),))

        text, html, markdown = page.text(), page.html(), page.exported("markdown")

        assert text.splitlines()[-2:] == ["  task-4  x", "  … and 25 more; tasks()[5:] shows the next"]
        assert "task-9" in html
        assert "task-10" not in html
        assert "… and 20 more; tasks()[10:] shows the next" in html
        assert all(f"| task-{number} | x |" in markdown for number in range(30))

    def test_parts_for_one_look_are_not_made_for_another(self) -> None:
        made: list[str] = []

        def costly() -> list[Note]:
            made.append("yes")
            return [Note("costly")]

        page = Page(parts=(Only(("notebook",), costly),))

        assert "costly" not in page.text() + page.exported("markdown")
        assert made == []
        assert "costly" in page.html()

    def test_an_export_begins_with_tables_and_ends_with_the_card(self) -> None:
        parts = (
            Warn("PARTIAL: half."),
            Table(header=("a", "b"), rows=[("1", Drawn("2", None))]),
            Facts([("p", "0.5")]),
        )
        page = Page(title="Both", parts=parts, card=lambda: {"model": "m_1"})

        assert page.exported("markdown") == (
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nBoth.\n\nPARTIAL: half.\n\np: 0.5.\n\n- model: m\\_1\n"
        )
        assert page.exported("latex").endswith(
            "setting & value \\\\\n\\hline\nmodel & m\\_1 \\\\\n\\hline\n\\end{tabular}\n"
        )
        assert page.exported("text").startswith("  a  b\n  1  2\n\nBoth.")

    def test_a_column_of_pictures_is_seen_in_a_notebook_alone(self) -> None:
        bar = Drawn("", Bars(({"passed": 1},)))
        page = Page(parts=(Table(header=("task", "", "n"), rows=[("a", bar, "1")]),))

        assert page.text() == "task  n\na     1"
        assert "| a | 1 |" in page.exported("markdown")
        assert "<svg" in page.html()

    def test_what_folds_stands_between_empty_lines_of_a_terminal(self) -> None:
        fold = Fold(summary="a", parts=(Code("x = 1"), Passage(label="stderr", body="long", short="short")))

        text = Page(parts=(fold, fold)).text()

        assert text == "\n\n".join(["a\n  1 | x = 1\n  stderr:\n    short"] * 2)

    def test_a_cell_of_a_notebook_is_not_filled_beyond_its_bound(self) -> None:
        items = Items(
            items=range(50),
            show=lambda number: Fold(summary=str(number), parts=(Code("x" * 100),)),
            most=(1, 50),
            rest="them",
            most_chars=1_000,
        )

        html = Page(parts=(items,)).html()

        assert html.count("<details") < 10
        assert re.search(r"… and 4\d more; them\[\d:\] shows the next", html)

    def test_an_unknown_syntax_is_refused(self) -> None:
        with pytest.raises(ValueError, match="html"):
            Page().exported("html")  # type: ignore[arg-type]  # what is tested

    @settings(deadline=None)
    @given(st.text(max_size=60))
    def test_no_text_gets_through_raw(self, text: str) -> None:
        picture = Interval(value=0.5, low=0.1, high=0.9)
        parts: tuple[Any, ...] = (
            Warn(text),
            Note(text),
            Note(text, is_faint=True),
            Heading(text),
            Facts([(text, text)]),
            Facts([(text, text)], is_faint=True),
            Setting(text, text, text, text),
            Listing(text, [text], 5),
            Table(
                header=(text + "a", text + "b"),
                rows=[(text, Drawn(text, picture)), (Drawn(text, Swatch("passed")), text)],
            ),
            Fold(
                summary=text,
                below=text,
                parts=(Code(text, text), Passage(label=text, body=text, short=text), Note(text)),
            ),
        )
        page = Page(title=text, parts=parts, card=lambda: {text: text})

        assert_is_harmless(page.html())
        for shown in (page.text(), page.exported("text"), page.exported("markdown"), page.exported("latex")):
            assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.sandbox
def test_results_load_nothing_that_draws() -> None:
    script = (
        "import codeeval.results, codeeval.analysis.comparison, codeeval.analysis.history\n"
        "import json, sys; print(json.dumps([*sys.modules]))"
    )

    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    loaded = json.loads(ended.stdout)
    assert "codeeval._render.page" in loaded
    assert {f"codeeval._render.{name}" for name in ("svg", "theme", "notebook")} & set(loaded) == set()
