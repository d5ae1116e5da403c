"""A whole answer beside its tests: what it lacks of the prompt is added, its own `main` goes.

    answer    imports, function, helpers, main                     class Solution { imports …, method, main }
                 │ without main, after what it lacks of the prompt        │ renamed, tests inside of the class
    program   preamble · function, helpers · tests                 imports · class Problem { method · tests }

Tests of languages with braces begin by closing the function that the prompt opened, for they were written to follow
a continuation. Beside a whole answer, which has closed it itself, this bracket is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from codeeval.languages.syntax.definitions import first_definition
from codeeval.languages.syntax.masking import depth, masked

__all__ = ["beside", "go_program", "preamble", "with_preamble", "without_double_uses"]


def beside(code: str, tests: str, *, prompt: str, entry_point: str, language: str) -> str:
    """Return the program of a whole answer and its tests.

    Args:
        code: the answer's code: the function, or a file or class that holds it.
        tests: as they would follow a continuation of the prompt.
        prompt: the code that a continuation would follow; what the answer lacks of its imports and types is added.
        entry_point: the function that the tests call.
        language: the language's name.
    """
    if language in _DATA:  # the tests would be part of the data, and never run
        data = re.search(_DATA[language], masked(code, language), re.MULTILINE)
        code = code[: data.start()] if data else code
    place = _PLACING.get(language, _append)
    return place(_Answer(code=code, tests=tests, prompt=prompt, entry_point=entry_point, language=language))


def with_preamble(code: str, *, prompt: str, entry_point: str, language: str) -> str:
    """Return a whole answer after what it lacks of the prompt, where `beside` would put that at its very front.

    What `beside` makes of it does not change. In other languages it is put elsewhere, and the answer stays as it is.
    """
    if language in _PLACING:
        return code
    answer = _Answer(code=code, tests="", prompt=prompt, entry_point=entry_point, language=language)
    return "".join([*_lacking(code, answer), code])


#: What ends the program of a file, whose rest is data.
_DATA: Mapping[str, str] = {
    "perl": r"^__(?:END|DATA)__\b",
    "php": r"\b__halt_compiler\s*\(",
    "ruby": r"^__END__$",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    code: str
    tests: str
    prompt: str
    entry_point: str
    language: str


def preamble(prompt: str, entry_point: str, language: str) -> list[str]:
    """Return what precedes the function that a prompt begins: imports, types, the class's head; without comments."""
    mask = masked(prompt, language)
    found = first_definition(mask, entry_point, language)
    end = found.start() if found else len(prompt)
    parts: list[str] = []
    part: list[str] = []
    level = 0
    for line, blanked in zip(prompt[:end].splitlines(), mask[:end].splitlines(), strict=True):
        if blanked.strip():
            part.append(line)
            level += depth(blanked) + depth(blanked, "()")
            if level <= 0:
                parts.append("\n".join(part))
                part, level = [], 0
    return [*parts, "\n".join(part)] if part else parts


def _append(answer: _Answer) -> str:
    """Put tests after the answer's functions."""
    code = _without_main(answer.code, answer.language)
    return "".join([*_lacking(code, answer), code.rstrip(), "\n\n", _without_closer(answer.tests, answer.language)])


def _append_php(answer: _Answer) -> str:
    code = re.sub(r"\?>\s*\Z", "", re.sub(r"\A\s*<\?(?:php\b)?", "", answer.code))
    # The answer may end in its program or in the page around it, where tests would only be shown.
    return f"<?php\n{code.strip()}\n?><?php\n{answer.tests}"


def _append_script(answer: _Answer) -> str:
    """Take the words off that make a file a module: tests stand in the same file."""
    code = re.sub(
        r"^[ \t]*export[ \t]+(?:\{[^}]*\}|default[ \t]+\w+)[ \t]*;?[ \t]*$", "", answer.code, flags=re.MULTILINE
    )
    code = re.sub(r"^([ \t]*)export[ \t]+(?:default[ \t]+)?", r"\1", code, flags=re.MULTILINE)
    return f"{code.rstrip()}\n\n{answer.tests}"


def _append_racket(answer: _Answer) -> str:
    head = "" if "#lang" in answer.code else "#lang racket\n\n"
    return f"{head}{answer.code.strip()}\n\n{answer.tests}"


# ------------------------------------------------------------------------------------------ methods of a class


def _into_class(answer: _Answer) -> str:
    """Put tests into the class that holds the method, under the name that the prompt gives it."""
    code, language = _without_main(answer.code, answer.language), answer.language
    if language == "scala":  # its main would stand beside that of the tests
        code = _without(code, r"\s+extends\s+(?:scala\.)?App\b(?=\s*\{)", language)
    mask = masked(code, language)
    method = first_definition(mask, answer.entry_point, language)
    wanted = re.findall(_CLASS, masked(answer.prompt, language))
    # A class without the method is no method: tests stand in it, and what they call is missing, as it is.
    found = _class_around(mask, method.start()) if method else _outer_class(mask, wanted[-1:])
    inside, after = _class_tests(answer.tests, language)
    if found is None:
        imports, methods = _split_imports(code, language)
        head = [part + "\n" for part in preamble(answer.prompt, answer.entry_point, language)]
        return "".join([imports, *head, methods.rstrip(), "\n", inside, "\n}\n", after])
    close = _closing(mask, found.open_at)
    close = len(code) if close is None else close
    whole = code[:close].rstrip() + "\n" + inside + "\n" + (code[close:] or "}\n")
    if wanted and found.name != wanted[-1]:
        whole = _renamed(whole, found.name, wanted[-1], language)
    if language == "java":  # a public class would have to be alone in a file of its name
        public = r"\bpublic[ \t]+(?=(?:(?:final|abstract)[ \t]+)*(?:class|interface|enum|record)\b)"
        whole = _without(whole, public, language, at_top_level=True)
    lacking = [p for p in _lacking(whole, answer) if not re.search(_CLASS, masked(p, language))]
    return "".join([*lacking, whole.rstrip(), "\n", after])


def _class_tests(tests: str, language: str) -> tuple[str, str]:
    """Split tests into what stands in the class, and what comes after it."""
    mask = masked(tests, language)
    if depth(mask) >= 0:  # a class of their own
        return "", tests
    first = next(iter(re.findall("[{}]", mask)))
    start = mask.index("}") + 1 if first == "}" else 0  # else no function is open there
    return tests[start : mask.rindex("}")], ""


_CLASS = r"\b(?:class|object|struct|record|interface|enum)\s+(\w+)"


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    open_at: int


def _outer_class(mask: str, wanted: list[str]) -> _Class | None:
    """Find the outer class that has a wanted name, or else the only one, where no methods stand outside of it."""
    heads = [head for head in re.finditer(_CLASS + r"[^;{}]*\{", mask) if depth(mask[: head.start()]) == 0]
    named = [head for head in heads if head[1] in wanted]
    if not named and len(heads) == 1:
        close = _closing(mask, heads[0].end() - 1)
        outside = mask[: heads[0].start()] + (mask[close + 1 :] if close is not None else "")
        named = [] if "(" in outside else heads
    return _Class(named[0][1], named[0].end() - 1) if named else None


def _class_around(mask: str, at: int) -> _Class | None:
    """Find the innermost class around a position."""
    opened: list[int] = []
    for bracket in re.finditer(r"[{}]", mask[:at]):
        if bracket[0] == "{":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    for open_at in reversed(opened):
        head = re.split(r"[;{}]", mask[:open_at])[-1]
        if named := re.findall(_CLASS, head):
            return _Class(named[-1], open_at)
    return None


def _split_imports(code: str, language: str) -> tuple[str, str]:
    """Take imports from in front of bare methods: inside of a class they may not stand."""
    imports = re.findall(r"^[ \t]*(?:import|using)\s[^\n(]*$\n?", code, re.MULTILINE)
    rest = re.sub(r"^[ \t]*(?:import|using|package)\s[^\n(]*$\n?", "", code, flags=re.MULTILINE)
    return "".join(imports), rest


def _renamed(code: str, name: str, wanted: str, language: str) -> str:
    """Rename a class wherever its name stands in code."""
    mask = masked(code, language)
    at, pieces = 0, []
    for found in re.finditer(rf"\b{re.escape(name)}\b", mask):
        pieces += [code[at : found.start()], wanted]
        at = found.end()
    return "".join([*pieces, code[at:]])


def _without(code: str, pattern: str, language: str, *, at_top_level: bool = False) -> str:
    """Take out what matches in code, or what of it stands outside of all braces."""
    mask = masked(code, language)
    at, pieces = 0, []
    for found in re.finditer(pattern, mask):
        if not at_top_level or depth(mask[: found.start()]) == 0:
            pieces.append(code[at : found.start()])
            at = found.end()
    return "".join([*pieces, code[at:]])


# ------------------------------------------------------------------------------------------ packages and imports


def go_program(header: str, code: str, tests: str) -> str:
    """Return a Go file of a header (package and imports), code that may have its own, and tests.

    Go refuses imports that nothing uses, so the header's are taken as far as they are used, whether the code repeats
    them or not, and so are the code's that only its own `main` or tests used; what the code never used stays, for the
    mistake is its author's.
    """
    package = re.search(r"^[ \t]*package[ \t]+(\w+)", header, re.MULTILINE)
    body = _without_main(_GO_IMPORTS.sub("", _GO_PACKAGE.sub("", code)), "go").strip()
    program = f"{body}\n\n{_GO_IMPORTS.sub('', _GO_PACKAGE.sub('', tests)).strip()}\n"
    used = masked(program, "go")
    unmerged = masked(_GO_IMPORTS.sub("", code), "go")
    given = dict.fromkeys((*_go_imports(header), *_go_imports(tests)))
    kept = {spec: None for spec in given if _uses(used, spec)}
    kept |= {
        spec: None for spec in _go_imports(code) if _uses(used, spec) or not (spec in given or _uses(unmerged, spec))
    }
    imports = "".join(f"\t{spec}\n" for spec in kept)
    return f"package {package[1] if package else 'main'}\n\n" + (f"import (\n{imports})\n\n" if kept else "") + program


def _into_package(answer: _Answer) -> str:
    return go_program(answer.prompt, answer.code, answer.tests)


_GO_PACKAGE = re.compile(r"^[ \t]*package[ \t]+\w+[ \t]*;?[ \t]*$", re.MULTILINE)
_GO_IMPORTS = re.compile(r"^[ \t]*import[ \t]*(?:\([^)]*\)|[\w.]*[ \t]*\"[^\"\n]+\")[ \t]*;?", re.MULTILINE)


def _go_imports(text: str) -> Iterator[str]:
    """Yield what a file imports, as `"path"` or `name "path"`."""
    for statement in _GO_IMPORTS.findall(text):
        for alias, path in re.findall(r"(?:^|[\s(;])([\w.]+[ \t]+)?(\"[^\"\n]+\")", statement.removeprefix("import")):
            yield f"{alias.strip()} {path}".strip()


def _uses(mask: str, spec: str) -> bool:
    alias, _, path = spec.rpartition(" ")
    name = alias or re.sub(r"/v\d+$", "", path.strip('"')).rpartition("/")[2]
    return name in ("_", ".") or re.search(rf"\b{re.escape(name)}\.", mask) is not None


# ------------------------------------------------------------------------------------------ what an answer has too much


#: What an answer may bring that the tests bring too, by its first line; it ends with its block.
_MAINS: Mapping[str, str] = {
    "cpp": r"^[ \t]*(?:(?:static|signed)[ \t]+)*(?:int|void|auto)\s+main\s*\(",
    "csharp": r"^[ \t]*(?:(?:public|private|internal|protected|static|async|unsafe)\s+)*"
    r"(?:void|int|Task(?:<int>)?)\s+Main\s*\(",
    "d": r"^[ \t]*(?:int|void)\s+main\s*\(",
    "go": r"^[ \t]*func\s+(?:main\s*\(|(?:Test|Benchmark|Example)\w*\s*\()",
    "java": r"^[ \t]*(?:(?:public|static|final)\s+)*void\s+main\s*\(",
    "rust": r"^[ \t]*(?:(?:pub\s+)?fn\s+main\s*\(|#\[cfg\(test\)\]\s*mod\s+\w+)",
    "scala": r"^[ \t]*def\s+main\s*\(",
}


def _without_main(code: str, language: str) -> str:
    """Take out the answer's own main functions and test modules."""
    if language not in _MAINS:
        return code
    mask = masked(code, language)
    at, pieces = 0, []
    for found in re.finditer(_MAINS[language], mask, re.MULTILINE):
        if found.start() < at:
            continue
        pieces.append(code[at : found.start()])
        at = _end_of_definition(mask, found.end())
    return "".join([*pieces, code[at:]])


def _end_of_definition(mask: str, at: int) -> int:
    """Find where a definition ends that began before a position: with its block, or its line where it has none."""
    open_at = mask.find("{", at)
    line = mask.find("\n", at)
    one_line = re.compile(r"[^\n{]*=[ \t]*[^\s{][^\n]*").match(mask, at)
    if open_at < 0 or one_line:
        return len(mask) if line < 0 else line
    close = _closing(mask, open_at)
    return len(mask) if close is None else close + 1


def _closing(mask: str, open_at: int) -> int | None:
    """Find the brace that closes the one at a position."""
    level = 0
    for bracket in re.compile(r"[{}]").finditer(mask, open_at):
        level += 1 if bracket[0] == "{" else -1
        if level == 0:
            return bracket.start()
    return None


def _without_closer(tests: str, language: str) -> str:
    """Leave out the brace with which tests close the function that a prompt has opened."""
    mask = masked(tests, language)
    return tests[mask.index("}") + 1 :].lstrip("\n") if depth(mask) < 0 else tests


def _lacking(code: str, answer: _Answer) -> list[str]:
    """Return what the prompt has in front of its function and the answer lacks."""
    have = "".join(code.split())
    declared = set(_TYPE.findall(masked(code, answer.language)))
    lacking = [
        part
        for part in preamble(answer.prompt, answer.entry_point, answer.language)
        if "".join(part.split()) not in have and not declared & set(_TYPE.findall(part)[:1])
    ]
    if answer.language == "rust":
        lacking = without_double_uses(lacking, masked(code, "rust"))
    return [part + "\n" for part in lacking]


def without_double_uses(parts: list[str], mask: str) -> list[str]:
    """Leave out of `use` statements the names that the answer brings by its own: Rust refuses a name twice."""
    taken = {_used_name(path) for tree in _USE.findall(mask) for path in _use_paths(tree)}
    kept = []
    for part in parts:
        tree = _USE.fullmatch(part)
        if tree is None or not taken & set(map(_used_name, _use_paths(tree[1]))):
            kept.append(part)
        else:
            paths = [path for path in _use_paths(tree[1]) if _used_name(path) not in taken]
            kept += [f"use {path.removesuffix('::self')};" for path in paths]
    return kept


_USE = re.compile(r"^[ \t]*(?:pub[ \t]+)?use[ \t]+([^;]+);", re.MULTILINE)


def _use_paths(tree: str, before: str = "") -> Iterator[str]:
    """Yield the paths of a tree as `std::{cmp::{max, self}, mem}`."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        yield before + head
        return
    level, item = 0, ""
    for character in rest[: rest.rfind("}")] + ",":
        level += (character == "{") - (character == "}")
        if character == "," and level == 0:
            if item.strip():
                yield from _use_paths(item, before + head)
            item = ""
        else:
            item += character


def _used_name(path: str) -> str:
    """Return the name that a path brings; a glob brings none that can be told."""
    return re.split(r"\bas\b|::", path.removesuffix("::self"))[-1].strip()


_TYPE = re.compile(r"\b(?:struct|union|enum|extension|class)\s+\w+")

_PLACING: Mapping[str, Callable[[_Answer], str]] = {
    "csharp": _into_class,
    "go": _into_package,
    "java": _into_class,
    "javascript": _append_script,
    "php": _append_php,
    "racket": _append_racket,
    "scala": _into_class,
    "typescript": _append_script,
}
