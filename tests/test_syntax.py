"""A whole answer beside its tests, in every language that needs more than one text after the other."""

from __future__ import annotations

import functools

import pytest

from codeeval.languages import get
from codeeval.languages.syntax import (
    Syntax,
    beside,
    defines,
    depth,
    function_end,
    masked,
    signature_name,
    without_examples,
)


def syntax(language: str) -> Syntax:
    found = get(language).syntax
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("cpp", "int f() { char c = '}'; /* } */ return \"}\"[0]; } // }\n"),
        ("cpp", 'auto s = R"x(}"})x"; void f() {}\n'),
        ("csharp", 'class A { string s = @"C:\\}"; char c = \'{\'; string t = "\\"}"; }'),
        ("d", "void f() { auto s = `}`; /+ } +/ auto c = '}'; }"),
        ("go", "func f() { s := `}\n}`; r := '}'; _ = \"}\" }"),
        ("java", 'class A { String s = """\n  } "quoted" }\n  """; char c = \'}\'; }'),
        ("javascript", "function f() { return `}${'}'}` + '}' }"),
        ("php", 'function f() { # }\n return \'}\' . "\\"}"; }'),
        ("rust", "fn f<'a>(s: &'a str) { /* } /* } */ } */ let c = '}'; let r = r#\"}\"}\"#; }"),
        ("scala", 'object A { val s = \'symbol; val t = """}""" }'),
        ("swift", 'func f() { let s = "}"; let t = """\n}\n""" }'),
        ("bash", "f() { local n=${#1}; [ $# -gt 0 ] && echo '}' # }\n}"),
        ("julia", 'f() = begin {} end #= } #= } =# =#\n"""says "}\\""""\n'),
        ("lua", "function f() return {} end --[[ } ]] -- }"),
        ("perl", "sub f { my $last = $#_; return '}' } # }"),
        ("r", "f <- function(s) { # }\n '}' }"),
        ("racket", '(define (f) "}") ; }\n#| } #| |# } |# #\\}'),
        ("ruby", "def f; x = { a: '}' } # }\nend"),
    ],
)
def test_braces_in_strings_and_comments_are_masked(language: str, source: str) -> None:
    mask = masked(source, syntax(language))

    assert depth(mask) == 0
    assert len(mask) == len(source)
    assert [i for i, c in enumerate(mask) if c == "\n"] == [i for i, c in enumerate(source) if c == "\n"]


def test_masking_takes_time_in_proportion_to_the_text() -> None:
    hostile = [
        "/*" * 20_000,
        '"' * 20_001,
        "'" * 20_001,
        'R"(' * 12_000,
        'r#"' * 12_000,
        "`" * 20_001,
        "(*" * 20_000,
    ]

    masks = [
        masked(text, syntax(language)) for text in hostile for language in ("cpp", "rust", "scala", "julia", "bash")
    ]

    assert all(len(mask) >= 20_000 for mask in masks)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("bash", "add() {\n}"),
        ("bash", "function add {\n}"),
        ("cpp", "std::vector<int> add(int a, int b) {"),
        ("cpp", "template <class T>\nT add(T a, T b) {"),
        ("csharp", "    public static List<string> Add(string a) {"),
        ("d", "int[] add(int[] a)\n{"),
        ("go", "func add(a int, b int) int {"),
        ("java", "    public static ArrayList<Map<String, Long>> add(long a) {"),
        ("javascript", "const add = (a, b) => a + b;"),
        ("javascript", "export async function add(a, b) {"),
        ("typescript", "const add: Adder = (a: number) => a;"),
        ("julia", "add(a, b) = a + b"),
        ("lua", "local function add(a, b)"),
        ("perl", "sub add {"),
        ("php", "function add($a, $b) {"),
        ("r", "add <- function(a, b) {"),
        ("racket", "(define (add a b)"),
        ("racket", "(define add (lambda (a b) (+ a b)))"),
        ("ruby", "def add(a, b)"),
        ("rust", "pub fn add(a: i64) -> i64 {"),
        ("scala", "    def add(a: Int): Int = a"),
        ("swift", "func add(a: Int) -> Int {"),
    ],
)
def test_definition_is_found(language: str, code: str) -> None:
    name = "Add" if language == "csharp" else "add"

    assert defines(f"\n{code}\n", name, syntax(language))
    assert not defines(f"\n{code}\n", name + "er", syntax(language))


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("cpp", "// int add(int a)\nint main() { return add(1); }"),
        ("java", "    int x = Other.add(1);\n    return add(2);"),
        ("javascript", "console.log(add(1, 2)); add == 3"),
        ("bash", 'result=$(add "1")'),
        ("go", "/*\nfunc add(a int) int {\n*/"),
    ],
)
def test_call_or_comment_is_no_definition(language: str, code: str) -> None:
    assert not defines(code, "add", syntax(language))


@pytest.mark.parametrize(
    ("prompt", "name", "expected"),
    [
        (
            "class Problem {\n    public static long hasCloseElements(float x) {\n",
            "has_close_elements",
            "hasCloseElements",
        ),
        ("(define (add x y)\n", "add", "add"),
        ("// string_length\nlong string_length(std::string string) {\n", "strlen", "string_length"),
        ("encrypt <- function(s) {", "encrypt", "encrypt"),
    ],
)
def test_name_is_taken_from_the_head_of_the_prompt(prompt: str, name: str, expected: str) -> None:
    assert signature_name(prompt, name) == expected


CPP_PROMPT = "#include<bits/stdc++.h>\n// Adds.\nlong add(long a, long b) {\n"
CPP_TESTS = "}\nint main() {\n    assert(add(1, 2) == 3);\n}\n"


def test_cpp_main_of_the_answer_goes_and_the_includes_come() -> None:
    code = "long add(long a, long b) {\n    return a + b;\n}\n\nint main() {\n    if (true) {}\n    return 0;\n}\n"

    program = beside(code, CPP_TESTS, prompt=CPP_PROMPT, entry_point="add", syntax=syntax("cpp"))

    assert program == (
        "#include<bits/stdc++.h>\nlong add(long a, long b) {\n    return a + b;\n}\n\n"
        "int main() {\n    assert(add(1, 2) == 3);\n}\n"
    )


def test_cpp_union_of_the_prompt_is_added_unless_the_answer_declares_it() -> None:
    union = "union Value {\n    long f0;\n    bool operator==(long f) {\n        return f0 == f;\n    }\n};\n"
    prompt = f"#include<assert.h>\n{union}// Adds.\nlong add(long a) {{\n"
    answer = "#include <assert.h>\nlong add(long a) { return a; }"
    added = functools.partial(beside, tests=CPP_TESTS, prompt=prompt, entry_point="add", syntax=syntax("cpp"))

    lacking = added(answer)
    own = added("union Value { long f0; };\n" + answer)

    assert lacking.count("union Value") == 1
    assert lacking.count("assert.h") == 1
    assert own.count("union Value") == 1


JAVA_PROMPT = (
    "import java.util.*;\nimport org.javatuples.*;\nclass Problem {\n"
    "    // Adds {.\n    public static long add(long a, long b) {\n"
)
JAVA_TESTS = "    }\n    public static void main(String[] args) {\n    assert(add(1l, 2l) == (3l));\n    }\n\n}\n"


def test_java_tests_go_into_the_class_under_the_name_of_the_prompt() -> None:
    code = (
        "import java.util.*;\n\npublic class Solution {\n    Solution() {}\n"
        "    public static long add(long a, long b) {\n        return a + b; // Solution\n    }\n"
        '    public static void main(String[] args) {\n        System.out.println("Solution");\n    }\n}\n'
        "class Other {}\n"
    )

    program = beside(code, JAVA_TESTS, prompt=JAVA_PROMPT, entry_point="add", syntax=syntax("java"))

    assert program.startswith("import org.javatuples.*;\nimport java.util.*;\n\nclass Problem {\n    Problem() {}\n")
    assert program.count("void main(") == 1
    assert "println" not in program
    assert "return a + b; // Solution" in program
    assert program.index("assert(add(") < program.index("class Other")
    assert depth(masked(program, syntax("java"))) == 0


def test_java_method_without_a_class_gets_the_one_of_the_prompt() -> None:
    code = "import java.math.*;\npublic static long add(long a, long b) {\n    return a + b;\n}\n"

    program = beside(code, JAVA_TESTS, prompt=JAVA_PROMPT, entry_point="add", syntax=syntax("java"))

    assert program.startswith(
        "import java.math.*;\nimport java.util.*;\nimport org.javatuples.*;\nclass Problem {\npublic static long add("
    )
    assert depth(masked(program, syntax("java"))) == 0


def test_java_tests_with_a_class_of_their_own_come_after_the_answer() -> None:
    tests = "public class Main {\n    public static void main(String[] args) {}\n}\n"
    code = "public class Answer {\n    public int add(int a) { return a; }\n}\npublic class Main { }\n"
    prompt = "import java.util.*;\nclass Solution {\n    public int add(int a) {\n"

    program = beside(code, tests, prompt=prompt, entry_point="add", syntax=syntax("java"))

    assert program.startswith("import java.util.*;\nclass Solution {\n")
    assert program.endswith(tests)
    assert program.count("public class") == 1


def test_csharp_class_in_a_namespace_takes_the_tests() -> None:
    prompt = "using System;\nusing System.Linq;\nclass Problem {\n    public static int Add(int a) {\n"
    tests = "    }\n    public static void Main(string[] args) {\n    Debug.Assert(Add(1) == 1);\n    }\n\n}\n"
    code = (
        "using System;\nnamespace Answer\n{\n    public static class Solution\n    {\n"
        "        public static int Add(int a) => a;\n        static void Main() { Console.WriteLine(1); }\n    }\n}\n"
    )

    program = beside(code, tests, prompt=prompt, entry_point="Add", syntax=syntax("csharp"))

    assert program.startswith("using System.Linq;\nusing System;\nnamespace Answer")
    assert "static class Problem" in program
    assert program.count("Main(") == 1
    assert depth(masked(program, syntax("csharp"))) == 0


def test_go_answer_keeps_the_imports_that_are_used_and_loses_its_main() -> None:
    prompt = 'package add_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// Adds.\nfunc add(a int) int {\n'
    tests = 'func TestAdd(t *testing.T) {\n  t.Errorf("%s", fmt.Sprint(add(1)))\n}\n'
    code = (
        'package main\n\nimport (\n\t"fmt"\n\tm "math"\n\t"os"\n\t"sort"\n)\n\n'
        "func add(a int) int {\n\treturn m.Abs(a)\n}\n"
        "\nfunc TestAdd(t *testing.T) {\n}\n\nfunc main() {\n\tfmt.Println(os.Args)\n}\n"
    )

    program = beside(code, tests, prompt=prompt, entry_point="add", syntax=syntax("go"))

    assert program.startswith(
        'package add_test\n\nimport (\n\t"testing"\n\t"fmt"\n\tm "math"\n\t"sort"\n)\n\nfunc add('
    )
    assert "func main" not in program  # and with it os, which only main used; sort nobody ever used: its author's fault
    assert program.count("func TestAdd") == 1


def test_rust_answer_loses_main_and_its_test_module() -> None:
    function = "fn add(a: i64) -> i64 {\n    a\n}\n\n"
    code = f"{function}fn main() {{\n    add(1);\n}}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn t() {{}}\n}}\n"
    tests = "fn main() {\n    assert_eq!(add(1), 1);\n}\n"

    program = beside(
        code, "}\n\n" + tests, prompt="fn add(a: i64) -> i64 {\n", entry_point="add", syntax=syntax("rust")
    )

    assert program == function + tests


def test_rust_names_are_not_used_twice() -> None:
    prompt = (
        "use std::{cmp::{max, self}, collections::{HashSet, HashMap}};\nuse rand::Rng;\n\nfn add(a: i64) -> i64 {\n"
    )
    code = "use std::collections::HashMap;\nuse std::cmp;\n\nfn add(a: i64) -> i64 {\n    a\n}\n"

    program = beside(code, "tests", prompt=prompt, entry_point="add", syntax=syntax("rust"))

    assert program.startswith(
        "use std::cmp::max;\nuse std::collections::HashSet;\nuse rand::Rng;\nuse std::collections::"
    )


def test_scala_main_of_one_line_goes() -> None:
    prompt = "import scala.math._\nobject Problem {\n    def add(a : Long) : Long = {\n"
    tests = "    }\n    def main(args: Array[String]) = {\n    assert(add(1l) == (1l));\n    }\n\n}\n"
    code = (
        "object Solution {\n  def add(a: Long): Long = a\n  def main(args: Array[String]): Unit = println(add(1))\n}\n"
    )

    program = beside(code, tests, prompt=prompt, entry_point="add", syntax=syntax("scala"))

    assert program.startswith("import scala.math._\nobject Problem {\n  def add(a: Long): Long = a\n")
    assert "println" not in program


def test_scala_object_that_is_an_app_takes_the_tests_main() -> None:
    code = "object Main extends App {\n  def add(a: Long): Long = a\n  println(add(1))\n}\n"
    prompt = "object Problem {\n  def add(a: Long): Long = {\n"

    program = beside(
        code, "  }\n  def main(a: Array[String]) = { }\n}\n", prompt=prompt, entry_point="add", syntax=syntax("scala")
    )

    assert program.startswith("object Problem {\n  def add(a: Long): Long = a\n")
    assert "def main" in program


def test_page_break_in_a_comment_of_the_prompt_changes_nothing() -> None:
    prompt = CPP_PROMPT.replace("Adds.", "Adds\f two\u2028 numbers.\r")
    code = "long add(long a, long b) {\n    return a + b;\n}\n"

    program = beside(code, CPP_TESTS, prompt=prompt, entry_point="add", syntax=syntax("cpp"))

    assert program == beside(code, CPP_TESTS, prompt=CPP_PROMPT, entry_point="add", syntax=syntax("cpp"))


PHP = "<?php\nfunction add($a) {"
D = "int add(int a) { return a; }"
SWIFT = "func add(a: Int) -> Int { a }"
MATH = "import std.math;\n"
ERROR = "extension Int: Error {}"
LUA = "function add(a) return a end"
RACKET = "#lang racket\n(define (add a)\n"


@pytest.mark.parametrize(
    ("language", "prompt", "code", "expected"),
    [
        ("php", f"{PHP}\n", f"{PHP} }}\n", f"{PHP} }}\n?><?php\ntests"),
        ("php", f"{PHP}\n", f"{PHP} }}\n?>\n", f"{PHP} }}\n?><?php\ntests"),
        ("php", f"{PHP}\n", f"{PHP} }}\n?>\n<p>", f"{PHP} }}\n?>\n<p>\n?><?php\ntests"),
        ("php", f"{PHP}\n", f"{PHP[6:]} }}", f"{PHP} }}\n?><?php\ntests"),
        ("php", f"{PHP}\n", f"{PHP} }}\n__halt_compiler();\nx", f"{PHP} }}\n?><?php\ntests"),
        ("perl", "sub add {\n", "sub add { 1 }\n__END__\nx", "sub add { 1 }\n\ntests"),
        ("ruby", "def add(a)\n", "def add(a)\n  a\nend\n__END__\nx", "def add(a)\n  a\nend\n\ntests"),
        ("racket", RACKET, "(define (add a) a)", "#lang racket\n\n(define (add a) a)\n\ntests"),
        ("racket", RACKET, "#lang sicp\n(define (add a) a)", "#lang sicp\n(define (add a) a)\n\ntests"),
        ("javascript", "", "export default function add(a) { }\nexport { add };\n", "function add(a) { }\n\ntests"),
        ("d", f"{MATH}/* Adds. */\nint add(int a) \n", D + "\nvoid main() { }", f"{MATH}{D}\n\ntests"),
        ("swift", f"\n{ERROR}\n\n/// Adds.\n{SWIFT[:-4]}\n", SWIFT, f"{ERROR}\n{SWIFT}\n\ntests"),
        ("lua", "local function add(a)\n", f"local {LUA}\n", f"local {LUA}\n\ntests"),
    ],
)  # fmt: skip
def test_tests_follow_a_whole_answer(language: str, prompt: str, code: str, expected: str) -> None:
    assert beside(code, "tests", prompt=prompt, entry_point="add", syntax=syntax(language)) == expected


@pytest.mark.parametrize("language", ["bash", "cpp", "rust", "swift"])
def test_brace_that_would_close_the_prompt_is_left_out(language: str) -> None:
    program = beside(
        "add() {\n  x\n}\n", "}\n\ncheck\n", prompt="add() {\n", entry_point="add", syntax=syntax(language)
    )

    assert program == "add() {\n  x\n}\n\ncheck\n"


@pytest.mark.parametrize(
    ("language", "function", "example"),
    [
        ("lua", "local function add(a)\n  return a\nend\n", "-- Example:\nfor _, x in ipairs(add(1)) do\nend\n"),
        ("ruby", "def add(a)\n  a\nend\n", "puts add(1).inspect # 1\n"),
        ("javascript", "const add = (a) => {\n  return a;\n}\n", "console.log(add(1));\n"),
        ("typescript", "function add(a: number): number {\n  return a;\n}\n", "const x = add(1);\nlog(x);\n"),
        ("typescript", "function add(a: { [k: string]: T }): T {\n  return a.x;\n}\n", "log(add({ x: 1 }));\n"),
        ("perl", "sub add {\n    return 1;\n}\n", "print add(1);\n"),
        ("r", "add <- function(a) {\n  a\n}\n", "print(add(1))\n"),
        ("php", "<?php\nfunction add($a) {\n    return $a;\n}\n", "echo add(1);\n?>\n"),
        ("bash", "add() {\n    echo $1\n}\n", 'result=$(add 1)\necho "$(add 2)"\n'),
        ("julia", "function add(a)\n    a\nend\n", "println(add(1))\n"),
        ("swift", "func add(a: Int) -> Int {\n    a\n}\n", "print(add(a: 1))\n"),
    ],
)  # fmt: skip
def test_examples_after_the_functions_are_taken_off(language: str, function: str, example: str) -> None:
    assert without_examples(f"{function}\n{example}", "add", syntax(language)) == function
    assert without_examples(function, "add", syntax(language)) == function


@pytest.mark.parametrize(
    ("language", "function", "needed", "example"),
    [
        ("ruby", "def add(a)\n  a + ZERO\nend\n", "require 'set'\nZERO = 0\n", "x = gets.chomp\nputs add(x)\n"),
        ("ruby", "def add(a)\n  a\nend\n", "", "[1, 2].each do |x|\n  puts add(x)\nend\nOTHER = gets.to_i\n"),
        (
            "javascript",
            "function add(a) {\n  return a + table[0];\n}\n",
            "const table = [\n  0,\n];\n",
            "const a = prompt();\nconst numbers = [1];\nconsole.log(\n  add(numbers[0]),\n);\nmodule.exports = add;\n",
        ),
        ("r", "add <- function(a) {\n  a + zero\n}\n", "library(stats)\nzero <- 0\n", "x <- add(1)\nprint(x)\n"),
        ("lua", "local function add(x, y) return x + y + ZERO end\n", "ZERO = 0\n", "print(add(1, 2))\nreturn add\n"),
        ("perl", "sub add {\n    return $zero + 1;\n}\n", "our $zero = 0;\n", "print add(1);\n"),
        ("php", "<?php\nfunction add($a) {\n    return $a + ZERO;\n}\n", "const ZERO = 0;\n", "echo add(1);\n"),
    ],
)
def test_what_the_functions_need_stays_among_the_examples(
    language: str, function: str, needed: str, example: str
) -> None:
    assert without_examples(f"{function}\n{needed}{example}", "add", syntax(language)) == function + needed


@pytest.mark.parametrize(
    ("language", "function"), [("javascript", "function add(a) {\n}\n"), ("ruby", "def add(a)\nend\n")]
)
def test_examples_that_are_all_indented_are_taken_off(language: str, function: str) -> None:
    assert without_examples(f"{function}\n  puts(add(1))\n", "add", syntax(language)) == function


@pytest.mark.parametrize("call", ["Problem.main(Array())", "println(Problem.add(1))"])
def test_what_no_scala_program_may_do_outside_of_objects_is_taken_off(call: str) -> None:
    code = "object Problem {\n  def add(a: Int) = a\n}\n"

    assert without_examples(f"{code}\n// see\n{call}\n", "add", syntax("scala")) == code


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "function add(a) {\n  return a + offset;\n}\nconst offset = 1;\n"),
        ("lua", "local function add(a)\n  return helper(a)\nend\nfunction helper(a)\n  return a\nend\n"),
        ("ruby", "def add(a)\n  a\nend\n# add(1) is 1\n"),
        ("cpp", "int add(int a) {\n  return a;\n}\nint one = add(1);\n"),
        ("r", "add <- function(a) a\nprint(add(1))\n"),
        ("scala", "object Problem {\n  def add(a: Int) = a\n}\nobject Other {\n  val one = Problem.add(1)\n}\n"),
    ],
)
def test_what_may_be_needed_stays(language: str, code: str) -> None:
    assert without_examples(code, "add", syntax(language)) == code


@pytest.mark.parametrize(
    ("language", "prompt", "body"),
    [
        ("lua", "local function f(x)\n", "\n    -- a\n\n    if x then\n        while x do x = nil end\n    end\nend"),
        ("lua", "local function f(x)\n", "    repeat x = 1 until x\n\n    return function() return 1 end end"),
        (
            "julia",
            "function f(x)\n",
            "    y = [i for i in x if i]\n\n    for i in y\n        y[end] = 1\n    end\nend",
        ),
        ("ruby", "def f(x)\n", "  return 1 if x\n\n  x.each do |y|\n    y\n  end\nend"),
        ("racket", "(define (f x)\n", "  (let ([y x])\n\n    y))"),
        ("d", "int f(int x)\n", "{\n    int y = 1;\n\n    if (x) { y = 2; }\n    return y;\n}"),
        ("go", "func f() {\n", "    type t struct {\n        a int\n    }\n// }\n}"),
        ("perl", "sub f {\n", "    my %h = (a => {});\n\n    return $#_;\n}"),
        ("java", "class P {\n    static int f() {\n", "        if (true) {\n    }\n        return 1;\n    }"),
    ],
)
def test_a_function_ends_where_what_its_prompt_opened_is_closed(language: str, prompt: str, body: str) -> None:
    assert function_end(f"{body}\n\nfunction g() {{ end }}\nend\n", prompt, syntax(language)) == len(body)
    assert function_end(body[:-3], prompt, syntax(language)) is None
