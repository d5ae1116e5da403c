"""Languages whose source is run: the scripting languages, R, Julia, Racket, Python; `node` has JavaScript."""

from __future__ import annotations

import re

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.patterns import (
    CHARACTER,
    DOUBLE_QUOTED,
    DOUBLE_QUOTED_LINES,
    RAW_SINGLE_QUOTED_LINES,
    SINGLE_QUOTED,
    SINGLE_QUOTED_LINES,
    TRIPLE_DOUBLE_QUOTED,
)
from codeeval.languages.syntax.record import Answer, Blocks, Comments, Imports, Script, Sealing, Syntax
from codeeval.program import Limits

__all__ = ["BASH", "JULIA", "LUA", "PERL", "PHP", "PYTHON", "RACKET", "RUBY", "R"]

_FAULT = r"error while loading shared libraries|No space left on device"

_HASH = Comments(line=("#",))

# scripting languages ------------------------------------------------------------------------------------------

_PYTHON_TEST = """\
def add(numbers):
    return sum(numbers%s)

def check(candidate):
    assert candidate([1, 2]) == 3

check(add)
"""

_PYTHON_SYNTAX = Syntax(
    comments=_HASH,
    strings=(
        r'"""(?:\\.|[^\\])*?(?:"""|\Z)',
        r"'{3}(?:\\.|[^\\])*?(?:'{3}|\Z)",
        DOUBLE_QUOTED,
        SINGLE_QUOTED,
    ),
    definition=r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*=(?!=)",
)

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
    syntax=_PYTHON_SYNTAX,
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

_LUA_SYNTAX = Syntax(
    comments=Comments(line=("--",), block=(("--[[", "]]"),)),
    strings=(DOUBLE_QUOTED, SINGLE_QUOTED),
    definition=r"^[ \t]*(?:(?:local[ \t]+)?function[ \t]+{name}\b|(?:local[ \t]+)?{name}[ \t]*=(?!=))",
    blocks=Blocks(opening=r"\b(?:function|if|do|repeat)\b", closing=r"\b(?:end|until)\b"),
    imports=Imports(line=r"(?:(?:local[ \t]+)?\w+[ \t]*=[ \t]*)?require[ \t]*\(?[ \t]*['\"][^'\"\n]+['\"][ \t]*\)?"),
    script=Script(
        definition=r"^(?:local +)?(?:function\b|[\w.]+ *= *function\b)", end="end", needed=r"(\w+)(?:\.\w+)* *=(?!=)"
    ),
    sealing=Sealing(statement=r'print("\n{token}")', closing=r"\bend\s+os\.exit\(lu\.LuaUnit\.run\(\)\)"),
)

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
    syntax=_LUA_SYNTAX,
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

_PERL_SYNTAX = Syntax(
    comments=_HASH,
    strings=(r"\$#", DOUBLE_QUOTED_LINES, RAW_SINGLE_QUOTED_LINES),
    definition=r"^[ \t]*sub[ \t]+{name}\b",
    blocks=Blocks(),
    imports=Imports(line=r"use[ \t]+[A-Za-z_][\w:]*[^;\n]*;"),
    script=Script(definition=r"^sub\b", needed=r"use\b|our *\(?[$@%](\w+)[^=\n]*=(?![=~])"),
    data=r"^__(?:END|DATA)__\b",
)

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
    syntax=_PERL_SYNTAX,
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


def _append_to_php(answer: Answer) -> str:
    code = re.sub(r"\?>\s*\Z", "", re.sub(r"\A\s*<\?(?:php\b)?", "", answer.code))
    # The answer may end in its program or in the page around it, where tests would only be shown.
    return f"<?php\n{code.strip()}\n?><?php\n{answer.tests}"


_PHP_SYNTAX = Syntax(
    comments=Comments(line=("//", "#"), block=(("/*", "*/"),)),
    strings=(DOUBLE_QUOTED_LINES, SINGLE_QUOTED_LINES),
    definition=r"^[ \t]*function[ \t]+&?{name}\b",
    blocks=Blocks(),
    script=Script(definition=r"^(?:function|class|interface|trait|abstract|final)\b", needed=r"use\b|const +(\w+) *="),
    data=r"\b__halt_compiler\s*\(",
    place=_append_to_php,
)

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
    syntax=_PHP_SYNTAX,
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

_RUBY_SYNTAX = Syntax(
    comments=_HASH,
    strings=(DOUBLE_QUOTED_LINES, SINGLE_QUOTED_LINES),
    definition=r"^[ \t]*def[ \t]+(?:self\.)?{name}\b|^[ \t]*define_method[( ]:?{name}\b",
    # An `if` or `while` may or may not open a block.
    blocks=Blocks(opening="", closing=r"^end\b"),
    imports=Imports(line=r"require(?:_relative)?[ \t]*\(?['\"][^'\"\n]+['\"]\)?"),
    script=Script(
        definition=r"^(?:def|class|module)\b",
        end="end",
        needed=r"require\w*\b|include\b|([A-Z]\w*|\$\w+) *=(?![=~])",
    ),
    data=r"^__END__$",
    sealing=Sealing(statement=r'puts "\n{token}"', closing=r"\bend\s+end"),
)

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
    syntax=_RUBY_SYNTAX,
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

_BASH_SYNTAX = Syntax(
    comments=Comments(line=("#",), after_blank=True),
    strings=(r"\$#", r"\\.", DOUBLE_QUOTED_LINES, RAW_SINGLE_QUOTED_LINES),
    definition=r"^[ \t]*(?:function[ \t]+{name}\b|{name}[ \t]*\([ \t]*\))",
    blocks=Blocks(),
    script=Script(definition=r"^(?:function +)?\w+ *\( *\)"),
)

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
    syntax=_BASH_SYNTAX,
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

_R_SYNTAX = Syntax(
    comments=_HASH,
    strings=(DOUBLE_QUOTED_LINES, SINGLE_QUOTED_LINES),
    definition=r"^[ \t]*`?{name}`?[ \t]*(?:<-|=(?!=))[ \t]*(?:function\b|\\\()",
    blocks=Blocks(),
    imports=Imports(line=r"(?:library|require)\([\w.'\"]+\)"),
    script=Script(
        definition=r"^`?[\w.]+`? *(?:<-|=) *function\b", needed=r"(?:library|require) *\(|([\w.]+) *(?:<-|=(?!=))"
    ),
)

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
    syntax=_R_SYNTAX,
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

_JULIA_SYNTAX = Syntax(
    comments=Comments(line=("#",), block=(("#=", "=#"),), nested=True),
    strings=(TRIPLE_DOUBLE_QUOTED, DOUBLE_QUOTED_LINES, CHARACTER),
    definition=r"^[ \t]*(?:function[ \t]+{name}\b|{name}[ \t]*\([^\n]*\)[^\n=]*=(?!=)"
    r"|(?:const[ \t]+)?{name}[ \t]*=(?!=))",
    blocks=Blocks(
        opening=r"\b(?:function|if|for|while|begin|try|let|do|quote|struct|macro|module)\b",
        closing=r"\bend\b",
        not_in_brackets=True,
    ),
    imports=Imports(line=r"(?:using|import)[ \t]+[\w.]+(?:[:,][\w.!:, \t]+)?"),
    script=Script(definition=r"^(?:function|struct|mutable|macro|module)\b", end="end"),
)

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
    syntax=_JULIA_SYNTAX,
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


def _append_to_racket(answer: Answer) -> str:
    head = "" if "#lang" in answer.code else "#lang racket\n\n"
    return f"{head}{answer.code.strip()}\n\n{answer.tests}"


_RACKET_SYNTAX = Syntax(
    comments=Comments(line=(";",), block=(("#|", "|#"),), nested=True),
    strings=(r"#\\.", DOUBLE_QUOTED_LINES),
    definition=r"^[ \t]*\((?:define(?:/contract)?)[ \t]+\(*{name}[\s)]",
    blocks=Blocks(opening=r"\(", closing=r"\)"),
    imports=Imports(line=r"\(require[ \t][^\n]*\)", opening="#lang racket\n"),
    place=_append_to_racket,
)

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
    syntax=_RACKET_SYNTAX,
    stop=("\n(define ", "\n#|", "\n;", "\n("),
    epilogue='(displayln "\\n{token}")',
    version=("{racket}", "--version"),
    self_test=SelfTest(passing=_RACKET_TEST % "0", wrong=_RACKET_TEST % "1", broken=_RACKET_TEST % "0))) (("),
    packages={"apt": "racket"},
)
