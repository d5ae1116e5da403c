"""Rust, and how its `use` statements are merged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeeval.languages.libraries import LIBRARIES
from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.patterns import CHARACTER, DOUBLE_QUOTED_LINES
from codeeval.languages.syntax.record import Blocks, Comments, Imports, Sealing, Syntax
from codeeval.program import Limits

__all__ = ["RUST"]

_PROGRAM = "{out}/program"


def _without_double_uses(parts: list[str], mask: str) -> list[str]:
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


_RUST_TEST = """\
fn add(numbers: Vec<isize>) -> isize {
    numbers.iter().sum::<isize>() + %s
}
fn main() {
    let candidate = add;
    assert_eq!(candidate(vec![1, 2]), 3);
}
"""

_RUST_PACK_TEST = """\
fn main(){}

use rand::Rng;
use regex::Regex;
use md5;

fn add(a: i32, b: i32) -> i32 {
    a + b + rand::thread_rng().gen_range(0..1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_add() {
        assert!(Regex::new(r"^d4\\w+$").unwrap().is_match(&format!("{:x}", md5::compute(""))));
        assert_eq!(add(1, 2), %s);
    }
}
"""

_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),), nested=True),
    strings=(r'b?r(?P<hashes>#*)"(?s:.*?)(?:"(?P=hashes)|\Z)', DOUBLE_QUOTED_LINES, CHARACTER),
    definition=r"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:const|async|unsafe)[ \t]+)*fn[ \t]+{name}\b",
    blocks=Blocks(),
    imports=Imports(
        line=r"(?:pub[ \t]+)?use[ \t]+[^;\n]+;|extern[ \t]+crate[ \t]+\w+[ \t]*;", choose=_without_double_uses
    ),
    main=r"^[ \t]*(?:(?:pub\s+)?fn\s+main\s*\(|#\[cfg\(test\)\]\s*mod\s+\w+)",
    ends_in_brace=True,
    choose_head=_without_double_uses,
    sealing=Sealing(statement=r'println!("\n{token}");', closing=r"\}"),
)

RUST = Language(
    name="rust",
    title="Rust",
    aliases=("rs",),
    suffix=".rs",
    main="main.rs",
    tools={"rustc": ("rustc",)},
    # rustup's rustc forwards to the real one, which it looks up in the home directory, each time.
    sysroot=("{rustc}", "--print", "sysroot"),
    # No -O: it would take away the checks for overflow, on which some tests rely.
    build=("{rustc}", "{main}", "-o", _PROGRAM),
    run=(_PROGRAM,),
    native=True,
    run_limits=Limits(cpu_s=5, wall_s=30),
    ending=Ending(
        memory=r"^memory allocation of \d+ bytes failed",
        memory_ends=(-6,),
        build_memory=r"^memory allocation of \d+ bytes failed|^(rustc-)?LLVM ERROR: out of memory",
        missing=r"^error\[E0(?:432|433|463)\]",
        fault=r"error while loading shared libraries|No space left on device|linker `\w+` not found",
    ),
    syntax=_SYNTAX,
    stop=("\n}",),
    alone="fn main() {}\n",
    version=("{rustc}", "--version"),
    self_test=SelfTest(passing=_RUST_TEST % "0", wrong=_RUST_TEST % "1", broken=_RUST_TEST % '"text"'),
    packages={"apt": "rustc"},
    protocols={
        "humanevalpack": {
            "files": {"crates": (f"{LIBRARIES}/rust", "/usr/local/share/codeeval/libraries/rust")},
            "build": (
                *("{rustc}", "--test", "--edition=2021", "-L", "{crates}"),
                *("--extern", "rand", "--extern", "regex", "--extern", "md5"),
                *("{main}", "-o", _PROGRAM),
            ),
            "run": (_PROGRAM, "--test-threads=1"),
            "build_limits": Limits(cpu_s=120, wall_s=300, processes=64, threads=256),
            "run_limits": Limits(cpu_s=60, wall_s=180),
            "packages": {
                "apt": "rustc cargo librust-rand-dev librust-regex-dev librust-aho-corasick-dev librust-memchr-dev "
                "librust-md5-dev",
                "python": "codeeval.languages.build_libraries('rust')",
            },
            "self_test": SelfTest(
                passing=_RUST_PACK_TEST % "3", wrong=_RUST_PACK_TEST % "4", broken=_RUST_PACK_TEST % '"text"'
            ),
        }
    },
)
