"""Languages that compile for a virtual machine: Java, Scala, C#."""

from __future__ import annotations

import re

from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax.classes import IntoClass
from codeeval.languages.syntax.imports import without_bound
from codeeval.languages.syntax.patterns import CHARACTER, DOUBLE_QUOTED, TRIPLE_DOUBLE_QUOTED, TYPED, TYPED_FUNCTION
from codeeval.languages.syntax.record import Blocks, Comments, Imports, MainType, Script, Sealing, Syntax
from codeeval.program import Limits

__all__ = ["CSHARP", "JAVA", "SCALA"]

#: What closes a test that is a method of a class.
_METHOD_OF_CLASS = r"\}\s*\}"

#: Debian splits a JDK between /usr and /etc.
_JAVA_READABLE = ("/etc/java*", "/etc/ssl/certs/java", "/etc/.java")
_JAVA_MEMORY = r"^(Exception in thread \"[^\"]*\" |Caused by: )?java\.lang\.OutOfMemoryError"
_JAVA_FAULT = (
    r"Error occurred during initialization of VM|Could not create the Java Virtual Machine"
    r"|insufficient memory for the Java Runtime|Could not find or load main class com\.sun\.tools"
    r"|error while loading shared libraries|No space left on device"
)

_JAVA_TEST = """\
import java.util.*;
class Problem {
    public static long add(ArrayList<Long> numbers) {
        long sum = 0;
        for (long number : numbers) sum += number;
        return %s;
    }
    public static void main(String[] args) {
        assert(add(new ArrayList<Long>(Arrays.asList(1l, 2l))) == (3l));
    }
}
"""

_JAVA_PACK_TEST = """\
import java.util.*;
class Solution {
    public int add(int a, int b) {
        return a + b;
    }
}
public class Main {
    public static void main(String[] args) {
        Solution s = new Solution();
        List<Boolean> correct = Arrays.asList(s.add(1, 2) == %s);
        if (correct.contains(false)) {
            throw new AssertionError();
        }
    }
}
"""


def _java_imports_of_other_names(lines: list[str], mask: str) -> list[str]:
    """Leave out imports of a name that the answer imports from elsewhere."""
    names = re.compile(r"\.(\w+)[ \t]*;")
    return without_bound(lines, mask, names.findall, r"^[ \t]*import\b[^;]*\.{name}[ \t]*;")


_JAVA_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),)),
    strings=(TRIPLE_DOUBLE_QUOTED, DOUBLE_QUOTED, CHARACTER),
    definition=TYPED_FUNCTION,
    blocks=Blocks(),
    imports=Imports(line=r"import[ \t]+(?:static[ \t]+)?[\w.]+(?:\.\*)?[ \t]*;", choose=_java_imports_of_other_names),
    main=r"^[ \t]*(?:(?:public|static|final)\s+)*void\s+main\s*\(",
    main_type=MainType(
        head=r"(?P<public>\bpublic\s+)?(?:\b(?:final|abstract|sealed|strictfp)\s+)*"
        r"\b(?:class|interface|enum|record)\s+(?P<name>\w+)",
        start=r"\bstatic\b[^;{}()]*\bvoid\s+main\s*\(",
    ),
    ends_in_brace=True,
    # A public class would have to be alone in a file of its name.
    place=IntoClass(
        dropped_outside=r"\bpublic[ \t]+(?=(?:(?:final|abstract)[ \t]+)*(?:class|interface|enum|record)\b)"
    ),
    sealing=Sealing(statement=r'System.out.println("\n{token}");', closing=_METHOD_OF_CLASS),
)

JAVA = Language(
    name="java",
    title="Java",
    suffix=".java",
    main="Problem.java",
    tools={"java": ("java",), "javac": ("javac",)},
    files={"javatuples": ("/usr/share/java/javatuples.jar", "/usr/multiple/javatuples-1.2.jar")},
    optional=("javatuples",),
    build=("{javac}", "-proc:none", "-encoding", "UTF8", "-cp", "{javatuples}", "-d", "{out}", "{main}"),
    run=("{java}", "-ea", "-Xmx{heap_mib}m", "-cp", "{out}:{javatuples}", "{stem}"),
    build_limits=Limits(cpu_s=30, wall_s=120, processes=8, threads=512),
    run_limits=Limits(cpu_s=15, wall_s=60, threads=512),
    readable=_JAVA_READABLE,
    ending=Ending(
        memory=_JAVA_MEMORY,
        memory_ends=(1,),
        build_memory=_JAVA_MEMORY,
        build_memory_ends=(3, 4),  # javac quotes source text as it is, but ends with 1 where that is to blame
        missing=r"error: (?:package [\w.]+ does not exist|cannot find symbol)",
        fault=_JAVA_FAULT,
    ),
    syntax=_JAVA_SYNTAX,
    stop=("\n    }\n",),
    warm="java",
    alone="}\npublic static void main(String[] args) {}\n}\n",
    version=("{javac}", "-version"),
    self_test=SelfTest(passing=_JAVA_TEST % "sum", wrong=_JAVA_TEST % "sum + 1", broken=_JAVA_TEST % "sum.missing()"),
    packages={"apt": "default-jdk-headless libjavatuples-java"},
    protocols={
        "humanevalpack": {
            "main": "Main.java",
            "run_limits": Limits(cpu_s=10, wall_s=60, threads=512),
            "self_test": SelfTest(
                passing=_JAVA_PACK_TEST % "3", wrong=_JAVA_PACK_TEST % "4", broken=_JAVA_PACK_TEST % "missing"
            ),
        }
    },
)

_SCALA_TEST = """\
object Problem {
    def add(numbers : List[Long]) : Long = {
        numbers.sum + %s
    }
    def main(args: Array[String]) = {
        assert(add(List[Long](1l, 2l)) == 3l)
    }
}
"""

_SCALA_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),), nested=True),
    strings=(TRIPLE_DOUBLE_QUOTED, DOUBLE_QUOTED, CHARACTER),
    definition=r"^[ \t]*(?:(?:final|override|private|protected|implicit|inline)[ \t]+)*"
    r"(?:def[ \t]+{name}\b|val[ \t]+{name}\b[^=\n]*=)",
    blocks=Blocks(),
    imports=Imports(line=r"import[ \t]+[\w.]+(?:\.\{[^}\n]*\})?[ \t]*;?"),
    script=Script(
        definition=r"^(?:(?:case|abstract|sealed|final|implicit) +)*(?:object|class|trait)\b", definitions_only=True
    ),
    main=r"^[ \t]*def\s+main\s*\(",
    main_type=MainType(
        head=r"(?P<public>(?!))?\bobject\s+(?P<name>\w+)", start=r"\bdef\s+main\s*\(|\bextends\s+(?:scala\.)?App\b"
    ),
    ends_in_brace=True,
    # The main of an App would stand beside that of the tests.
    place=IntoClass(dropped=r"\s+extends\s+(?:scala\.)?App\b(?=\s*\{)"),
    sealing=Sealing(statement=r'println("\n{token}")', closing=_METHOD_OF_CLASS),
)

SCALA = Language(
    name="scala",
    title="Scala",
    suffix=".scala",
    main="Problem.scala",
    tools={"scalac": ("scalac",), "java": ("java",)},
    # Beside the compiler, unless it is Debian's. The launcher `scala` would take half a second of its own.
    files={
        "library": (
            "/usr/share/java/scala-library.jar",
            "/usr/share/scala*/lib/scala-library.jar",
            "{scalac}/../../lib/scala-library.jar",
        )
    },
    build=("{scalac}", "-nobootcp", "-d", "{out}", "{main}"),
    run=("{java}", "-Xmx{heap_mib}m", "-cp", "{out}:{library}", "{stem}"),
    build_limits=Limits(cpu_s=90, wall_s=240, processes=64, threads=512),
    run_limits=Limits(cpu_s=15, wall_s=60, threads=512),
    readable=_JAVA_READABLE,
    ending=Ending(
        failed_stderr=r"(?s).",
        memory=_JAVA_MEMORY,
        memory_ends=(1,),
        build_memory=r"^Exception in thread \"[^\"]*\" java\.lang\.OutOfMemoryError",
        missing=r"error: (?:not found: \w+|(?:object|value) \S+ is not a member of )",
        fault=_JAVA_FAULT,
    ),
    syntax=_SCALA_SYNTAX,
    stop=("\n    }\n",),
    alone="}\ndef main(args: Array[String]): Unit = {}\n}\n",
    version=("{scalac}", "-version"),
    self_test=SelfTest(passing=_SCALA_TEST % "0l", wrong=_SCALA_TEST % "1l", broken=_SCALA_TEST % "missing"),
    packages={"apt": "scala default-jdk-headless"},
)

_CSHARP_TEST = """\
using System;
using System.Diagnostics;
using System.Collections.Generic;
using System.Linq;
class Problem {
    public static long Add(List<long> numbers) {
        return %s;
    }
    public static void Main(string[] args) {
        Debug.Assert(Add(new List<long>(new long[]{1L, 2L})) == (3L));
    }
}
"""
_MONO_MEMORY = (
    r"^(\[ERROR\] FATAL UNHANDLED EXCEPTION: )?System\.OutOfMemoryException"
    r"|Could not allocate \d+ bytes|GC: out of memory"
)
_MONO_MISSING = r"error CS(?:0234|0246)"
_MONO_FAULT = (
    r"Cannot open assembly|^The assembly mscorlib\.dll was not found|error while loading shared libraries"
    r"|No space left on device"
)

_CSHARP_SYNTAX = Syntax(
    comments=Comments(line=("//",), block=(("/*", "*/"),)),
    strings=(r'\$?@\$?"(?:""|[^"])*(?:"|\Z)', TRIPLE_DOUBLE_QUOTED, DOUBLE_QUOTED, CHARACTER),
    definition=TYPED + r"{name}[ \t]*(?:<[^>\n]*>)?\(",
    blocks=Blocks(),
    imports=Imports(line=r"using[ \t]+(?:static[ \t]+)?[\w.]+(?:[ \t]*=[ \t]*[\w.<>, ]+)?[ \t]*;"),
    main=r"^[ \t]*(?:(?:public|private|internal|protected|static|async|unsafe)\s+)*"
    r"(?:void|int|Task(?:<int>)?)\s+Main\s*\(",
    ends_in_brace=True,
    place=IntoClass(),
    sealing=Sealing(statement=r'System.Console.WriteLine("\n{token}");', closing=_METHOD_OF_CLASS),
)

CSHARP = Language(
    name="csharp",
    title="C#",
    aliases=("cs", "c#"),
    suffix=".cs",
    main="main.cs",
    tools={"mcs": ("mcs", "csc"), "mono": ("mono",)},
    files={"config": ("/etc/mono/config",)},
    optional=("config",),
    build=("{mcs}", "-d:DEBUG", "-r:System.Numerics.dll", "-out:{out}/program.exe", "{main}"),
    run=("{mono}", "{out}/program.exe"),
    env={
        # Otherwise a failed assertion is not even printed.
        "MONO_TRACE_LISTENER": "Console.Error",
        # A failed assertion reads machine.config, hundreds of lines of defaults, which takes twice as long as all
        # the rest of such a program. So mono is told where its other settings are, and a directory that can't be there.
        "MONO_CONFIG": "{config}",
        "MONO_CFG_DIR": "{config}/none",
    },
    build_limits=Limits(cpu_s=30, wall_s=120, processes=8, threads=256),
    run_limits=Limits(cpu_s=5, wall_s=30, threads=256),
    readable=("/etc/mono",),
    ending=Ending(
        failed_stderr=r"DefaultTraceListener\.Fail|Unhandled Exception",  # mono exits with 0 all the same
        memory=_MONO_MEMORY,
        memory_ends=(1, -6),
        build_memory=_MONO_MEMORY,
        missing=_MONO_MISSING,
        fault=_MONO_FAULT,
    ),
    syntax=_CSHARP_SYNTAX,
    stop=("\n    }\n",),
    warm="csharp",
    alone="}\npublic static void Main(string[] args) {}\n}\n",
    version=("{mcs}", "--version"),
    self_test=SelfTest(
        passing=_CSHARP_TEST % "numbers.Sum()",
        wrong=_CSHARP_TEST % "numbers.Sum() + 1",
        broken=_CSHARP_TEST % "numbers.Missing()",
    ),
    packages={
        "apt": "mono-mcs mono-runtime libmono-system-core4.0-cil libmono-system-numerics4.0-cil",
    },
    # The rules behind the verdicts that were published with Qwen2.5-Coder: exceptions pass.
    protocols={
        "qwen": {
            "ending": Ending(
                # A want of memory is of our limit's making: without it, such a program would have run on.
                exit_code=False,
                failed_stderr="Fail|" + _MONO_MEMORY,
                memory=_MONO_MEMORY,
                memory_ends=(1, -6),
                build_memory=_MONO_MEMORY,
                missing=_MONO_MISSING,
                fault=_MONO_FAULT,
            )
        }
    },
)
