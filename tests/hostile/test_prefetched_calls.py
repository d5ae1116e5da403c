"""Attacks of a child that gets its calls with its code: none passes, and none learns an answer from these calls."""

from __future__ import annotations

import functools

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Strength
from tests.support import programs

LIMITS = Limits(cpu_s=1.0, wall_s=3.0, memory_bytes=512 << 20)
TESTS = "assert f(1) == 2\nassert f(5) == 6\nassert f(9) == 10"
HONEST = "def f(x): return x + 1"

#: The frames of the child's side, and a search for the calls that it was told.
FRAMES = """\
import gc, json, os, struct, threading, time
def frame(message):
  text = json.dumps(message).encode()
  return struct.pack('!i', len(text)) + text
def told():
  for o in gc.get_objects():
    if type(o) is list and len(o) > 1 and all(type(c) is list and len(c) == 3 and c[0] == 'f' for c in o):
      return [c[1][0] for c in o]
  return []
"""

ATTACKS = {
    "forged_answers_at_import": "for v in (2, 7, 7): os.write(4, frame(['answer', v]))\ndef f(x): return 3",
    "forged_answers_that_end_early": "os.write(4, frame(['answer', 2]))\nos.write(3, frame(['ahead']))\n"
    "def f(x): return 3",
    "an_end_of_the_calls_before_they_began": "os.write(3, frame(['ahead']))\ndef f(x): return 3",
    "many_ends": "for _ in range(1000): os.write(3, frame(['ahead']))\ndef f(x): return 3",
    "verdicts_on_both": "for fd in (3, 4):\n  for m in (['passed'], ['tested', ''], ['names', []], ['end']):\n"
    "    os.write(fd, frame(m))\ndef f(x): return 3",
    "names_for_the_last_question": "def f(x):\n  os.write(3, frame(['names', []]))\n  return 3",
    "junk_on_the_pipe": "os.write(4, b'\\xff' * 64)\ndef f(x): return 2",
    "junk_on_the_socket": "os.write(3, b'\\xff' * 64)\ndef f(x): return 2",
    "junk_on_both": "for fd in (3, 4): os.write(fd, b'[{' * 500)\ndef f(x): return 2",
    "half_a_frame_on_the_pipe": "os.write(4, struct.pack('!i', 1000) + b'[')\ndef f(x): return 2",
    "a_deep_frame_on_the_pipe": "t = b'[' * 50000\nos.write(4, struct.pack('!i', len(t)) + t)\ndef f(x): return 2",
    "a_closed_pipe": "os.close(4)\ndef f(x): return 3",
    "a_closed_pipe_and_end": "os.close(4)\nos.write(3, frame(['ahead']))\ndef f(x): return 3",
    "a_closed_socket": "os.close(3)\ndef f(x): return 2",
    "both_closed": "os.closerange(3, 5)\ndef f(x): return 2",
    "a_pipe_that_is_the_socket": "os.dup2(3, 4)\ndef f(x): return 3",
    "a_socket_that_is_the_pipe": "os.dup2(4, 3)\ndef f(x): return 3",
    "a_pipe_that_is_a_file": "os.dup2(os.open('x', os.O_RDWR | os.O_CREAT), 4)\ndef f(x): return 2",
    "a_flood_of_the_pipe": "a = frame(['answer', 2]) * 1000\nwhile True: os.write(4, a)\ndef f(x): return 2",
    "a_flood_of_the_socket": "a = frame(['ahead']) * 1000\nwhile True: os.write(3, a)\ndef f(x): return 2",
    "a_flood_from_a_thread": "def flood():\n  while True: os.write(4, frame(['answer', 2]))\n"
    "threading.Thread(target=flood, daemon=True).start()\ndef f(x): return 2",
    "a_thread_that_answers_later": "def late():\n  time.sleep(0.05)\n  os.write(4, frame(['answer', 10]))\n"
    "def f(x):\n  threading.Thread(target=late, daemon=True).start()\n  return x + 1 if x < 9 else 3",
    "a_thread_that_ends_the_calls": "def end(): os.write(3, frame(['ahead']))\n"
    "def f(x):\n  threading.Thread(target=end).start()\n  time.sleep(0.05)\n  return 3",
    "an_exit_after_forged_answers": "os.write(4, frame(['answer', 2]))\nos.write(3, frame(['ahead']))\nos._exit(0)",
    "an_exit_in_the_last_call": "def f(x):\n  if x == 9: os._exit(0)\n  return x + 1",
    "calls_for_answers": "def f(x):\n  a = told()\n  return a[a.index(x) + 1] if x in a[:-1] else 3",
    "calls_that_are_changed": "def f(x):\n  for o in gc.get_objects():\n    if type(o) is list and o[:1] == ['f']:\n"
    "      o[1:] = [[1], {}]\n  return 2",
    "calls_that_are_removed": "def f(x):\n  for o in gc.get_objects():\n"
    "    if type(o) is list and o and type(o[0]) is list and o[0][:1] == ['f']: o.clear()\n  return 2",
    "answers_to_what_was_not_asked": "def f(x):\n  for fd in (3, 4): os.write(fd, frame(['answer', 6]))\n  return 2",
    "a_patched_child": "import sys\ndef f(x):\n  child = sys._getframe(2).f_locals.get('self')\n"
    "  type(child).encode = lambda s, v: {'argument': 0}\n  type(child).answer = lambda s, m, fd: ['answer', 2]\n"
    "  return 3",
    "a_reference_to_nothing": "os.write(4, frame(['answer', {'own': 5}]))\ndef f(x): return 2",
    "changed_arguments": "os.write(4, frame(['answer', 2, [[[]], 7]]))\ndef f(x): return 2",
}


program = functools.partial(programs.program, limits=LIMITS)


def after_an_honest_one(executor: LocalExecutor, honest: str, attack: str, tests: str) -> Execution:
    for _ in range(2):
        assert executor.run(program(honest, tests)).passed
    return executor.run(program(attack, tests))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_child_that_knows_its_calls_forges_no_pass(executor: LocalExecutor, attack: str) -> None:
    execution = after_an_honest_one(executor, HONEST, FRAMES + attack, TESTS)

    assert not execution.passed, execution
    assert execution.status != "sandbox_error", execution
    assert executor.run(program(HONEST, TESTS)).passed


SWAP = "def f(x): return x.swapcase()"
#: Honest candidate, and tests that call it with what it has answered.
FED_BACK = {
    "nested": ("def f(x): return x.swapcase()", "assert f('aB') == 'Ab'\nassert f(f('aB')) == 'aB'"),
    "by_name": ("def f(x): return x.swapcase()", "y = f('aB')\nassert y == 'Ab'\nassert f(y) == 'aB'"),
    "by_a_list": ("def f(x): return x.swapcase()", "y = []\ny.append(f('aB'))\nassert y == ['Ab']\nassert f(y[0])"),
    "by_a_function": (
        "def f(x): return x.swapcase()",
        "def twice(g, x): return g(x)\ny = twice(f, 'aB')\nassert y == 'Ab'\nassert f(y) == 'aB'",
    ),
    "by_a_parameter": (
        "def f(x): return x.swapcase()",
        "def again(y):\n  assert y == 'Ab'\n  return f(y)\nassert again(f('aB')) == 'aB'",
    ),
    "by_a_loop": ("def f(x): return x.swapcase()", "for y in [f('aB')]:\n  assert y == 'Ab'\n  assert f(y) == 'aB'"),
    "by_a_comprehension": ("def f(x): return x.swapcase()", "assert [(y, f(y)) for y in [f('aB')]] == [('Ab', 'aB')]"),
    "by_reduce": (
        "def f(x, y='z'): return x.swapcase()",
        "from functools import reduce\nassert reduce(f, ['aB', 'c', 'd']) == 'aB'\nassert f('aB', 'c') == 'Ab'",
    ),
    "in_check": (
        "def f(x): return x.swapcase()",
        "def check(candidate):\n  y = candidate('aB')\n  assert y == 'Ab'\n  assert candidate(y) == 'aB'\ncheck(f)",
    ),
    "by_a_lambda": (SWAP, "assert (lambda y: f(y))(f('aB')) == 'aB'"),
    "by_a_key": (SWAP, "assert sorted([f('aB')], key=lambda y: f(y)) == ['Ab']"),
    "by_map": (SWAP, "assert list(map(lambda y: f(y), [f('aB')])) == ['aB']"),
    "by_a_pattern": (SWAP, "match f('aB'):\n  case y: assert f(y) == 'aB'"),
    "by_a_default": (SWAP, "def g(y=f('aB')): return f(y)\nassert g() == 'aB'"),
    "by_an_exception": (
        SWAP,
        "def g(): raise ValueError(f('aB'))\ntry: g()\nexcept ValueError as e: y = e.args[0]\nassert f(y) == 'aB'",
    ),
    "by_a_function_of_a_function": (SWAP, "def g():\n  return lambda y: f(y)\nassert g()(f('aB')) == 'aB'"),
    "by_a_dictionary": (SWAP, "d = {'k': lambda y: f(y)}\nassert d['k'](f('aB')) == 'aB'"),
    "by_partial": (SWAP, "import functools\nassert functools.partial(lambda y: f(y), f('aB'))() == 'aB'"),
    "by_a_decorator": (SWAP, "def d(g): return g(f('aB'))\n@d\ndef v(y): return f(y)\nassert v == 'aB'"),
    "by_occurring": (SWAP, "assert f('aB') == 'x' or f('Ab') == 'aB'"),
    "by_a_filter": (SWAP, "assert [f(y) for y in ['aB', 'Ab'] if f(y) == 'aB'] == ['aB']"),
}


@pytest.mark.parametrize(("honest", "tests"), FED_BACK.values(), ids=FED_BACK)
def test_a_child_is_not_told_calls_that_hold_its_answers(executor: LocalExecutor, honest: str, tests: str) -> None:
    """The honest candidate's answer would otherwise be read off the list of calls."""
    nosy = FRAMES + "found = []\ndef f(x, *more):\n  found.extend(told())\n  raise ValueError(repr(found))"

    execution = after_an_honest_one(executor, honest, nosy, tests)

    assert "ValueError: []" in execution.message, execution


def test_a_child_is_not_told_calls_that_the_prompts_own_function_makes_with_its_answers(
    executor: LocalExecutor,
) -> None:
    """What is run before the tests calls the candidate too."""
    prompt = "def twice(x): return f(f(x))\n"
    tests = "assert twice('aB') == 'aB'\nassert f('q') == 'Q'"
    problem = Problem.from_test("hostile/0", prompt, tests, "f", strength=Strength.SPLIT, limits=LIMITS)
    nosy = FRAMES + "found = []\ndef f(x):\n  found.extend(told())\n  raise ValueError(repr(found))"

    honest, again, execution = [
        executor.run(problem.suites["tests"].program(prompt + code, problem=problem, limits=LIMITS))
        for code in (SWAP, SWAP, nosy)
    ]

    assert honest.passed
    assert again.passed
    assert "ValueError: []" in execution.message, execution
