"""For those who build on codeeval: stand-ins that keep the ports' promises, and checks that an own port keeps them.

`ScriptedSampler` and `FakeExecutor` generate and execute nothing, so that metrics, callbacks and pipelines can be
tested fast. `check_sampler`, `check_executor`, `check_metric` and `check_suite` put an object of your own to the test.
Each tries the named promises of its port (`SAMPLER_PROMISES` …) and raises one `ConformanceError`, which lists every
broken one with what was expected and got; `only=` tries some of them.
"""

from codeeval.testing.executors import EXECUTOR_PROMISES, check_executor
from codeeval.testing.fakes import FakeExecutor, ScriptedSampler
from codeeval.testing.metrics import METRIC_PROMISES, check_metric
from codeeval.testing.promises import BrokenPromise, ConformanceError, Promises
from codeeval.testing.samplers import SAMPLER_PROMISES, check_sampler
from codeeval.testing.suites import SUITE_PROMISES, check_suite

__all__ = [
    "EXECUTOR_PROMISES",
    "METRIC_PROMISES",
    "SAMPLER_PROMISES",
    "SUITE_PROMISES",
    "BrokenPromise",
    "ConformanceError",
    "FakeExecutor",
    "Promises",
    "ScriptedSampler",
    "check_executor",
    "check_metric",
    "check_sampler",
    "check_suite",
]
