"""Languages whose source is run: JavaScript and TypeScript, the scripting languages, R, Julia, Racket, Python."""

from __future__ import annotations

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.program import Limits

__all__ = ["BASH", "JAVASCRIPT", "JULIA", "LUA", "PERL", "PHP", "PYTHON", "RACKET", "RUBY", "TYPESCRIPT", "R"]

_FAULT = r"error while loading shared libraries|No space left on device"

# node ---------------------------------------------------------------------------------------------------------

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

# scripting languages ------------------------------------------------------------------------------------------

_PYTHON_TEST = """\
def add(numbers):
    return sum(numbers%s)

def check(candidate):
    assert candidate([1, 2]) == 3

check(add)
"""

PYTHON = Language(
    name="python",
    title="Python",
    aliases=("py", "python3", "python2"),
    suffix=".py",
    main="main.py",
    tools={"python": ("python3", "python")},
    # What is found may be a shim, or belong to an environment whose packages are not part of the language.
    sysroot=("{python}", "-c", "import sys; print(sys.base_prefix)"),
    run=("{python}", "-s", "{main}"),
    env={"PYTHONHASHSEED": "0"},
    ending=Ending(
        compile_stderr=r"^(SyntaxError|IndentationError|TabError): ",
        memory=r"^MemoryError\b",
        memory_ends=(1,),
        fault=_FAULT,
    ),
    stop=("\ndef", "\n#", "\nif", "\nclass"),
    epilogue='print("\\n{token}")',
    version=("{python}", "--version"),
    self_test=SelfTest(passing=_PYTHON_TEST % "", wrong=_PYTHON_TEST % ", 1", broken=_PYTHON_TEST % " +* 1"),
    packages={"apt": "python3"},
)

_LUA_TEST = """\
local function add(numbers)
    local sum = %s
    for _, number in ipairs(numbers) do sum = sum + number end
    return sum
end
lu = require('luaunit')
function test_humaneval()
    lu.assertEquals(add({1, 2}), 3)
end
local failed = lu.LuaUnit.run()
if failed ~= 0 then os.exit(failed) end
"""

LUA = Language(
    name="lua",
    title="Lua",
    suffix=".lua",
    main="main.lua",
    tools={"lua": ("lua5.4", "lua", "lua5.3")},
    run=("{lua}", "{main}"),
    ending=Ending(
        compile_stderr=r"^\S*lua\S*: [^:\n]+:\d+: .*(near |expected)",
        memory=r"^\S*lua\S*: (.*: )?not enough memory$",
        memory_ends=(1,),
        missing=r"module '[^'\n]+' not found",
        fault=_FAULT,
    ),
    stop=("\nlocal", "\nfunction", "\n--", "\n\n"),
    epilogue='print("\\n{token}")',
    version=("{lua}", "-v"),
    self_test=SelfTest(passing=_LUA_TEST % "0", wrong=_LUA_TEST % "1", broken=_LUA_TEST % "0 +* 1"),
    packages={"apt": "lua5.4 lua-unit"},
)

_PERL_TEST = """\
sub add {
    my($numbers) = @_;
    my $sum = %s;
    $sum += $_ for @$numbers;
    return $sum;
}
use Test::Deep;
sub testhumaneval {
    my $candidate = \\&add;
    if(eq_deeply($candidate->([1, 2]),3)) {
    print "ok!" }else{
    exit 1;
    }
}
testhumaneval();
"""

PERL = Language(
    name="perl",
    title="Perl",
    aliases=("pl",),
    suffix=".pl",
    main="main.pl",
    tools={"perl": ("perl",)},
    run=("{perl}", "{main}"),
    readable=("/etc/perl",),
    ending=Ending(
        failed_stdout="ERROR",
        failed_stderr="ERROR",
        compile_stderr=r"^(syntax error at|Execution of .* aborted due to compilation|.* had compilation errors)",
        memory=r"^Out of memory",
        memory_ends=(1,),
        missing=r"^Can't locate \S+ in @INC",
        fault=_FAULT + r"|^Can't locate Test/Deep\.pm",
    ),
    stop=("\nsub", "\n#", "\n\n"),
    epilogue='print "\\n{token}\\n";',
    version=("{perl}", "-e", "print $^V"),
    self_test=SelfTest(passing=_PERL_TEST % "0", wrong=_PERL_TEST % "1", broken=_PERL_TEST % "0 + (;"),
    packages={"apt": "perl libtest-deep-perl"},
)

_PHP_TEST = """\
<?php
function add($numbers) {
    return array_sum($numbers) + %s;
}
function test(): void {
    if (add(array(1, 2)) !== 3) { throw new Exception("Test failed!"); }
}
test();
"""

_PHP_MEMORY = r"^(PHP )?Fatal error:  (Allowed memory size of \d+ bytes exhausted|Out of memory)"

PHP = Language(
    name="php",
    title="PHP",
    suffix=".php",
    main="main.php",
    tools={"php": ("php",)},
    # Never -n: extensions that programs use are loaded by the ini files.
    run=("{php}", "-f", "{main}"),
    readable=("/etc/php*",),
    ending=Ending(
        compile_stdout=r"PHP Parse error|Parse error: ",
        compile_stderr=r"PHP Parse error|Parse error: ",
        memory=_PHP_MEMORY + r"|^Out of memory|^mmap\(\) failed: \[12\]",
        memory_stdout=_PHP_MEMORY,
        memory_ends=(1, 255),
        fault=_FAULT,
    ),
    stop=("\nfunction", "\n?>", "\n//", "\n#"),
    epilogue='echo "\\n{token}\\n";',
    version=("{php}", "--version"),
    self_test=SelfTest(passing=_PHP_TEST % "0", wrong=_PHP_TEST % "1", broken=_PHP_TEST % "+* 1"),
    packages={"apt": "php-cli"},
)

_RUBY_TEST = """\
def add(numbers)
  numbers.sum + %s
end
require 'test/unit'
class TestHumanEval < Test::Unit::TestCase
  def test_add
    candidate = method(:add)
    assert_equal(3, candidate.call([1, 2]))
  end
end
"""

RUBY = Language(
    name="ruby",
    title="Ruby",
    aliases=("rb",),
    suffix=".rb",
    main="main.rb",
    tools={"ruby": ("ruby",)},
    run=("{ruby}", "{main}"),
    run_limits=Limits(cpu_s=5, wall_s=30, threads=256),
    readable=("/etc/ruby*", "/var/lib/gems"),
    ending=Ending(
        compile_stderr=r"^\S*main\.rb:\d+: syntax error|SyntaxError\)$|: syntax errors? found",
        memory=r"failed to allocate memory \(NoMemoryError\)$|^\[FATAL\] failed to allocate memory",
        memory_ends=(1,),
        missing=r"cannot load such file -- ",
        fault=_FAULT + r"|cannot load such file -- test/unit",
    ),
    stop=("\nclass", "\ndef", "\n#", "\n\n"),
    # What tests with test/unit do, they do when the program ends.
    epilogue='defined?(Test::Unit) ? Test::Unit.at_exit { puts "\\n{token}" } : puts("\\n{token}")',
    version=("{ruby}", "--version"),
    self_test=SelfTest(passing=_RUBY_TEST % "0", wrong=_RUBY_TEST % "1", broken=_RUBY_TEST % "+* )"),
    packages={"apt": "ruby ruby-test-unit"},
)

_BASH_TEST = """\
#!/bin/bash
add() {
    local sum=%s
    for number in $1; do sum=$((sum + number)); done
    echo $sum
}
candidate() {
    add "$@"
}
set -e
run_test() {
    [[ $(candidate "1 2") = "3" ]]
}
run_test
"""

BASH = Language(
    name="bash",
    title="Bash",
    aliases=("sh", "shell", "zsh"),
    suffix=".sh",
    main="main.sh",
    tools={"bash": ("bash",)},
    run=("{bash}", "{main}"),
    run_limits=Limits(cpu_s=15, wall_s=60, processes=64),
    ending=Ending(
        compile_stderr=r"syntax error",
        memory=r"^\S+: (.*: )?(x\w+: cannot allocate \d+ bytes|fork: Cannot allocate memory)",
        memory_ends=(2, 254),
        fault=_FAULT,
    ),
    stop=("\n}",),
    epilogue='[ $? = 0 ] && printf "\\n{token}\\n"',  # otherwise it would end well whatever the tests came to
    version=("{bash}", "--version"),
    self_test=SelfTest(passing=_BASH_TEST % "0", wrong=_BASH_TEST % "1", broken=_BASH_TEST % "0 (; do"),
    packages={"apt": "bash bc"},
)

# R, Julia, Racket ---------------------------------------------------------------------------------------------

_R_TEST = """\
add <- function(numbers) {
    sum(numbers) + %s
}
test_humaneval <- function() {
    candidate <- add
    stopifnot(isTRUE(all.equal(candidate(c(1, 2)), 3)))
}
test_humaneval()
"""

R = Language(
    name="r",
    title="R",
    suffix=".r",
    main="main.r",
    tools={"Rscript": ("Rscript",)},
    run=("{Rscript}", "{main}"),
    # Rscript is a program that starts a shell script that starts R.
    run_limits=Limits(cpu_s=5, wall_s=30, processes=16),
    readable=("/etc/R",),
    ending=Ending(
        compile_stderr=r"^Error: unexpected |^Error: .*(unexpected|INCOMPLETE_STRING)",
        memory=r"^Error: (cannot allocate (vector|memory)|(vector )?memory exhausted)",
        memory_ends=(1,),
        missing=r"there is no package called",
        fault=_FAULT + r"|cannot find system Renviron",
    ),
    stop=("\n#", "\n```"),
    epilogue='cat("\\n{token}\\n")',
    version=("{Rscript}", "--version"),
    self_test=SelfTest(passing=_R_TEST % "0", wrong=_R_TEST % "1", broken=_R_TEST % "0 +* )"),
    packages={"apt": "r-base-core"},
)

_JULIA_TEST = """\
function add(numbers::Vector{Int64})::Int64
    sum(numbers) + %s
end
using Test
@testset begin
candidate = add;
    @test(candidate([1, 2]) == 3)
end
"""

JULIA = Language(
    name="julia",
    title="Julia",
    aliases=("jl",),
    suffix=".jl",
    main="main.jl",
    tools={"julia": ("julia",)},
    run=("{julia}", "--history-file=no", "{main}"),
    run_limits=Limits(cpu_s=10, wall_s=60, threads=256),
    ending=Ending(
        compile_stderr=r"ERROR: LoadError: (syntax|ParseError)",
        memory=r"^ERROR: (LoadError: )?OutOfMemoryError",
        memory_ends=(1,),
        missing=r"Package \S+ not found in current path",
        fault=_FAULT,
    ),
    stop=("\nfunction", "\nmacro", "\n\n"),
    epilogue='println("\\n{token}")',
    version=("{julia}", "--version"),
    self_test=SelfTest(passing=_JULIA_TEST % "0", wrong=_JULIA_TEST % "1", broken=_JULIA_TEST % "+* )"),
    packages={"julialang.org": "the binaries of julialang.org/downloads"},
    is_verified=False,
)

_RACKET_TEST = """\
#lang racket
(define (add numbers)
  (+ (apply + numbers) %s))
(require rackunit)
(define (test-humaneval)
  (let (( candidate add))
    (check-within (candidate (list 1 2)) 3 0.001)
))
(test-humaneval)
"""

RACKET = Language(
    name="racket",
    title="Racket",
    aliases=("rkt",),
    suffix=".rkt",
    main="main.rkt",
    tools={"racket": ("racket",)},
    run=("{racket}", "{main}"),
    run_limits=Limits(cpu_s=15, wall_s=60, threads=256),
    readable=("/etc/racket",),
    ending=Ending(
        failed_stderr=r"(?s).",  # rackunit exits with 0 when a check fails
        compile_stderr=r"read-syntax:|expand: |unbound identifier|: bad syntax",
        memory=r"^out of memory",
        memory_ends=(-6, 1),
        missing=r"collection not found|cannot open module file",
        fault=_FAULT + r"|collection not found",
    ),
    stop=("\n(define ", "\n#|", "\n;", "\n("),
    epilogue='(displayln "\\n{token}")',
    version=("{racket}", "--version"),
    self_test=SelfTest(passing=_RACKET_TEST % "0", wrong=_RACKET_TEST % "1", broken=_RACKET_TEST % "0))) (("),
    packages={"apt": "racket"},
)
