"""The main job, offline: recorded completions of HumanEval in, scores with intervals out.

    pip install '.[humaneval]'
    python examples/demo.py

There is no model here. Three samples per problem are made from the canonical solutions, and some of them are spoiled
on purpose, so that the report has something to show.
"""

from __future__ import annotations

import time

import codeeval as ce


def spoiled(problem: ce.Problem, index: int, number: int) -> str:
    """Give sample `index` of the problem at position `number`: its solution, or something that only resembles one."""
    solution = problem.canonical_solution
    if number == 0 and index == 2:
        return "    while True:\n        pass\n"  # never ends
    if number == 1 and index == 2:
        return "    import os\n    os._exit(0)\n"  # claims success and leaves
    if number == 2 and index == 2:
        return "    return number % 1.0 + 1e-3\n"  # nearly right
    if number % 4 == 0 and index > 0:
        return solution[: len(solution) // 2]  # cut in the middle, as by a token limit
    if number % 7 == 0:
        return "    return None\n"  # wrong every time
    return solution


def main() -> None:
    problems = ce.load("humaneval", source="package").with_limits(cpu_s=1.0)
    rows = [
        {"task_id": problem.task_id, "completion": spoiled(problem, index, number)}
        for number, problem in enumerate(problems)
        for index in range(3)
    ]
    began = time.perf_counter()

    truth = ce.evaluate(problems, ce.CanonicalSampler(), cache=False)
    print("The canonical solutions: what fails here can't be judged on this machine.\n")
    print(truth)

    sampler = ce.RecordedSampler(rows)
    results = ce.evaluate(problems, sampler, metrics=[ce.PassAtK(1, 3), ce.StatusRates()], cache=False)
    print("\nThe recorded completions.\n")
    print(results)

    print("\nWhy two of them failed: results.failures('HumanEval/0')[-1:] and results.failures('HumanEval/2')\n")
    print(results.failures("HumanEval/0")[-1:])
    print()
    print(results.failures("HumanEval/2"))
    print(f"\n{len(truth) + len(results)} completions judged in {time.perf_counter() - began:.1f} s.")


if __name__ == "__main__":
    main()
