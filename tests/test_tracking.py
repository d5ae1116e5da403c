"""Log hooks through the libraries themselves; each is skipped where its library is not installed."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from codeeval.analysis.history.loggers import TensorBoardLog, WandbLog
from codeeval.errors import MissingExtra


def test_tensorboard_reads_back_what_was_logged(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is an extra")
    with TensorBoardLog(tmp_path / "logs") as log:
        log(100, {"pass@1": 0.25, "pass@1/ci_low": 0.125})
        log(200, {"pass@1": 0.5})

    found = scalars(tmp_path / "logs")

    assert found == {
        "codeeval/pass_1": [(100, 0.25), (200, 0.5)],
        "codeeval/pass_1/ci_low": [(100, 0.125)],
    }


def scalars(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """Read an event file record by record; what `TensorBoardLog` needs is enough."""
    from tensorboardX.proto.event_pb2 import Event

    found: dict[str, list[tuple[int, float]]] = {}
    (file,) = directory.glob("events.out.tfevents.*")
    data, at = file.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        event = Event.FromString(data[at + 12 : at + 12 + size])
        at += 12 + size + 4  # length and its checksum before, checksum after
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_tensorboards_own_reader_agrees(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is an extra")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        accumulator = pytest.importorskip(
            "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard reads event files"
        )
    with TensorBoardLog(tmp_path) as log:
        log(100, {"pass@1": 0.25})

    reader = accumulator.EventAccumulator(str(tmp_path))
    reader.Reload()

    assert [(e.step, e.value) for e in reader.Scalars("codeeval/pass_1")] == [(100, 0.25)]


@pytest.mark.sandbox
@pytest.mark.filterwarnings("ignore")  # theirs
def test_wandb_keeps_a_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is an extra")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.chdir(tmp_path)

    with wandb.init(project="toy", dir=str(tmp_path)) as run:
        log = WandbLog(run)
        run.log({"loss": 1.0}, step=500)  # the trainer is ahead
        log(100, {"pass@1": 0.25})
        log(200, {"pass@1": 0.5})
        log.close()
        summary = dict(run.summary)
        run.log({"loss": 0.5})  # still open

    assert (summary["codeeval/pass@1"], summary["codeeval/step"]) == (0.5, 200)
    assert list(tmp_path.rglob("*.wandb"))


@pytest.mark.sandbox
@pytest.mark.filterwarnings("ignore")  # theirs
def test_wandb_run_that_was_started_here_is_finished_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is an extra")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.chdir(tmp_path)

    with WandbLog(project="toy", mode="offline", dir=str(tmp_path)) as log:
        log(1, {"pass@1": 0.25})
    log.close()

    assert list(tmp_path.rglob("*.wandb"))


class _Recorder:
    """Stands for a W&B run, and remembers."""

    def __init__(self) -> None:
        self.defined: list[Any] = []
        self.logged: list[dict[str, float]] = []

    def define_metric(self, name: str, **options: Any) -> None:
        self.defined.append((name, options))

    def log(self, values: dict[str, float]) -> None:
        self.logged.append(values)


def test_wandb_steps_are_an_axis_of_their_own() -> None:
    run = _Recorder()
    log = WandbLog(run)

    log(100, {"pass@1": 0.25})
    log(200, {"pass@1": 0.5})

    assert ("codeeval/*", {"step_metric": "codeeval/step"}) in run.defined
    assert len(run.defined) == 2
    assert json.dumps(run.logged[1]) == json.dumps({"codeeval/step": 200, "codeeval/pass@1": 0.5})


def test_a_run_and_arguments_to_start_one_are_refused() -> None:
    with pytest.raises(ValueError, match="project"):
        WandbLog(_Recorder(), project="toy")


@pytest.mark.parametrize(
    ("log", "module", "extra"),
    [(TensorBoardLog("unused"), "tensorboardX", "tensorboard"), (WandbLog(), "wandb", "wandb")],
)
def test_a_missing_library_names_its_extra(
    log: TensorBoardLog | WandbLog, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra, match=rf"pip install 'codeeval\[{extra}\]'"):
        log(1, {"pass@1": 0.5})
