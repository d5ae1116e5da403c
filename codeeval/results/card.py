"""The report card: under which settings a score was made, in words, beneath every table that leaves codeeval.

What a run's manifest does not record is "not recorded"; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Facts, Only
from codeeval._render.tables import flattened, plural, shown

__all__ = [
    "Card",
    "card_of",
    "ground_truth_line",
    "isolation",
    "lacking_line",
    "merged_card",
    "strength_line",
]

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Card(Rendered):
    """Settings of a run as (label, value) pairs, for reading."""

    rows: tuple[tuple[str, str], ...]

    def __getitem__(self, label: str) -> str:
        return dict(self.rows)[label]

    def to_dict(self) -> dict[str, str]:
        """Return the card as plain JSON data."""
        return dict(self.rows)

    def page(self) -> Page:
        """Return the settings, a line each."""
        return Page(
            parts=(Only(("terminal", "notebook"), lambda: [Facts(self.rows)]),),
            rows=lambda: [{"setting": label, "value": value} for label, value in self.rows],
            card=self.to_dict,
        )


def card_of(manifest: Mapping[str, Any], found: Sequence[tuple[str, str]] = ()) -> Card:
    """Return the settings that a score depends on: benchmark, generation, prompt, limits, guarantees, versions.

    Args:
        manifest: that of a run.
        found: (label, value) of what came of it, which stands behind the samples per problem.
    """
    parts = {name: manifest.get(name) or {} for name in ("benchmark", "sampler", "limits", "executor", "versions")}
    benchmark, sampler, limits, executor, versions = (v if isinstance(v, Mapping) else {} for v in parts.values())
    rows = [
        ("benchmark", _words(benchmark.get("name"), benchmark.get("version"))),
        ("data", _data(benchmark)),
        ("problems", _value(benchmark.get("problems"))),
        ("samples per problem", _value(manifest.get("n_samples"))),
        *_sampler(sampler),
        ("extraction", _value(manifest.get("extractor"))),
        ("suites", _suites(manifest.get("suites"))),
        ("protocol", _protocol(manifest.get("protocol"))),
        ("limits", _limits(limits)),
        *_isolation(executor),
        (
            "judged by",
            _words(
                executor.get("executor"),
                _labelled("Python", executor.get("python")),
                executor.get("machine"),
                _environment(executor.get("environment")),
            ),
        ),
        *([("ground truth", truth)] if (truth := ground_truth_line(manifest)) else []),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or NOT_RECORDED),
        ("started", _value(manifest.get("started"))),
    ]
    if metadata := manifest.get("metadata"):
        rows.append(("metadata", ", ".join(f"{name} {shown(value)}" for name, value in flattened(metadata))))
    rows[4:4] = found
    return Card(rows=tuple(rows))


def ground_truth_line(manifest: Mapping[str, Any]) -> str:
    """Return how many canonical solutions pass where a run was judged, and which problems' don't; empty if unknown."""
    found = manifest.get("ground_truth")
    if not isinstance(found, Mapping):
        return ""
    failed, rate = list(found.get("failed_tasks") or ()), found.get("pass_rate")
    n_passed = int(found.get("passed") or 0)
    share = "" if rate is None else f" ({rate:.1%})"
    said = [f"{n_passed:,} of {n_passed + len(failed):,} canonical solutions pass here{share}"]
    said += [f"not {_some(failed)}"] if failed else []
    for name, label in (("not_judged", "not judged"), ("without_solution", "without one")):
        said += [f"{label}: {_some(found[name])}"] if found.get(name) else []
    return "; ".join(said)


def strength_line(counts: Mapping[str, int]) -> str:
    """Return how many problems were judged at which strength; empty where none is known."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name}: {plural(count, 'problem')}" for name, count in counts.items())


def lacking_line(manifest: Mapping[str, Any]) -> str:
    """Return which modules a run's interpreter lacked, and how many problems need them; empty where none is known."""
    lacks = manifest.get("lacks")
    if not isinstance(lacks, Mapping) or not isinstance(lacks.get("modules"), Mapping):
        return ""
    modules = list(map(str, lacks["modules"]))
    more = f" and {len(modules) - _SHOWN_MODULES} more" if len(modules) > _SHOWN_MODULES else ""
    return (
        f"{lacks.get('tasks')} of {lacks.get('of')} problems need modules that this interpreter lacks, so that answers "
        f"fail whatever the model wrote: {', '.join(modules[:_SHOWN_MODULES])}{more}"
    )


def merged_card(cards: Mapping[str, Card]) -> Card:
    """Return one card of several runs by name: a value that they share stands once, others with the run's name."""
    labels = list(dict.fromkeys(label for card in cards.values() for label, _ in card.rows))
    rows = []
    for label in labels:
        values = {name: dict(card.rows).get(label, NOT_RECORDED) for name, card in cards.items()}
        if len(set(values.values())) == 1:
            rows.append((label, next(iter(values.values()))))
        else:
            rows += [(f"{label} ({name})", value) for name, value in _grouped(values).items()]
    return Card(rows=tuple(rows))


def isolation(executor: Any) -> tuple[str, str, str] | None:
    """Return what an executor's description says of isolation: its guarantees, or else what it says in its own words.

    Returns:
        `guarantees` or `isolation`, what held, and what did not, with reasons; "none" where that is all. None where the
        description says nothing.
    """
    said = executor if isinstance(executor, Mapping) else {}
    label = next((label for label in ("guarantees", "isolation") if said.get(label)), None)
    if label is None:
        return None
    found = said[label]
    if not isinstance(found, Mapping):
        return label, str(found), NOT_RECORDED
    held, missing = found.get("held") or (), found.get("missing") or ()
    why = [f"{name} ({missing[name]})" if isinstance(missing, Mapping) and missing[name] else name for name in missing]
    return label, ", ".join(map(str, held)) or "none", ", ".join(map(str, why)) or "none"


#: Label → the names under which samplers know it.
_GENERATION = {
    "model": ("model", "model_name", "model_id", "function", "name", "source"),
    "temperature": ("temperature",),
    "top-p": ("top_p",),
    "max tokens": ("max_tokens", "max_new_tokens", "max_completion_tokens", "max_gen_toks"),
    "strip policy": ("strip", "strip_policy", "strip_prompt", "prompt_strip"),
    "prompt": ("prompt", "prompt_policy", "prompt_style", "chat_template", "template"),
    "stop": ("stop", "stop_sequences", "stop_at"),
    "seed": ("seed",),
}


def _sampler(sampler: Mapping[str, Any]) -> list[tuple[str, str]]:
    settings = dict(flattened(sampler))
    name_by_last = {name.rpartition(".")[2]: name for name in reversed(settings)}
    rows = [("sampler", _value(settings.pop("sampler", None)))]
    for label, aliases in _GENERATION.items():
        name = next((name_by_last[alias] for alias in aliases if alias in name_by_last), None)
        rows.append((label, _value(settings.pop(name, None) if name else None)))
    others = ", ".join(f"{name} {shown(value)}" for name, value in settings.items())
    return [*rows, ("other sampler settings", others)] if others else rows


def _data(benchmark: Mapping[str, Any]) -> str:
    sha256 = benchmark.get("sha256")
    return _words(
        _labelled("revision", benchmark.get("revision")), _labelled("sha256", str(sha256)[:12] if sha256 else None)
    )


def _suites(suites: Any) -> str:
    if isinstance(suites, Mapping):
        suites = list(dict.fromkeys(name for names in suites.values() for name in names))
    return ", ".join(map(str, suites)) if suites else NOT_RECORDED


def _protocol(protocol: Any) -> str:
    """Name the rules of judging: one where all suites share it."""
    if not isinstance(protocol, Mapping) or not protocol:
        return _value(protocol or None)
    by_suite = {
        name: ", ".join(dict.fromkeys(map(str, value.values()))) if isinstance(value, Mapping) else str(value)
        for name, value in protocol.items()
    }
    distinct = set(by_suite.values())
    return distinct.pop() if len(distinct) == 1 else ", ".join(f"{name}: {rules}" for name, rules in by_suite.items())


def _limits(limits: Mapping[str, Any]) -> str:
    parts = []
    for name, value in limits.items():
        label = name.removesuffix("_s").removesuffix("_bytes").replace("_", " ")
        show = _bytes if name.endswith("_bytes") else _seconds if name.endswith("_s") else str
        if isinstance(value, Mapping) and value:  # per task
            low, high = show(min(value.values())), show(max(value.values()))
            parts.append(f"{label} {low} to {high} by task")
        else:
            parts.append(f"{label} {show(value)}")
    return ", ".join(parts) or NOT_RECORDED


def _seconds(value: float) -> str:
    return f"{value:g} s"


def _bytes(value: float) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power:
            return f"{value / (1 << power):g} {unit}"
    return f"{value:g} B"


def _isolation(executor: Any) -> list[tuple[str, str]]:
    label, held, missing = isolation(executor) or ("guarantees", NOT_RECORDED, NOT_RECORDED)
    return [(f"{label} held", held), (f"{label} missing", missing)]


def _grouped(values: Mapping[str, str]) -> dict[str, str]:
    """Return names that share a value → the value."""
    names_by_value: dict[str, list[str]] = {}
    for name, value in values.items():
        names_by_value.setdefault(value, []).append(name)
    return {", ".join(names): value for value, names in names_by_value.items()}


def _some(task_ids: Sequence[Any]) -> str:
    more = f" and {len(task_ids) - _SOME:,} more" if len(task_ids) > _SOME else ""
    return ", ".join(str(task_id) for task_id in task_ids[:_SOME]) + more


_SOME, _SHOWN_MODULES = 5, 12


def _environment(environment: Any) -> str | None:
    if not isinstance(environment, Mapping):
        return None
    return f"in {environment.get('name')} ({environment.get('lock')})"


def _labelled(label: str, value: Any) -> str | None:
    return f"{label} {value}" if value else None


def _words(*values: Any) -> str:
    return " ".join(str(value) for value in values if value) or NOT_RECORDED


def _value(value: Any) -> str:
    return NOT_RECORDED if value is None or value == "" else shown(value, 200)
