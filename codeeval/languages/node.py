"""Languages that node runs: JavaScript and TypeScript."""

from __future__ import annotations

import re

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.imports import without_bound
from codeeval.languages.syntax.patterns import DOUBLE_QUOTED, SINGLE_QUOTED
from codeeval.languages.syntax.record import Answer, Blocks, Comments, Imports, Script, Syntax
from codeeval.program import Limits

__all__ = ["JAVASCRIPT", "TYPESCRIPT"]

_FAULT = r"error while loading shared libraries|No space left on device"
_NODE_MEMORY = (
    r"^RangeError: Array buffer allocation failed|^# Fatal process out of memory"
    r"|^FATAL ERROR: .*([Aa]llocation failed|out of memory)"
)
#: An exception that nobody caught; and V8 giving up, by abort or a trap, which depends on the version.
_NODE_MEMORY_ENDS = (1, -4, -5, -6)
#: A SyntaxError of the file itself, not of something that it parsed at run time.
_NODE_SYNTAX = (
    r"^SyntaxError: .*\n\s+at (wrapSafe|internalCompileFunction|compileSourceTextModule|new Script|checkSyntax)"
)
_NODE_MISSING = r"Cannot find (?:module|package) '"
_NODE_ENDING = Ending(
    compile_stderr=_NODE_SYNTAX,
    memory=_NODE_MEMORY,
    memory_ends=_NODE_MEMORY_ENDS,
    build_memory=_NODE_MEMORY,
    build_memory_ends=_NODE_MEMORY_ENDS,
    missing=_NODE_MISSING,
    fault=_FAULT + r"|node:internal/bootstrap.*\n.*Error",
)
_JAVASCRIPT_TEST = """\
function add(numbers) {
  return numbers.reduce((sum, number) => sum + number, %s);
}
const assert = require('node:assert');
function test() {
  let candidate = add;
  assert.deepEqual(candidate([1, 2]), 3);
}
test();
"""

#: `console.assert` prints what failed and goes on.
_JAVASCRIPT_PACK_TEST = """\
const add = (a, b) => {
  return a + b
}
const testAdd = () => {
  console.assert(add(1, 2) === %s)
}
testAdd()
"""
#: Neither exit code nor signs are read: whatever is printed is a failure.
_NODE_SILENT = Ending(
    exit_code=False,
    failed_stdout=r"(?s).",
    failed_stderr=r"(?s).",
    compile_stderr=_NODE_SYNTAX,
    memory=_NODE_MEMORY,
    memory_ends=_NODE_MEMORY_ENDS,
    missing=_NODE_MISSING,
    fault=_FAULT,
)


def _append_to_script(answer: Answer) -> str:
    """Take the words off that make a file a module: tests stand in the same file."""
    code = re.sub(
        r"^[ \t]*export[ \t]+(?:\{[^}]*\}|default[ \t]+\w+)[ \t]*;?[ \t]*$", "", answer.code, flags=re.MULTILINE
    )
    code = re.sub(r"^([ \t]*)export[ \t]+(?:default[ \t]+)?", r"\1", code, flags=re.MULTILINE)
    return f"{code.rstrip()}\n\n{answer.tests}"


def _imports_of_other_names(lines: list[str], mask: str) -> list[str]:
    """Leave out imports of a name that the answer declares or imports itself."""
    statement = r"^[ \t]*(?:const|let|var|import|function|class)\b[^=\n(]*(?<![\w$]){name}(?![\w$])"
    return without_bound(lines, mask, _names_bound, statement)


def _names_bound(line: str) -> list[str]:
    bound = re.split(r"=[ \t]*require\b|\bfrom\b|['\"]", line)[0]
    return [name for name in re.findall(r"[\w$]+", bound) if name not in ("const", "let", "var", "import", "as")]


#: TypeScript's, too.
_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),)),
    strings=(r"`(?:\\.|[^`\\])*(?:`|\Z)", DOUBLE_QUOTED, SINGLE_QUOTED),
    definition=r"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:async[ \t]+)?"
    r"(?:function\b[ \t]*\*?[ \t]*{name}\b|(?:(?:const|let|var)[ \t]+)?{name}[ \t]*(?::[^=\n]+)?=(?![=>]))",
    blocks=Blocks(),
    imports=Imports(
        line=r"(?:const|let|var)[ \t]+[\w${},: \t]+=[ \t]*require\([^\n]*\)[\w.]*;?"
        r"|import[ \t]+(?:[^;\n]*[ \t]from[ \t]+)?['\"][^'\"\n]+['\"];?",
        choose=_imports_of_other_names,
    ),
    script=Script(
        definition=r"^(?:export +)?(?:default +)?(?:(?:async +)?function|class|interface|type|enum)\b"
        r"|^(?:export +)?(?:const|let|var) +\w+[^=\n]*= *(?:async *)?(?:function\b|\(|\w+ *=>)",
        needed=r"import\b|(?:export +)?(?:const|let|var) +(\w+)\b[^=\n]*=(?!=)|(\w+)(?:\.\w+)* *=(?!=)",
    ),
    place=_append_to_script,
)

JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    aliases=("js", "node", "jsx", "ecmascript"),
    suffix=".js",
    main="main.js",
    tools={"node": ("node", "nodejs")},
    run=("{node}", "{main}"),
    run_limits=Limits(cpu_s=5, wall_s=30, threads=256),
    ending=_NODE_ENDING,
    syntax=_SYNTAX,
    stop=("\nfunction ", "\n/*", "\n//", "\nconsole.log"),
    epilogue='console.log("\\n{token}");',
    version=("{node}", "--version"),
    self_test=SelfTest(
        passing=_JAVASCRIPT_TEST % "0", wrong=_JAVASCRIPT_TEST % "1", broken=_JAVASCRIPT_TEST % "0 +* 1"
    ),
    packages={"apt": "nodejs"},
    protocols={
        "qwen": {"ending": _NODE_SILENT, "epilogue": ""},
        "humanevalpack": {
            "ending": _NODE_SILENT,
            "epilogue": "",
            "run_limits": Limits(cpu_s=10, wall_s=60, threads=256),
            "files": {"js-md5": ("/usr/lib/node_modules/js-md5", "/usr/local/lib/node_modules/js-md5")},
            "env": {"NODE_PATH": "{js-md5}/.."},
            "packages": {"apt": "nodejs", "npm": "js-md5 (npm install -g)"},
            "self_test": SelfTest(
                passing="require('js-md5');\n" + _JAVASCRIPT_PACK_TEST % "3",
                wrong=_JAVASCRIPT_PACK_TEST % "4",
                broken=_JAVASCRIPT_PACK_TEST % "3 +* 1",
            ),
        },
    },
)

_TYPESCRIPT_TEST = """\
function add(numbers: number[]): number {
  return %s;
}
declare var require: any;
const assert = require('node:assert');
function test() {
  let candidate = add;
  assert.deepEqual(candidate([1, 2]), 3);
}
test();
"""
_TSC = ("{tsc}", "--outDir", "{out}")

TYPESCRIPT = Language(
    name="typescript",
    title="TypeScript",
    aliases=("ts", "tsx"),
    suffix=".ts",
    main="main.ts",
    tools={"node": ("node", "nodejs"), "tsc": ("tsc",)},
    build=(*_TSC, "--target", "esnext", "{main}"),
    run=("{node}", "{out}/{stem}.js"),
    build_limits=Limits(cpu_s=30, wall_s=120, processes=8, threads=256),
    run_limits=Limits(cpu_s=15, wall_s=60, threads=256),
    ending=_NODE_ENDING,
    syntax=_SYNTAX,
    stop=("\nfunction ", "\n/*", "\n//", "\nclass"),
    epilogue='console.log("\\n{token}");',
    warm="typescript",
    alone="const nothing = 0;\n",
    version=("{tsc}", "--version"),
    self_test=SelfTest(
        passing=_TYPESCRIPT_TEST % "numbers.reduce((sum, number) => sum + number, 0)",
        wrong=_TYPESCRIPT_TEST % "numbers.reduce((sum, number) => sum + number, 1)",
        broken=_TYPESCRIPT_TEST % '"text"',
    ),
    packages={"apt": "nodejs", "npm": "typescript@5.4.5"},
    # Its judge takes a program that passes with either set of options.
    protocols={
        "qwen": {
            "build": (*_TSC, "--target", "ES2015", "--lib", "ES2015,DOM", "{main}"),
            "second_build": (*_TSC, "{main}"),
        }
    },
)
