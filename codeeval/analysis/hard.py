"""A hard subset of a benchmark, chosen as BigCodeBench-Hard was: tasks that users ask for and that are difficult.

A task is asked for when some query of users (the questions of Stack Overflow, in the original) has it as its most
similar task, and similar enough. It is difficult when it needs several libraries, its solution is long and few models
solve it.

The announcement of BigCodeBench-Hard speaks of solutions of 426 tokens. Its code and its data count characters: all
148 tasks are longer than 426 characters, and no tokenizer that was tried gives these tasks.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Table
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.errors import require
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["Criterion", "Embed", "HardSelection", "HardTask", "select_hard", "sentence_embedder"]

Floats = npt.NDArray[np.float32]

Embed = Callable[[list[str]], npt.ArrayLike]
"""Texts → their embeddings, shape (N, D) for N texts; they need not be normalised."""

Criterion = Literal["similarity", "libraries", "solution", "solve rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HardTask:
    """One task of the benchmark with all that its selection rests on."""

    task_id: str
    is_selected: bool
    unmet: tuple[Criterion, ...]
    "The criteria that it fails."
    similarity: float
    "Of the query that is most similar to it, among those that have it as their most similar task; NaN without one."
    query_index: int | None
    "The position of that query, counted from 0."
    query: str | None
    n_libraries: int
    n_solution_chars: int
    solve_rate: float
    "The share of models that solve it; NaN where no solve rates were given."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HardSelection(Rendered):
    """The tasks that were selected, and why each of the others was not."""

    problems: ProblemSet
    "The selected problems, in the order of the benchmark."
    tasks: tuple[HardTask, ...]
    "All tasks of the benchmark."
    counts: Mapping[Criterion, int]
    "Criterion → how many tasks meet it, whatever they do with the others."
    remaining: Mapping[Criterion, int]
    "Criterion → how many tasks meet it and all criteria before it."
    thresholds: Mapping[Criterion, str]
    "Criterion → what it asks, in words."
    n_queries: int
    n_similar_queries: int
    "Queries that are similar enough to their most similar task."

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The ids of the selected tasks."""
        return self.problems.task_ids

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[HardTask]:
        return (task for task in self.tasks if task.is_selected)

    def __getitem__(self, task_id: str) -> HardTask:
        """Return what is known of a task, selected or not."""
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise KeyError(f"no task {task_id!r} in this benchmark; ids look like {[t.task_id for t in self.tasks[:1]]}")

    def page(self) -> Page:
        """Return the criteria with their counts, and the selected tasks with their queries; the rows are all tasks."""
        criteria = [
            (name, asked, str(self.counts[name]), str(self.remaining[name])) for name, asked in self.thresholds.items()
        ]
        tasks = Table(header=_TASKS, rows=list(map(_task_row, self)), most=(10, 200))
        return Page(
            title=self._title(),
            parts=(Table(header=_CRITERIA, rows=criteria), *([tasks] if tasks.rows else [])),
            rows=lambda: [asdict(task) | {"unmet": list(task.unmet)} for task in self.tasks],
        )

    def _title(self) -> str:
        verb = "is" if self.n_similar_queries == 1 else "are"
        queries = plural(self.n_queries, "query", "queries")
        return (
            f"{len(self)} of {plural(len(self.tasks), 'task')} selected; "
            f"{self.n_similar_queries:,} of {queries} {verb} similar enough to a task"
        )


_CRITERIA = ("criterion", "asks", "tasks", "with those above")
_TASKS = ("task", "similarity", "libraries", "characters", "solve rate", "query")


def select_hard(
    problems: Iterable[Problem],
    queries: Iterable[str],
    embed: Embed,
    solve_rates: Mapping[str, float] | None,
    *,
    min_similarity: float = 0.7,
    min_libraries: int = 3,
    min_solution_chars: int = 427,
    max_solve_rate: float = 0.5,
    block: int = 1024,
) -> HardSelection:
    """Select the tasks that users ask for and that are difficult, as BigCodeBench-Hard was selected.

    Every query finds its one most similar task, by the dot product of normalised embeddings of the query and of the
    tasks' prompts. Queries are taken `block` at a time and not kept, so an iterator over millions of them needs the
    memory of one block.

    Args:
        problems: the benchmark; each with `metadata["libs"]`, the libraries that it needs. The original embedded the
            prompts of the complete split.
        queries: texts of users; a string for each.
        embed: texts → array of shape (N, D); `sentence_embedder()` is what the original used.
        solve_rates: task id → share of models that solve it, in [0, 1], as `Leaderboard.solve_rates` gives it; None
            leaves this criterion out.
        min_similarity: the similarity that a task has to exceed with one of the queries that it is most similar to.
        min_libraries: the fewest libraries.
        min_solution_chars: the fewest characters of the canonical solution.
        max_solve_rate: the solve rate that a task has to stay below.
        block: queries per call of `embed`.

    Raises:
        ValueError: a problem has no libraries or no solve rate, a rate is no share, or `embed` gives something else
            than one finite vector per text; says which and what to do.
    """
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        meant = f"; write [{queries!r:.80}]" if isinstance(queries, str) else ""
        raise ValueError(f"queries must be a list of strings, but got {queries!r:.80}{meant}")
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        raise ValueError(f"block must be a whole number ≥ 1, but got {block!r:.80}")
    if not callable(embed):
        raise TypeError(f"embed must be a function of texts, as sentence_embedder() gives it, but got {embed!r:.80}")
    all_problems = problems if isinstance(problems, ProblemSet) else ProblemSet(problems)
    n_libraries = [len(_libraries(problem)) for problem in all_problems]
    rates = [_rate(problem.task_id, solve_rates) for problem in all_problems]
    best = _most_similar(all_problems, queries, embed, block, min_similarity)
    tasks = []
    for row, problem in enumerate(all_problems):
        n_chars = len(problem.canonical_solution)
        is_met: dict[Criterion, bool] = {
            "similarity": best.similarity[row] > min_similarity,
            "libraries": n_libraries[row] >= min_libraries,
            "solution": n_chars >= min_solution_chars,
            "solve rate": solve_rates is None or rates[row] < max_solve_rate,
        }
        unmet = tuple(name for name, met in is_met.items() if not met)
        has_query = row in best.queries
        tasks.append(
            HardTask(
                task_id=problem.task_id,
                is_selected=not unmet,
                unmet=unmet,
                similarity=float(best.similarity[row]) if has_query else math.nan,
                query_index=best.queries[row][0] if has_query else None,
                query=best.queries[row][1] if has_query else None,
                n_libraries=n_libraries[row],
                n_solution_chars=n_chars,
                solve_rate=rates[row],
            )
        )
    thresholds: dict[Criterion, str] = {
        "similarity": f"> {min_similarity:g} to a query that is most similar to it",
        "libraries": f"≥ {min_libraries}",
        "solution": f"≥ {min_solution_chars} characters",
        "solve rate": f"< {max_solve_rate:g}" if solve_rates is not None else "not asked: no solve rates were given",
    }
    names = list(thresholds)
    return HardSelection(
        problems=all_problems.subset(task.task_id for task in tasks if task.is_selected),
        tasks=tuple(tasks),
        counts=MappingProxyType({name: sum(name not in task.unmet for task in tasks) for name in names}),
        remaining=MappingProxyType(
            {name: sum(not {*names[: i + 1]} & {*t.unmet} for t in tasks) for i, name in enumerate(names)}
        ),
        thresholds=MappingProxyType(thresholds),
        n_queries=best.n_queries,
        n_similar_queries=best.n_similar,
    )


def sentence_embedder(model: str = "sentence-transformers/all-mpnet-base-v2", **options: Any) -> Embed:
    """Build the function that embedded tasks and queries for BigCodeBench-Hard, for `select_hard`.

    Args:
        model: a name on the Hugging Face hub, or a directory.
        **options: passed on to `SentenceTransformer.encode`, such as `batch_size` or `device`.

    Raises:
        MissingExtra: sentence-transformers is not installed.
    """
    library = require("sentence_transformers", extra="hard", what="sentence_embedder")
    transformer = library.SentenceTransformer(model)

    def embed(texts: list[str]) -> npt.ArrayLike:
        embeddings: npt.ArrayLike = transformer.encode(texts, **{"show_progress_bar": False} | options)
        return embeddings

    return embed


# --- retrieval --------------------------------------------------------------------------------------------------------


class _Best:
    """The best query of every task so far."""

    def __init__(self, n_tasks: int) -> None:
        self.similarity = np.full(n_tasks, -np.inf, dtype=np.float32)  # (P,)
        self.queries: dict[int, tuple[int, str]] = {}
        "Row of the task → (position, text) of its best query."
        self.n_queries = 0
        self.n_similar = 0

    def add(self, texts: Sequence[str], nearest: npt.NDArray[np.intp], similarity: Floats) -> None:
        order = np.argsort(-similarity, kind="stable")  # so that the first of a task is its best, and the earliest
        rows, first = np.unique(nearest[order], return_index=True)
        for row, position in zip(rows.tolist(), order[first].tolist(), strict=True):
            if similarity[position] > self.similarity[row]:
                self.similarity[row] = similarity[position]
                self.queries[row] = (self.n_queries + position, texts[position])
        self.n_queries += len(texts)


def _most_similar(
    problems: ProblemSet, queries: Iterable[str], embed: Embed, block: int, min_similarity: float
) -> _Best:
    best = _Best(len(problems))
    prompts = [problem.prompt for problem in problems]
    if not prompts:
        return best
    tasks = np.concatenate([_normalised(embed, part) for part in _blocks(prompts, block)])  # (P, D)
    for texts in _blocks(queries, block):
        found = _normalised(embed, texts)  # (N, D)
        if found.shape[1] != tasks.shape[1]:
            raise ValueError(
                f"embed gave vectors of {tasks.shape[1]} numbers for tasks, of {found.shape[1]} for queries"
            )
        products = found @ tasks.T  # (N, P)
        nearest = products.argmax(axis=1)
        similarity = products[np.arange(len(texts)), nearest]
        best.n_similar += int(np.count_nonzero(similarity > min_similarity))
        best.add(texts, nearest, similarity)
    return best


def _blocks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    left = iter(texts)
    while part := list(itertools.islice(left, size)):
        for text in part:
            if not isinstance(text, str):
                raise ValueError(f"wanted queries as strings, but got {text!r:.120}")
        yield part


def _normalised(embed: Embed, texts: list[str]) -> Floats:
    vectors = np.asarray(embed(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(f"embed must give an array of shape ({len(texts)}, D) here, but gave shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError(f"embed must give finite numbers, but not so for {texts[_first_odd(vectors)]!r:.120}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return normalised


def _first_odd(vectors: Floats) -> int:
    return int(np.argmin(np.isfinite(vectors).all(axis=1)))


# --- what is known of a task ------------------------------------------------------------------------------------------


def _libraries(problem: Problem) -> Sequence[str]:
    libraries = problem.metadata.get("libs")
    if isinstance(libraries, str):  # as the published rows have it
        try:
            libraries = ast.literal_eval(libraries)
        except (ValueError, SyntaxError):
            libraries = None
    if not isinstance(libraries, list | tuple):
        raise ValueError(
            f"{problem.task_id}: wanted the list of its libraries in metadata['libs'], "
            f"but got {problem.metadata.get('libs')!r:.80}"
        )
    return list(libraries)


def _rate(task_id: str, solve_rates: Mapping[str, float] | None) -> float:
    if solve_rates is None:
        return math.nan
    rate = float(solve_rates.get(task_id, math.nan))
    if math.isnan(rate):
        raise ValueError(f"solve_rates has no rate for {task_id!r}; give one for each task, or None to leave them out")
    if not 0 <= rate <= 1:
        raise ValueError(f"solve_rates are shares in [0, 1], but {task_id!r} has {rate!r}; divide percentages by 100")
    return rate


def _task_row(task: HardTask) -> tuple[str, ...]:
    return (
        line(task.task_id, 40),
        f"{task.similarity:.3f}",
        str(task.n_libraries),
        str(task.n_solution_chars),
        "" if math.isnan(task.solve_rate) else f"{task.solve_rate:.1%}",
        line(" ".join((task.query or "").split()), 60),
    )
