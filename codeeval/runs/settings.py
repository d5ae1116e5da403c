"""The table of settings: what a difference in each entry of a manifest means, for who resumes and who compares.

    VERDICT      the verdicts rest on it, or how the model was asked: scores under other values are not comparable
    GENERATION   how the completions were made
    ENVIRONMENT  where and when it was judged
    INCIDENTAL   nothing depends on it

Resuming refuses a difference in all but INCIDENTAL, because the verdicts of one run have one origin. Comparing refuses
VERDICT, and lists the others as what may explain a difference in scores.
"""

from __future__ import annotations

import fnmatch
import functools
from enum import StrEnum

__all__ = ["PROMPT_POLICY", "TABLE", "Setting", "setting_of"]


class Setting(StrEnum):
    """What depends on a setting."""

    VERDICT = "verdict"
    GENERATION = "generation"
    ENVIRONMENT = "environment"
    INCIDENTAL = "incidental"


#: How the model was asked and its answer was cut; the last part of a sampler setting's name.
PROMPT_POLICY = frozenset(
    """add_bos bos chat chat_template few_shot fewshot instruction n_shot n_shots prefill prefix prompt prompt_format
    prompt_policy prompt_strip prompt_style prompt_template stop stop_at stop_sequences strip strip_policy strip_prompt
    style suffix system system_prompt template""".split()
)
#: Pattern of a dotted name in a manifest → what depends on it. The first that fits counts.
TABLE: tuple[tuple[str, Setting], ...] = (
    ("schema", Setting.INCIDENTAL),
    ("task_ids", Setting.INCIDENTAL),
    ("n_samples", Setting.INCIDENTAL),
    ("started", Setting.INCIDENTAL),
    ("finished", Setting.INCIDENTAL),
    ("executor.*workers", Setting.INCIDENTAL),
    ("executor.*actors", Setting.INCIDENTAL),
    ("sampler.*batch_size", Setting.INCIDENTAL),
    ("sampler.*concurrency", Setting.INCIDENTAL),
    ("benchmark.*", Setting.VERDICT),
    ("suites", Setting.VERDICT),
    ("extractor", Setting.VERDICT),
    ("limits.*", Setting.VERDICT),
    ("protocol.*", Setting.VERDICT),
    ("executor.protocol", Setting.VERDICT),
    ("executor.isolation", Setting.VERDICT),
    ("executor.guarantees", Setting.VERDICT),
    ("executor.hash_seed", Setting.VERDICT),
    ("executor.python", Setting.VERDICT),
    ("sampler.*", Setting.GENERATION),
    ("metadata.*", Setting.GENERATION),
    ("*", Setting.ENVIRONMENT),
)


@functools.lru_cache(maxsize=4096)
def setting_of(name: str) -> Setting:
    """Return what depends on a setting, by its dotted name in a manifest: `limits.cpu_s`."""
    head, _, rest = name.partition(".")
    if head == "sampler" and rest.rpartition(".")[2].lower() in PROMPT_POLICY:
        return Setting.VERDICT
    return next(setting for pattern, setting in TABLE if fnmatch.fnmatchcase(name, pattern))
