"""Samplers: where completions come from. Anything with `sample(problems, n)` is one; see `Sampler`."""

from codeeval.samplers.base import Sampler, as_sampler
from codeeval.samplers.canonical import CanonicalSampler
from codeeval.samplers.function import FunctionSampler
from codeeval.samplers.recorded import RecordedSampler

__all__ = ["CanonicalSampler", "FunctionSampler", "RecordedSampler", "Sampler", "as_sampler"]
