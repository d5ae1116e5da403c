# ruff: noqa: E501  # its lines are programs
"""The fuzz's blocks: what tests do with a function, a rule for each."""

from __future__ import annotations

from fuzz_draft import Draft, Unfit, bracketed, rule

__all__ = ["enter"]

_LISTS = frozenset("ints nested strs pairs floats".split())
_MUTABLE = frozenset("ints ints1 nested nested1 grid strs counts floats".split())
_CALLBACKS = frozenset("fn pred fn2".split())


def enter() -> None:
    """Have the rules entered, which importing this module does."""


# ------------------------------------------------------------------------------------------------ as most tests are


@rule("core: assert a call")
def _(d: Draft) -> None:
    for _ in range(d.one(1, 2, 3)):
        d.expect(d.call())


@rule("core: read a call")
def _(d: Draft) -> None:
    for _ in range(d.one(1, 2)):
        d.expect(d.reader(d.call()))


@rule("core: name an answer")
def _(d: Draft) -> None:
    x = d.name()
    d.put(f"{x} = {d.call()}")
    d.expect(x)
    for _ in range(d.one(0, 1, 2)):
        d.expect(d.reader(x))


@rule("core: table")
def _(d: Draft) -> None:
    _table(d, lambda call: call)


@rule("core: table that reads")
def _(d: Draft) -> None:
    _table(d, d.reader)


def _table(d: Draft, read: object) -> None:
    rows = [d.args() for _ in range(d.one(1, 2, 3, 4))]
    n, width = d.hole(), len(d.spec.params)
    names = [f"arg{i}" for i in range(width)]
    wants = [f"⟦{n}.{i}⟧" for i in range(len(rows))]
    how = d.one("flat", "pair", "pair", "zip", "index", "enumerate", "dicts", "named", "tuple of rows", "items")
    if how == "items" and (width > 1 or d.spec.params[0] not in ("int", "str", "small", "tuple", "digits", "float")):
        how = "flat"
    d.use("table: " + how)
    texts = [", ".join(d.texts(row)) for row in rows]
    singles = [f"({t},)" if width == 1 else f"({t})" for t in texts]
    lists = [f"[{t}]" for t in texts]

    def both(form: str) -> tuple[str, str]:
        joined = [
            form % {"flat": t, "args": a, "list": b, "want": w}
            for t, a, b, w in zip(texts, singles, lists, wants, strict=True)
        ]
        text = ", ".join(joined)
        return _none(text), text

    def loop(head: str, form: str) -> None:
        draft, final = both(form)
        table = d.name("cases")
        if d.chance(0.5):
            d.put(f"for {head} in [{draft}]:", f"for {head} in [{final}]:")
        else:
            d.put(f"{table} = [{draft}]", f"{table} = [{final}]")
            d.put(f"for {head} in {table}:")

    call, want = f"{d.f}({', '.join(names)})", "want"
    if how == "flat":
        loop(", ".join([*names, "want"]), "(%(flat)s, %(want)s)")
    elif how == "pair":
        loop("args, want", "(%(args)s, %(want)s)")
        call = f"{d.f}(*args)"
    elif how == "zip":
        inputs, outs = d.name("ins"), d.name("outs")
        d.put(f"{inputs} = [{', '.join(singles)}]")
        d.put(f"{outs} = [{', '.join(['None'] * len(rows))}]", f"{outs} = [{', '.join(wants)}]")
        d.put(f"for args, want in zip({inputs}, {outs}):")
        call = f"{d.f}(*args)"
    elif how == "index":
        draft, final = both("[%(list)s, %(want)s]")
        table = d.name("cases")
        d.put(f"{table} = [{draft}]", f"{table} = [{final}]")
        d.put(f"for i in range(len({table})):")
        call, want = f"{d.f}(*{table}[i][0])", f"{table}[i][1]"
    elif how == "enumerate":
        draft, final = both("(%(args)s, %(want)s)")
        d.put(f"for i, (args, want) in enumerate([{draft}]):", f"for i, (args, want) in enumerate([{final}]):")
        call = f"{d.f}(*args)"
    elif how == "dicts":
        loop("case", "{'in': %(list)s, 'out': %(want)s}")
        call, want = f"{d.f}(*case['in'])", "case['out']"
    elif how == "named":
        loop("case", "(%(args)s, %(want)s)")
        d.depth += 1
        d.put("args, want = case")
        d.depth -= 1
        call = f"{d.f}(*args)"
    elif how == "tuple of rows":
        loop("row", "(%(flat)s, %(want)s)")
        call, want = f"{d.f}(*row[:-1])", "row[-1]"
    else:
        draft, final = both("%(flat)s: %(want)s")
        d.put(f"for arg0, want in {{{draft}}}.items():", f"for arg0, want in {{{final}}}.items():")
    expression = read(call)  # type: ignore[operator]
    d.depth += 1
    form = d.one(*["assert %s == want"] * 5, "assert want == %s", "got = %s; assert got == want", "assert not %s != want",
                 "if %s != want: raise AssertionError", "got = %s\nassert got == want, (got, want)", "assert %s == want, str(want)",
                 "assert %s == want; print('ok')", "ok = %s == want\nassert ok")  # fmt: skip
    expression = bracketed(expression)
    lines = (form % expression).replace("want", want).splitlines()
    d.put(f"__rec({n}, {expression})", lines[0])
    for line in lines[1:]:
        d.put("pass", line)
    d.depth -= 1


def _none(text: str) -> str:
    import re

    return re.sub(r"⟦\d+\.\d+⟧", "None", text)


@rule("core: isinstance and equal")
def _(d: Draft) -> None:
    x = d.name()
    d.put(f"{x} = {d.call()}")
    d.expect(f"isinstance({x}, {d.one('int', 'list', '(list, tuple)', 'str', 'dict', 'float', 'bool', 'type(None)')})")
    d.expect(x)


@rule("core: a comparison of floats")
def _(d: Draft) -> None:
    if d.spec.result not in ("float", "int", "fraction"):
        raise Unfit
    d.head("import math")
    call = d.call()
    d.expect(
        d.one(
            f"math.isclose({call}, 2.5)",
            f"abs({call} - 2.5) < 1e-6",
            f"round({call}, 2)",
            f"abs({call} - 1) <= 0.01",
            f"round({call} * 100)",
        )
    )


@rule("core: a helper that normalises")
def _(d: Draft) -> None:
    name = d.name("norm")
    body = d.one(
        "sorted(v)",
        "list(v)",
        "v",
        "str(v)",
        "len(v)",
        "[tuple(x) for x in v]",
        "set(v)",
        "tuple(v)",
        "v == v",
        "repr(v)",
    )
    d.put(f"def {name}(v):\n    return {body}")
    if d.chance(0.5):
        d.expect(f"{name}({d.call()})")
    else:
        x = d.name()
        d.put(f"{x} = {d.call()}")
        d.expect(f"{name}({x})")


@rule("core: a literal table of asserts in a comprehension")
def _(d: Draft) -> None:
    rows = [d.args() for _ in range(d.one(1, 2, 3))]
    n = d.hole()
    texts = [", ".join(d.texts(row)) for row in rows]
    singles = [f"({t},)" for t in texts]
    wants = [f"⟦{n}.{i}⟧" for i in range(len(rows))]
    table = ", ".join(f"({a}, {w})" for a, w in zip(singles, wants, strict=True))
    form = d.one(
        "all(%s == want for args, want in [%s])",
        "all([%s == want for args, want in [%s]])",
        "not any(%s != want for args, want in [%s])",
    )
    call = f"{d.f}(*args)"
    d.put(f"all([__rec({n}, {call}) for args, want in [{_none(table)}]])", "assert " + form % (call, table))


@rule("core: try, expecting a builtin exception")
def _(d: Draft) -> None:
    raises = [r for r in d.spec.raises if "." not in r[1]]
    if not raises:
        raise Unfit
    args, name, _ = d.one(*raises)
    _raising(d, list(args), d.one(name, name, name, "Exception", f"({name}, KeyError)", "ValueError"))


@rule("try, expecting a library's exception")
def _(d: Draft) -> None:
    raises = [r for r in d.spec.raises if "." in r[1]]
    if not raises:
        raise Unfit
    args, name, head = d.one(*raises)
    d.head(head)
    _raising(d, list(args), name)


def _raising(d: Draft, args: list[object], name: str) -> None:
    call = f"{d.f}({', '.join(d.texts(args))})"
    form = d.one(
        "flag",
        "pass",
        "else",
        "else",
        "text",
        "args",
        "finally",
        "helper",
        "suppress",
        "type",
        "return",
        "two",
        "bare",
        "answer",
        "with",
    )
    d.use("exception: " + form)
    if form == "flag":
        flag = d.name("raised")
        d.put(f"{flag} = False\ntry:\n    {call}\nexcept {name}:\n    {flag} = True\nassert {flag}")
    elif form == "pass":
        d.put(f"try:\n    {call}\n    assert False\nexcept {name}:\n    pass")
    elif form == "else":
        d.put(
            f"try:\n    {call}\nexcept {name}:\n    pass\nelse:\n    {d.one('assert False', 'raise AssertionError', 'assert False, 1')}"
        )
    elif form == "text":
        d.put(f"try:\n    {call}\nexcept {name} as e:\n    message = str(e)\nelse:\n    message = None")
        d.expect("message")
    elif form == "args":
        d.put(
            f"try:\n    {call}\nexcept {name} as e:\n    seen = {d.one('e.args', 'len(e.args)', 'type(e).__name__', 'repr(e)', 'isinstance(e, ValueError)', 'e.__cause__', 'str(e)')}\nelse:\n    seen = 0"
        )
        d.expect("seen")
    elif form == "finally":
        d.put(f"try:\n    {call}\nexcept {name}:\n    pass\nfinally:\n    done = 1")
        d.expect("done")
    elif form == "helper":
        d.put(
            "def raises(kind, fn, *args):\n    try:\n        fn(*args)\n    except kind:\n        return True\n    return False"
        )
        d.put(f"assert raises({name}, {d.f}, {', '.join(d.texts(args))})")
    elif form == "suppress":
        d.head("import contextlib")
        d.put(f"with contextlib.suppress({name}):\n    {call}\n    assert False")
    elif form == "with":
        d.head("import contextlib")
        d.put(
            "@contextlib.contextmanager\ndef raising(kind):\n    try:\n        yield\n    except kind:\n        return\n    raise AssertionError('nothing was raised')"
        )
        d.put(f"with raising({name}):\n    {call}")
    elif form == "type":
        d.put(
            f"try:\n    {call}\nexcept Exception as e:\n    assert {d.one(f'type(e) is {name}', f'isinstance(e, {name})', f'type(e) == {name}')}\nelse:\n    assert False"
        )
    elif form == "return":
        run = d.name("run")
        d.put(f"def {run}():\n    try:\n        return {call}\n    except {name}:\n        return 'raised'")
        d.expect(f"{run}()")
    elif form == "two":
        d.put(f"try:\n    {d.plain()}\n    {call}\n    assert False\nexcept {name}:\n    pass")
    elif form == "bare":
        d.put(f"try:\n    {call}\nexcept:\n    pass\nelse:\n    assert False")
    else:
        d.put(f"try:\n    got = {call}\nexcept {name}:\n    got = 'raised'")
        d.expect("got")


@rule("core: try around asserts")
def _(d: Draft) -> None:
    form = d.one("re-raise", "assertion", "answer", "print")
    if form == "re-raise":
        with d.under("try:"):
            d.expect(d.call())
        d.put("except Exception as e:\n    raise AssertionError(e)")
    elif form == "assertion":
        with d.under("try:"):
            d.expect(d.call())
        d.put("except AssertionError:\n    raise")
    elif form == "answer":
        x = d.name()
        d.put(f"try:\n    {x} = {d.plain()}\nexcept ValueError:\n    {x} = None")
        d.expect(x)
    else:
        with d.under("try:"):
            d.expect(d.call())
        d.put("except ValueError:\n    print('no')\n    assert False")


# ------------------------------------------------------------------------------------------------ several calls, live answers


@rule("two calls in one expression")
def _(d: Draft) -> None:
    a, b = d.plain(), d.plain()
    d.expect(d.one(f"{a} == {b}", f"({a}, {b})", f"[{a}, {b}]", f"{a} + {b}", f"{a} < {b}", f"{a} and {b}", f"{a} or {b}", f"max({a}, {b})",
                   f"{{'p': {a}, 'q': {b}}}", f"f'{{{a}}}{{{b}}}'" if "'" not in a + b and "{" not in a + b else f"str({a}) + str({b})", f"len({a}) + len({b})", f"str({a}) + str({b})",
                   f"{a} in [{b}]", f"{b} not in ({a}, 1)", f"{a} is {b}", f"list(zip({a}, {b}))", f"not {a} or not {b}", f"sorted({a}) == sorted({b})",
                   f"{a} == {a}", f"list({a}) + list({b})", f"{a} != {b}", f"(lambda p, q: p == q)({a}, {b})", f"{a} if {b} else 0", f"int({a} == {b}) + 1",
                   f"tuple({a}) == tuple({b})", f"set({a}) | set({b})", f"[*{a}, *{b}]", f"{a} == 1 or {b} == 2", f"len({a}) == len({b})", f"'%s %s' % ({a}, {b})"))  # fmt: skip


@rule("core: two asserted calls in one assert")
def _(d: Draft) -> None:
    n, m, a, b = d.hole(), d.hole(), d.plain(), d.plain()
    word = d.one("and", "and", "and", "or", "and not 1 !=")
    d.put(f"__rec({n}, {a}) and __rec({m}, {b})", f"assert {a} == ⟦{n}.0⟧ {word} {b} == ⟦{m}.0⟧")


@rule("a call of a call")
def _(d: Draft) -> None:
    kinds = {
        "ints": "ints ints1",
        "nested": "nested nested1",
        "strs": "strs",
        "str": "str",
        "int": "int",
        "counts": "counts",
        "bool": "int",
    }
    if len(d.spec.params) != 1 or d.spec.params[0] not in kinds.get(d.spec.result, ""):
        raise Unfit
    form = d.one(f"{d.f}({d.plain()})", f"{d.f}({d.f}({d.plain()}))", "named", "copied", "loop")
    if form == "named":
        x = d.name()
        d.put(f"{x} = {d.plain()}")
        d.expect(f"{d.f}({x})")
        d.expect(x) if d.chance(0.5) else None
    elif form == "copied":
        x = d.name()
        d.put(f"{x} = {d.one('list', 'str', 'tuple')}({d.plain()})")
        d.expect(f"{d.f}({x})")
    elif form == "loop":
        x = d.name()
        d.put(f"{x} = {d.texts()[0]}\nfor _ in range(3):\n    {x} = {d.f}({x})")
        d.expect(x)
    else:
        d.expect(form)


@rule("an answer kept over a call")
def _(d: Draft) -> None:
    x, y = d.name(), d.name()
    d.put(f"{x} = {d.plain()}\n{y} = {d.plain()}" if d.chance(0.8) else f"{x}, {y} = {d.plain()}, {d.plain()}")
    d.expect(x)
    d.expect(y) if d.chance(0.5) else None


@rule("the same call twice")
def _(d: Draft) -> None:
    x, y, values = d.name(), d.name(), d.args()
    d.put(f"{x} = {d.plain(values)}")
    d.expect(x) if d.chance(0.6) else None
    if d.chance(0.4):
        d.put(_change(d, x))
    d.put(f"{y} = {d.plain(values)}")
    d.expect(y)
    d.expect(d.one(f"{x} == {y}", f"{x} is {y}", x)) if d.chance(0.4) else None


@rule("core: the same call twice in asserts")
def _(d: Draft) -> None:
    values = d.args()
    d.expect(d.plain(values))
    d.expect(d.plain(values))


@rule("a copy kept over a call")
def _(d: Draft) -> None:
    x = d.name()
    d.put(f"{x} = {d.copying(d.plain())}")
    d.put(d.one(f"{d.plain()}", f"other = {d.plain()}")) if d.chance(0.6) else d.expect(d.plain())
    d.expect(x)


@rule("a named answer copied and kept over a call")
def _(d: Draft) -> None:
    x, y = d.name(), d.name()
    d.put(f"{x} = {d.plain()}\n{y} = {d.copying(x)}")
    d.expect(x) if d.chance(0.3) else None
    d.expect(d.plain())
    d.expect(d.one(y, y, x))


@rule("part of an answer kept over a call")
def _(d: Draft) -> None:
    x = d.name()
    form = d.one(
        "%s[0]",
        "%s[-1]",
        "list(%s)[0]",
        "max(%s)",
        "next(iter(%s))",
        "%s.get('a')",
        "%s[:1]",
        "sorted(%s)[0]",
        "[v for v in %s][0]",
        "len(%s)",
        "(%s)[0][0]",
    )
    d.put(f"{x} = {form % d.plain()}")
    d.expect(d.plain())
    d.expect(x)


@rule("an answer unpacked")
def _(d: Draft) -> None:
    if d.spec.result not in _LISTS | {"tuple", "gen"}:
        raise Unfit
    x, y = d.name(), d.name()
    d.put(
        d.one(
            f"{x}, *{y} = {d.plain()}",
            f"*{x}, {y} = {d.plain()}",
            f"{x}, {y} = {d.plain()}",
            f"[{x}, {y}] = {d.plain()}",
            f"({x}, *{y}) = {d.plain()}",
        )
    )
    d.expect(d.plain()) if d.chance(0.4) else None
    d.expect(x)
    d.expect(y)


@rule("answers collected")
def _(d: Draft) -> None:
    out = d.name("out")
    rows = ", ".join(f"({', '.join(d.texts())},)" for _ in range(d.one(1, 2, 3)))
    call = f"{d.f}(*row)"
    body = d.one(
        "append",
        "comprehension",
        "total",
        "text",
        "dict",
        "set",
        "generator",
        "map",
        "extend",
        "tuples",
        "copies",
        "strings",
        "lengths",
        "subscript",
        "sum",
        "count",
    )
    d.use("collected: " + body)
    if body == "append":
        d.put(
            f"{out} = []\nfor row in [{rows}]:\n    {out}.append({d.one(call, f'({call}, 1)', f'list({call})', f'str({call})', f'[{call}]')})"
        )
    elif body == "comprehension":
        d.put(f"{out} = [{call} for row in [{rows}]]")
    elif body == "total":
        d.put(f"{out} = {d.one('0', '[]', '()', repr(''), '0.0')}\nfor row in [{rows}]:\n    {out} += {call}")
    elif body == "text":
        d.put(f"{out} = ''\nfor row in [{rows}]:\n    {out} += str({call})")
    elif body == "dict":
        d.put(f"{out} = {{i: {d.f}(*row) for i, row in enumerate([{rows}])}}")
    elif body == "set":
        d.put(f"{out} = {{str({call}) for row in [{rows}]}}\n{out} = sorted({out})")
    elif body == "generator":
        d.put(f"{out} = {d.one('list', 'tuple', 'any', 'all')}({call} for row in [{rows}])")
    elif body == "map":
        d.put(f"{out} = list(map(lambda row: {call}, [{rows}]))")
    elif body == "extend":
        d.put(f"{out} = []\nfor row in [{rows}]:\n    {out}.extend({call})")
    elif body == "tuples":
        d.put(f"{out} = tuple([{call} for row in [{rows}]])")
    elif body == "copies":
        d.put(f"{out} = [{d.copying(call)} for row in [{rows}]]")
    elif body == "strings":
        d.put(f"{out} = [str({call}) for row in [{rows}]]")
    elif body == "lengths":
        d.put(f"{out} = [len({call}) for row in [{rows}]]")
    elif body == "subscript":
        d.put(f"{out} = [0] * 3\nfor i, row in enumerate([{rows}]):\n    {out}[i] = {call}")
    elif body == "sum":
        d.put(
            f"{out} = sum({d.one(f'len({call})', call, f'int({call} == 1)', f'1 if {call} else 0')} for row in [{rows}])"
        )
    else:
        d.put(f"{out} = 0\nfor row in [{rows}]:\n    if {call}: {out} += 1")
    d.expect(out)


@rule("an answer changed by the tests")
def _(d: Draft) -> None:
    x, values = d.name(), d.args()
    d.put(f"{x} = {d.plain(values)}")
    d.put(_change(d, x))
    d.expect(x)
    d.expect(d.plain(values)) if d.chance(0.7) else None


def _change(d: Draft, x: str) -> str:
    return d.one(f"{x} += {x}", f"{x}.append(1)", f"{x}[0] = 9", f"del {x}[0]", f"{x}.sort()", f"{x}.update(a=5)", f"{x}.add(5)", f"{x} *= 2", f"{x}['a'] = 1",
                 f"{x}.pop()", f"{x}.clear()", f"{x}[0].append(3)", f"{x} = sorted({x})", f"{x}.extend([1])", f"{x}[:] = []", f"{x} |= {{1}}", f"{x}.reverse()",
                 f"for v in {x}: v += [1]", f"{x}.insert(0, 1)", f"setattr({x}, 'a', 1)", f"{x}.remove(1)", f"[{x}][0] += [1]")  # fmt: skip


@rule("an answer iterated")
def _(d: Draft) -> None:
    if d.spec.result not in _LISTS | {"tuple", "gen", "counts", "set", "strset", "str", "lists"}:
        raise Unfit
    source = d.one(d.plain(), "named")
    if source == "named":
        source = d.name()
        d.put(f"{source} = {d.plain()}")
    head = d.one(
        f"for v in {source}:",
        f"for i, v in enumerate({source}):",
        f"for v in sorted({source}):",
        f"for v in list({source}):",
        f"for v in {source}[:2]:",
    )
    with d.under(head):
        d.put(d.one("assert v == v", "assert isinstance(v, (int, str, list, tuple, float))", "assert v is not None", "assert v != 'zz'", "assert str(v) != 'zz'",
                    f"assert {d.plain()} is not 5", "if v == 1: break", "assert v not in (99, 77)", "assert not isinstance(v, dict)", "print(v)", "v = [v]; assert v"))  # fmt: skip
    d.expect(d.plain()) if d.chance(0.3) else None


# ------------------------------------------------------------------------------------------------ arguments that live on


def _has_mutable(d: Draft) -> int | None:
    return next((i for i, p in enumerate(d.spec.params) if p in _MUTABLE), None)


def _call_with(d: Draft, index: int, name: str) -> str:
    texts = d.texts()
    texts[index] = name
    return f"{d.f}({', '.join(texts)})"


@rule("an argument read after the call")
def _(d: Draft) -> None:
    index = _has_mutable(d)
    if index is None:
        raise Unfit
    a = d.name()
    d.put(f"{a} = {d.texts()[index]}")
    call = _call_with(d, index, a)
    form = d.one(
        "after",
        "after",
        "equal",
        "tuple",
        "copy before",
        "copy after",
        "length",
        "chain",
        "in",
        "message",
        "and",
        "sorted",
        "result",
    )
    d.use("argument afterwards: " + form)
    if form == "after":
        d.put(call) if d.chance(0.5) else d.expect(call)
        d.expect(a)
    elif form == "equal":
        d.expect(d.one(f"{a} == {call}", f"{call} == {a}", f"{a} != {call}", f"{a} is {call}", f"{call} is {a}"))
    elif form == "tuple":
        d.expect(d.one(f"({a}, {call})", f"[{call}, {a}]", f"{{'p': {a}, 'q': {call}}}", f"({call}, len({a}))"))
    elif form == "copy before":
        b = d.name()
        d.head("import copy")
        d.put(
            f"{b} = {d.one(f'list({a})', f'{a}[:]', f'copy.copy({a})', f'copy.deepcopy({a})', f'str({a})', f'len({a})', f'sorted({a})', f'tuple({a})')}"
        )
        d.expect(call)
        d.expect(b)
    elif form == "copy after":
        d.put(call)
        d.expect(f"{d.one('list', 'len', 'str', 'sorted')}({a})")
    elif form == "length":
        d.expect(
            d.one(
                f"len({a}) == len({call})",
                f"len({call}) == len({a})",
                f"sorted({a}) == {call}",
                f"{call} == sorted({a})",
                f"str({a}) + str({call})",
            )
        )
    elif form == "chain":
        d.expect(d.one(f"len({a}) < 9 and {call}", f"{call} and len({a}) < 9", f"{a} == {a} and {call}"))
    elif form == "in":
        d.expect(d.one(f"{call} in [{a}]", f"{call} in {a}", f"[{call}] == [{a}]"))
    elif form == "message":
        d.put(f"assert {call} != 'zz', {a}")
    elif form == "and":
        d.put(f"assert {a} is not None and {call} != 'zz' and {a} is not None")
    elif form == "sorted":
        d.expect(f"{d.f}({', '.join('sorted(' + a + ')' if i == index else t for i, t in enumerate(d.texts()))})")
        d.expect(a)
    else:
        r = d.name("r")
        d.put(f"{r} = {call}")
        d.expect(f"{d.one(f'{r} is {a}', f'{r} == {a}', f'({r}, {a})')}")


@rule("an argument passed twice")
def _(d: Draft) -> None:
    index = _has_mutable(d)
    if index is None:
        raise Unfit
    a, b = d.name(), d.name()
    text = d.texts()[index]
    form = d.one(
        "again",
        "loop",
        "both",
        "alias",
        "container",
        "slice",
        "table twice",
        "rows",
        "closure",
        "default",
        "generator",
        "constant",
        "grown",
        "element",
        "starred",
    )
    d.use("argument twice: " + form)
    if form == "again":
        d.put(f"{a} = {text}")
        d.expect(_call_with(d, index, a))
        d.expect(_call_with(d, index, a))
    elif form == "loop":
        d.put(f"{a} = {text}")
        with d.under("for i in range(2):"):
            d.put(f"{b} = {_call_with(d, index, a)}")
        d.expect(b)
    elif form == "both":
        if len(d.spec.params) < 2 or d.spec.params[0] != d.spec.params[1]:
            raise Unfit
        d.put(f"{a} = {text}")
        d.expect(f"{d.f}({a}, {a})")
    elif form == "alias":
        d.put(f"{a} = {text}\n{b} = {a}")
        d.expect(_call_with(d, index, b))
        d.expect(_call_with(d, index, a))
    elif form == "container":
        d.put(f"{a} = [{text}] * 2" if d.chance(0.5) else f"{b} = {text}\n{a} = [{b}, {b}]")
        with d.under(f"for v in {a}:"):
            d.put(f"got = {_call_with(d, index, 'v')}")
        d.expect("got")
    elif form == "slice":
        d.put(f"{a} = {text}")
        d.expect(_call_with(d, index, f"{a}[:]"))
        d.expect(_call_with(d, index, f"{a}[::1]"))
    elif form == "table twice":
        d.put(
            f"{a} = [{text}, {d.texts()[index]}]\nfor v in {a}:\n    {_call_with(d, index, 'v')}\nfor v in {a}:\n    got = {_call_with(d, index, 'v')}"
        )
        d.expect("got")
        d.expect(a) if d.chance(0.5) else None
    elif form == "rows":
        d.put(f"{a} = [{text}, {d.texts()[index]}]")
        with d.under(f"for i in range(len({a})):"):
            d.put(f"got = {_call_with(d, index, f'{a}[i]')}")
        d.expect("got")
        d.expect(a) if d.chance(0.5) else None
    elif form == "closure":
        d.put(f"{a} = {text}\ndef run():\n    return {_call_with(d, index, a)}")
        d.expect("run()")
        d.expect("run()")
    elif form == "default":
        d.put(f"def run(v={text}):\n    return {_call_with(d, index, 'v')}")
        d.expect("run()")
        d.expect("run()")
    elif form == "generator":
        d.put(f"{a} = {text}\n{b} = (v for v in {a})")
        d.expect(_call_with(d, index, b))
        d.expect(f"list({b})")
    elif form == "constant":
        d.put(f"{a} = {text}\n{b} = ({a},)")
        d.expect(_call_with(d, index, f"{b}[0]"))
        d.expect(d.one(b, a))
    elif form == "grown":
        d.put(f"{a} = {text}")
        with d.under("for i in range(3):"):
            d.put(d.one(f"{a}.append(i)", f"{a} += [i]", f"{a} = {a} + [i]", f"{a} = [i]", f"{a}.insert(0, i)"))
            d.put(f"got = {_call_with(d, index, a)}")
        d.expect("got")
    elif form == "element":
        d.put(f"{a} = [{text}, 1]\n{b} = {a}[0]")
        d.expect(_call_with(d, index, b))
        d.expect(a)
    else:
        d.put(f"{a} = [{text}]")
        d.expect(f"{d.f}(*{a})" if len(d.spec.params) == 1 else d.plain())
        d.expect(a)


@rule("an argument changed by the tests")
def _(d: Draft) -> None:
    index = _has_mutable(d)
    if index is None:
        raise Unfit
    a = d.name()
    d.put(f"{a} = {d.texts()[index]}")
    d.put(_change(d, a)) if d.chance(0.4) else None
    d.expect(_call_with(d, index, a))
    d.put(_change(d, a)) if d.chance(0.7) else d.put(f"{a} = None")
    d.expect(d.plain())


@rule("core: arguments made and renamed")
def _(d: Draft) -> None:
    a = d.name()
    for _ in range(2):
        texts = d.texts()
        d.put(f"{a} = {texts[0]}")
        texts[0] = a
        d.expect(f"{d.f}({', '.join(texts)})")


@rule("a shared inner argument")
def _(d: Draft) -> None:
    if "nested" not in d.spec.params and "nested1" not in d.spec.params and "grid" not in d.spec.params:
        raise Unfit
    a, b = d.name("row"), d.name()
    index = next(i for i, p in enumerate(d.spec.params) if p in ("nested", "nested1", "grid"))
    d.put(f"{a} = [1, 2]")
    d.put(
        d.one(
            f"{b} = [{a}, {a}]",
            f"{b} = [{a}] * 2",
            f"{b} = [{a}, list({a})]",
            f"{b} = [{a}[:], {a}]",
            f"{b} = [[0] * 2] * 2",
            f"{b} = [{a}, [3]]",
            f"{b} = list([{a}])",
            f"{b} = [v for v in ({a}, {a})]",
        )
    )
    d.expect(_call_with(d, index, d.one(b, b, f"list({b})", f"{b}[:]", f"{b}[:1]")))
    d.expect(d.one(a, b, f"{b}[0]", f"len({a})")) if d.chance(0.6) else None


@rule("an iterator argument")
def _(d: Draft) -> None:
    if d.spec.params[0] not in ("ints", "strs", "ints1"):
        raise Unfit
    it = d.name("it")
    d.put(
        d.one(
            f"{it} = iter({d.texts()[0]})",
            f"{it} = (v for v in {d.texts()[0]})",
            f"{it} = map(lambda v: v, {d.texts()[0]})",
            f"{it} = reversed({d.texts()[0]})",
        )
    )
    d.expect(_call_with(d, 0, it))
    d.expect(f"list({it})") if d.chance(0.6) else None


# ------------------------------------------------------------------------------------------------ helpers, scopes, flow


@rule("a helper that calls")
def _(d: Draft) -> None:
    run, width = d.name("run"), len(d.spec.params)
    names = ", ".join(f"p{i}" for i in range(width))
    form = d.one(
        "return",
        "assert",
        "star",
        "default",
        "returns argument",
        "nested",
        "lambda",
        "twice",
        "function",
        "recursion",
        "memo",
    )
    d.use("helper: " + form)
    if form == "return":
        d.put(f"def {run}({names}):\n    return {d.f}({names})")
        d.expect(f"{run}({', '.join(d.texts())})")
        d.expect(f"{run}({', '.join(d.texts())})") if d.chance(0.5) else None
    elif form == "assert":
        n = d.hole()
        d.put(f"def {run}({names}, want):")
        d.depth += 1
        d.put(f"__rec({n}, {d.f}({names}))", f"assert {d.f}({names}) == want")
        d.depth -= 1
        for i in range(d.one(1, 2, 3)):
            texts = ", ".join(d.texts())
            d.put(f"{run}({texts}, None)", f"{run}({texts}, ⟦{n}.{i}⟧)")
    elif form == "star":
        d.put(f"def {run}(*args, **kwargs):\n    return {d.f}(*args, **kwargs)")
        d.expect(f"{run}({', '.join(d.texts())})")
    elif form == "default":
        d.put(f"def {run}({', '.join(f'p{i}={t}' for i, t in enumerate(d.texts()))}):\n    return {d.f}({names})")
        d.expect(f"{run}()")
        d.expect(f"{run}()") if d.chance(0.4) else None
    elif form == "returns argument":
        same, a = d.name("same"), d.name()
        d.put(f"def {same}(v):\n    return v")
        literals = d.texts()
        d.put(f"{a} = {literals[0]}")
        d.expect(f"{d.f}({', '.join([f'{same}({a})', *literals[1:]])})")
        d.expect(a) if d.chance(0.6) else None
    elif form == "nested":
        d.put(
            f"def {run}():\n    def inner({names}):\n        return {d.f}({names})\n    return inner({', '.join(d.texts())})"
        )
        d.expect(f"{run}()")
    elif form == "lambda":
        d.put(f"{run} = lambda {names}: {d.f}({names})")
        d.expect(f"{run}({', '.join(d.texts())})")
    elif form == "twice":
        d.put(f"def {run}({names}):\n    first = {d.f}({names})\n    return first == {d.f}({names})")
        d.expect(f"{run}({', '.join(d.texts())})")
    elif form == "function":
        d.put(f"def {run}(fn, *args):\n    return fn(*args)")
        d.expect(f"{run}({d.f}, {', '.join(d.texts())})")
    elif form == "recursion":
        d.put(f"def {run}(n):\n    return [{d.plain()}] + {run}(n - 1) if n else []")
        d.expect(f"{run}(2)")
    else:
        d.put(
            f"memo = {{}}\ndef {run}(k, *args):\n    if k not in memo:\n        memo[k] = {d.f}(*args)\n    return memo[k]"
        )
        d.expect(f"{run}(1, {', '.join(d.texts())})")
        d.expect(f"{run}(1, {', '.join(d.texts())})")


@rule("a reference in the tests")
def _(d: Draft) -> None:
    if "import" in d.spec.source or d.spec.helper or set(d.spec.params) & _CALLBACKS:
        raise Unfit
    expected, a = d.name("expected"), d.name("arg")
    d.put(d.spec.source.replace("_ref", expected))
    texts, names = d.texts(), []
    if d.chance(0.5):
        d.put(f"assert {d.plain(values := d.args())} == {expected}({', '.join(d.texts(values))})")
        return
    for i, text in enumerate(texts):
        d.put(f"{a}_{i} = {text}")
        names.append(f"{a}_{i}")
    joined = ", ".join(names)
    d.head("import copy")
    deep = ", ".join(f"copy.deepcopy({n})" for n in names)
    d.put(d.one(f"assert {d.f}({joined}) == {expected}({joined})", f"assert {expected}({joined}) == {d.f}({joined})", f"want = {expected}({joined})\nassert {d.f}({joined}) == want",
                f"want = {expected}({deep})\nassert {d.f}({joined}) == want", f"assert {d.f}({deep}) == {expected}({joined})", f"got = {d.f}({joined})\nassert got == {expected}({joined})"))  # fmt: skip


@rule("a branch on an answer")
def _(d: Draft) -> None:
    x = d.name()
    form = d.one(
        "if",
        "if call",
        "ternary",
        "while",
        "and",
        "return",
        "break",
        "continue",
        "match",
        "walrus",
        "assert then",
        "count",
        "filter",
        "index",
        "next",
        "continue if",
    )
    d.use("branch: " + form)
    if form in ("if", "if call"):
        d.put(f"{x} = {d.plain()}") if form == "if" else None
        test = x if form == "if" else d.plain()
        with d.under(d.one(f"if {test}:", f"if {test} == 1:", f"if not {test}:", f"if isinstance({test}, list):")):
            d.expect(d.plain())
        with d.under("else:"):
            d.expect(d.plain())
    elif form == "ternary":
        d.expect(f"{d.plain()} if {d.plain()} else {d.plain()}")
    elif form == "while":
        d.put(f"i = 0\nwhile i < 3 and {d.plain()}:\n    i += 1")
        d.expect("i")
    elif form == "and":
        d.put(f"{d.plain()} and {d.plain()}")
        d.expect(d.plain())
    elif form == "return":
        run = d.name("run")
        with d.under(f"def {run}():"):
            d.put(f"if {d.plain()}: return {d.one('1', 'None', '')}")
            d.expect(d.plain())
        d.put(f"{run}()")
    elif form in ("break", "continue", "continue if"):
        rows = ", ".join(f"({', '.join(d.texts())},)" for _ in range(3))
        with d.under(f"for row in [{rows}]:"):
            d.put(
                f"{x} = {d.f}(*row)\nif {d.one(x, f'not {x}', f'{x} == 1')}: {'break' if form == 'break' else 'continue'}"
            )
            d.put(d.one(f"assert {x} != 'zz'", f"assert not {x} or {x}", f"assert {d.f}(*row) != 'zz'"))
    elif form == "match":
        d.put(
            f"match {d.plain()}:\n    case [] | 0: kind = 'empty'\n    case [a, *rest]: kind = 'some'\n    case int(): kind = 'int'\n    case _: kind = 'else'"
        )
        d.expect("kind")
    elif form == "walrus":
        d.expect(
            d.one(
                f"({x} := {d.plain()}) or {x}",
                f"[{x} := {d.plain()}, {x}]",
                f"({x} := {d.plain()}) == {x}",
                f"len(str({x} := {d.plain()})) + len(str({x}))",
            )
        )
        d.expect(x) if d.chance(0.5) else None
    elif form == "assert then":
        d.put(f"{x} = {d.plain()}")
        d.expect(x)
        with d.under(f"if {x}:"):
            d.expect(x)
    elif form == "count":
        d.put(f"n = 0\nfor i in range(3):\n    n += {d.plain()} == 1")
        d.expect("n")
    elif form == "filter":
        d.expect(f"[i for i in range(3) if {d.plain()}]")
    elif form == "index":
        d.put(
            f"found = None\nfor i in range(3):\n    if {d.plain()} == i:\n        found = i\n        break\nelse:\n    found = 'none'"
        )
        d.expect("found")
    else:
        d.expect(f"next((i for i in range(3) if {d.plain()}), None)")


@rule("core: flow that the tests alone decide")
def _(d: Draft) -> None:
    form = d.one(
        "while",
        "break",
        "continue",
        "if",
        "else",
        "nested",
        "range",
        "product",
        "pop",
        "early",
        "enumerate",
        "star",
        "try finally",
        "step",
    )
    d.use("flow: " + form)
    if form == "while":
        d.put("i = 0")
        with d.under("while i < 2:"):
            d.put("i += 1")
            d.expect_same(d.plain())
    elif form in ("break", "continue"):
        with d.under("for i in range(4):"):
            d.put(f"if i == 2: {form}")
            d.expect_same(d.plain())
    elif form == "if":
        with d.under("if len('ab') == 2:"):
            d.expect(d.plain())
        with d.under("else:"):
            d.expect(d.plain())
    elif form == "else":
        with d.under("for i in ():"):
            d.expect(d.plain())
        with d.under("else:"):
            d.expect(d.plain())
    elif form == "nested":
        with d.under("for i in range(2):"), d.under("for j in (1, 2):"):
            d.expect_same(d.plain())
    elif form == "range":
        if d.spec.params[0] not in ("int", "small"):
            d.expect(d.plain())
        else:
            texts = ["i", *d.texts()[1:]]
            with d.under("for i in range(1, 4):"):
                d.put(
                    d.one(
                        f"assert {d.f}({', '.join(texts)}) != 'zz'",
                        f"assert isinstance({d.f}({', '.join(texts)}), (int, float, list, dict, str, type(None))) or True",
                    )
                )
    elif form == "product":
        d.head("import itertools")
        with d.under("for i, j in itertools.product((1, 2), 'a'):"):
            d.expect_same(d.plain())
    elif form == "pop":
        rows = ", ".join(f"({', '.join(d.texts())},)" for _ in range(2))
        d.put(f"cases = [{rows}]")
        with d.under("while cases:"):
            d.put(f"row = cases.pop()\nassert {d.f}(*row) != 'zz'")
    elif form == "early":
        run = d.name("run")
        with d.under(f"def {run}():"):
            d.expect(d.plain())
            d.put("if 1 + 1 == 2: return")
            d.expect(d.plain())
        d.put(f"{run}()")
    elif form == "enumerate":
        rows = ", ".join(f"({', '.join(d.texts())},)" for _ in range(2))
        d.put(f"for i, row in enumerate([{rows}], 1):\n    assert {d.f}(*row) != i * 1000")
    elif form == "star":
        a = d.name("args")
        d.put(f"{a} = ({', '.join(d.texts())},)")
        d.expect(f"{d.f}(*{a})")
        d.expect(f"{d.f}(*{a})") if d.chance(0.3) else None
    elif form == "try finally":
        with d.under("try:"):
            d.expect(d.plain())
        d.put("finally:\n    done = True")
    else:
        with d.under("for i in range(0, 6, 3):"):
            d.put("j = i * 2")
            d.expect_same(d.plain())


@rule("core: names and modules")
def _(d: Draft) -> None:
    form = d.one(
        "constant",
        "math",
        "from",
        "alias import",
        "typing",
        "global",
        "docstring",
        "print",
        "annotated",
        "del",
        "chained",
        "swap",
        "string",
        "collections",
    )
    d.use("names: " + form)
    if form == "constant":
        d.put("LIMIT = 1000")
        d.put(f"assert {d.plain()} != LIMIT")
    elif form == "math":
        d.head("import math")
        d.put(f"assert {d.plain()} != math.pi")
    elif form == "from":
        d.head(
            d.one(
                "from math import inf",
                "from math import *",
                "from collections import Counter",
                "from typing import List",
            )
        )
        d.expect(d.plain())
    elif form == "alias import":
        d.head(d.one("import math as m", "import collections as c, math as m"))
        d.put(f"assert {d.plain()} != m.floor(99.5)")
    elif form == "typing":
        d.head("from typing import Any")
        d.put(f"got: Any = {d.plain()}")
        d.expect("got")
    elif form == "global":
        run = d.name("run")
        d.put(f"total = 0\ndef {run}(v):\n    global total\n    total += 1\n    return v")
        d.expect(f"{run}({d.plain()})")
        d.expect("total")
    elif form == "docstring":
        d.put("'what is tested'\n...")
        d.expect(d.plain())
    elif form == "print":
        d.put(f"print('testing', {d.one(d.plain(), '1')})")
        d.expect(d.plain())
    elif form == "annotated":
        x = d.name()
        d.put(f"{x}: {d.one('int', 'list[int]', 'object')} = {d.plain()}")
        d.expect(x)
    elif form == "del":
        x = d.name()
        d.put(f"{x} = {d.plain()}\ndel {x}")
        d.expect(d.plain())
    elif form == "chained":
        x, y = d.name(), d.name()
        d.put(f"{x} = {y} = {d.plain()}")
        d.expect(x)
        d.expect(y)
    elif form == "swap":
        x, y = d.name(), d.name()
        d.put(f"{x}, {y} = 1, {d.plain()}\n{x}, {y} = {y}, {x}")
        d.expect(x)
    elif form == "string":
        d.put(f"assert '{{}}'.format({d.plain()}) != 'zz'")
    else:
        d.head("import collections")
        d.put(f"assert {d.plain()} != collections.Counter('zz')")


@rule("a builtin or the entry point shadowed")
def _(d: Draft) -> None:
    form = d.one(
        "lambda",
        "def",
        "parameter",
        "import",
        "loop",
        "except",
        "class",
        "comprehension",
        "del",
        "global",
        "entry",
        "prompt",
        "monkey",
        "exception",
        "walrus",
        "star import",
    )
    d.use("shadow: " + form)
    call = d.plain()
    if form == "lambda":
        d.put(
            d.one(
                "sorted = lambda v, **k: v",
                "len = lambda v: 2",
                "list = lambda v: v",
                "str = lambda v: v",
                "tuple = lambda v: v",
            )
        )
        d.expect(d.one(f"sorted({call})", f"len({call})", f"list({call})", f"str({call})", f"tuple({call})"))
        x = d.name()
        d.put(f"{x} = {d.one('list', 'str', 'tuple', 'sorted')}({call})\n{d.plain()}")
        d.expect(x)
    elif form == "def":
        name, x = d.one("sorted", "list", "str", "int"), d.name()
        d.put(f"def {name}(v):\n    return v\n{x} = {name}({call})\n{d.plain()}")
        d.expect(x)
    elif form == "parameter":
        run, x = d.name("run"), d.name()
        d.put(f"def {run}(list):\n    {x} = list({call})\n    {d.plain()}\n    return {x}")
        d.expect(f"{run}(lambda v: v)")
    elif form == "import":
        d.put("from copy import copy as deepcopy")
        x, a = d.name(), d.name()
        texts = d.texts()
        d.put(f"{a} = {texts[0]}")
        d.expect(f"{d.f}({', '.join([f'deepcopy({a})', *texts[1:]])})")
        d.expect(a)
    elif form == "loop":
        d.put(f"for str in [lambda v: v]:\n    got = str({call})\n{d.plain()}")
        d.expect("got")
    elif form == "except":
        d.put("try:\n    raise ValueError('x')\nexcept ValueError as sorted:\n    pass")
        d.expect(f"sorted({call})")
    elif form == "class":
        d.put(f"class list:\n    def __init__(self, v): self.v = v\ngot = list({call})\n{d.plain()}")
        d.expect("got.v")
    elif form == "comprehension":
        d.expect(f"[sorted({call}) for sorted in [lambda v: v]]")
    elif form == "del":
        d.put("len = 1\ndel len")
        d.expect(f"len(str({call}))")
    elif form == "global":
        run = d.name("run")
        d.put(f"def {run}():\n    global str\n    str = lambda v: v\n{run}()\ngot = str({call})\n{d.plain()}")
        d.expect("got")
    elif form == "entry":
        d.put(d.one(f"g = {d.f}\ngot = g({', '.join(d.texts())})", f"{d.f} = {d.f}\ngot = {call}", f"got = (lambda {d.f}: {d.f}(1))(lambda v: v)", f"got = [{d.f} for {d.f} in (1, 2)]",
                    f"def other({d.f}):\n    return {d.f}\ngot = other(3)", f"h = [{d.f}]\ngot = h[0]({', '.join(d.texts())})"))  # fmt: skip
        d.expect("got")
    elif form == "prompt":
        d.put("poly = lambda n, x: 3")
        d.expect(call)
    elif form == "monkey":
        d.put(
            d.one(
                "import copy\ncopy.deepcopy = lambda v: v",
                "import math\nmath.isclose = lambda *a: True",
                "import builtins\nbuiltins.fuzz = 1",
            )
        )
        d.expect(call)
    elif form == "exception":
        d.put("ValueError = KeyError")
        d.put(f"try:\n    got = {call}\nexcept ValueError:\n    got = 'raised'")
        d.expect("got")
    elif form == "walrus":
        d.expect(f"(sorted := (lambda v: v))({call})")
    else:
        d.head("from math import *")
        d.expect(f"pow(2, len(str({call})))")


# ------------------------------------------------------------------------------------------------ state that is shared


@rule("state of the interpreter")
def _(d: Draft) -> None:
    form = d.one(
        "random",
        "seed",
        "own random",
        "decimal",
        "digits",
        "warnings",
        "environment",
        "time",
        "id",
        "argv",
        "modules",
        "recursion",
        "hash",
        "shuffle",
        "sample",
        "own choice",
    )
    d.use("state: " + form)
    call = d.plain()
    if form == "random":
        d.head("import random")
        d.put(f"random.seed(3)\n{call}")
        d.expect("random.random()")
    elif form == "seed":
        d.head("import random")
        d.put("random.seed(0)")
        d.expect(call)
        d.expect("random.randint(0, 9)")
    elif form in ("own random", "own choice"):
        d.head("import random")
        d.put("rng = random.Random(3)")
        if d.spec.params[0] in ("ints", "ints1"):
            d.expect(
                _call_with(
                    d,
                    0,
                    d.one(
                        "[rng.randint(0, 5) for _ in range(3)]",
                        "rng.sample(range(9), 4)",
                        "[rng.choice((1, 2)) for _ in range(2)]",
                    ),
                )
            )
        else:
            d.expect(call)
        d.expect("rng.randint(0, 99)")
    elif form == "shuffle":
        d.head("import random")
        d.put(f"items = [1, 2, 3, 4]\nrandom.Random(1).shuffle(items)\n{call}")
        d.expect("items")
    elif form == "sample":
        d.head("import random")
        d.put(f"random.seed(1); items = random.sample(range(100), 3)\n{call}")
        d.expect("items")
    elif form == "decimal":
        d.head("import decimal")
        d.put(call)
        d.expect("str(decimal.Decimal(1) / 3)")
    elif form == "digits":
        d.put(call)
        d.put("try:\n    str(10 ** 5000)\nexcept ValueError:\n    kind = 'limited'\nelse:\n    kind = 'free'")
        d.expect("kind")
    elif form == "warnings":
        d.head("import warnings")
        d.put(f"{call}\nwarnings.warn('x')")
    elif form == "environment":
        d.head("import os")
        d.put(call)
        d.expect("os.environ.get('FUZZ')")
    elif form == "time":
        d.head("import time")
        d.put(f"start = time.time()\n{call}\nassert time.time() - start < 60")
    elif form == "id":
        d.put(f"got = {call}\nassert id(got) == id(got)")
        d.expect("got")
    elif form == "argv":
        d.head("import sys")
        d.expect(call)
        d.put("assert len(sys.argv) < 9")
    elif form == "modules":
        d.head("import sys")
        d.put(call)
        d.expect("'statistics' in sys.modules")
    elif form == "recursion":
        d.put(f"def down(n):\n    return n and down(n - 1)\n{call}")
        d.put("try:\n    got = down(2000)\nexcept RecursionError:\n    got = 'deep'")
        d.expect("got")
    else:
        d.expect(f"hash(str({call})) == hash(str({call}))")


@rule("the candidate itself")
def _(d: Draft) -> None:
    form = d.one(
        "name",
        "callable",
        "partial",
        "map",
        "passed",
        "attribute",
        "repr",
        "equal",
        "signature",
        "doc",
        "filter",
        "sorted key",
        "reduce",
        "type",
        "in",
        "stored",
    )
    d.use("itself: " + form)
    texts = d.texts()
    if form == "name":
        d.expect(d.one(f"{d.f}.__name__ != 'zz'", f"len({d.f}.__name__) > 0"))
    elif form == "callable":
        d.expect(f"callable({d.f})")
    elif form == "partial":
        d.head("import functools")
        d.expect(f"functools.partial({d.f}, {texts[0]})({', '.join(texts[1:])})")
    elif form == "map":
        d.expect(f"list(map({d.f}, {', '.join(f'[{t}]' for t in texts)}))")
    elif form == "passed":
        d.put("def use(fn, *args):\n    return fn(*args)")
        d.expect(f"use({d.f}, {', '.join(texts)})")
    elif form == "attribute":
        d.put(f"{d.f}.extra = 3")
        d.expect(f"{d.f}.extra")
    elif form == "repr":
        d.expect(f"len(repr({d.f})) > 3")
    elif form == "equal":
        d.expect(d.one(f"{d.f} == {d.f}", f"{d.f} is {d.f}", f"{d.f} != 3", f"{d.f} in [{d.f}]"))
    elif form == "signature":
        d.head("import inspect")
        d.put(f"assert inspect.signature({d.f})")
    elif form == "doc":
        d.expect(f"{d.f}.__doc__ is None or len({d.f}.__doc__) > 0")
    elif form == "filter":
        d.expect(f"list(filter(lambda v: {d.f}({', '.join(texts)}), [1, 2]))")
    elif form == "sorted key":
        d.expect(f"sorted([2, 1], key=lambda v: str({d.f}({', '.join(texts)})))")
    elif form == "reduce":
        d.head("import functools")
        d.expect(f"functools.reduce(lambda a, v: {d.f}({', '.join(texts)}), [1, 2], 0)")
    elif form == "type":
        d.expect(f"type({d.f}).__name__")
    elif form == "in":
        d.put(f"table = {{'it': {d.f}}}")
        d.expect(f"table['it']({', '.join(texts)})")
    else:
        d.put(f"class Box:\n    fn = staticmethod({d.f})")
        d.expect(f"Box.fn({', '.join(texts)})")
    d.expect(d.plain()) if d.chance(0.5) else None


@rule("a callback")
def _(d: Draft) -> None:
    if d.spec.params[0] not in _CALLBACKS:
        raise Unfit
    texts = d.texts()
    width = 2 if d.spec.params[0] == "fn2" else 1
    params = "t, v" if width == 2 else "v"
    form = d.one(
        "records",
        "counts",
        "raises",
        "pure def",
        "closure",
        "default",
        "sees answer",
        "changes",
        "two",
        "entry",
        "global",
        "generator",
        "method",
        "partial",
    )
    d.use("callback: " + form)
    rest = texts[1]
    if form == "records":
        d.put(f"seen = []\ngot = {d.f}(lambda {params}: seen.append(v) or {d.one('v', '1', 'len(seen)')}, {rest})")
        d.expect("got")
        d.expect("seen")
    elif form == "counts":
        d.put(
            f"count = [0]\ndef step({params}):\n    count[0] += 1\n    return {d.one('v', 'count[0]')}\ngot = {d.f}(step, {rest})"
        )
        d.expect("got")
        d.expect("count[0]") if d.chance(0.7) else None
    elif form == "raises":
        d.put(
            f"def step({params}):\n    if v == 2: raise {d.one('KeyError(2)', 'ValueError', 'StopIteration')}\n    return v"
        )
        d.put(f"try:\n    got = {d.f}(step, {rest})\nexcept (KeyError, ValueError):\n    got = 'raised'")
        d.expect("got")
    elif form == "pure def":
        d.put(f"def step({params}):\n    return {d.one('v', 'v * 2', 'bool(v)', '[v]')}")
        d.expect(f"{d.f}(step, {rest})")
    elif form == "closure":
        d.put(f"def make(k):\n    return lambda {params}: v + k")
        d.expect(f"{d.f}(make(2), {rest})")
    elif form == "default":
        d.expect(f"{d.f}(lambda {params}, k=2: v * k, {rest})")
    elif form == "sees answer":
        x = d.name()
        d.put(f"{x} = {d.plain()}")
        d.expect(f"{d.f}(lambda {params}: {d.one(x, f'{x} == v', f'str({x})')}, {rest})")
    elif form == "changes":
        d.put("shared = [1]")
        d.expect(f"{d.f}(lambda {params}: {d.one('shared', 'shared + [v]', 'shared.append(v) or shared')}, {rest})")
        d.expect("shared")
    elif form == "two":
        d.put(f"g2 = lambda {params}: v")
        d.expect(f"{d.f}(g2, {rest})")
        d.expect(f"{d.f}(g2, {d.texts()[1]})")
    elif form == "entry":
        d.expect(f"{d.f}(lambda {params}: {d.f}(lambda *a: 1, [1]), {rest})")
    elif form == "global":
        d.put(f"scale = 2\ndef step({params}):\n    return v * scale\nfirst = {d.f}(step, {rest})\nscale = 3")
        d.expect(f"{d.f}(step, {rest})")
    elif form == "generator":
        d.expect(f"{d.f}(lambda {params}: (i for i in range(2)), {rest}) is not None")
    elif form == "method":
        d.expect(
            f"{d.f}({d.one('[1, 2].count', 'str', '{1: 2}.get', 'dict(a=1).get')}, {rest})" if width == 1 else d.plain()
        )
    else:
        d.head("import functools")
        d.expect(f"{d.f}(functools.partial(lambda k, {params}: v + k, 1), {rest})")


@rule("a generator answered")
def _(d: Draft) -> None:
    if d.spec.result != "gen":
        raise Unfit
    g = d.name("g")
    d.put(f"{g} = {d.plain()}")
    for _ in range(d.one(1, 2, 3)):
        d.expect(
            d.one(
                f"next({g}, None)",
                f"list({g})",
                f"sum({g})",
                f"next({g})",
                f"{g} is iter({g})",
                f"len({g})",
                f"1 in {g}",
                f"[v for v in {g}]",
                f"list(zip({g}, [1]))",
                f"bool({g})",
            )
        )
        d.put(f"more = {d.plain()}") if d.chance(0.25) else None
    d.expect("list(more)") if any("more = " in str(line[1]) for line in d.lines) and d.chance(0.4) else None


@rule("nan in the tests")
def _(d: Draft) -> None:
    form = d.one("compare", "container", "argument", "is", "set", "count")
    d.put("nan = float('nan')")
    call = d.plain()
    if form == "compare":
        d.expect(f"{call} == nan")
    elif form == "container":
        d.expect(d.one(f"[{call}] == [nan]", f"{call} in [nan]", f"({call}, nan) == ({call}, nan)", f"{call} == [nan]"))
    elif form == "argument":
        if d.spec.params[0] in ("ints", "floats", "ints1"):
            x = d.name()
            d.put(f"{x} = {_call_with(d, 0, '[nan, 1]')}")
            d.expect(
                d.one(f"{x} == [nan, 1]", f"nan in {x}", f"str({x})", f"{x} == {x}", f"{x}[0] is nan")
            ) if d.spec.result in _LISTS else d.expect(f"str({x})")
        else:
            d.expect(call)
    elif form == "is":
        d.expect(f"{call} is nan")
    elif form == "set":
        d.expect(f"len({{nan, str({call})}})")
    else:
        d.expect(f"[nan, nan].count({call})")


@rule("identity")
def _(d: Draft) -> None:
    x = d.name()
    d.put(f"{x} = {d.plain()}")
    d.expect(d.one(f"{x} is {x}", f"{x}[0] is {x}[0]", f"{x} is not None", f"{x} is None", f"{x} is True", f"{x} is ()", f"{x}[0] is {x}[-1]", f"{x} is 1", f"{d.plain()} is not {x}",
                   f"any(v is {x} for v in [{x}])", f"{x} in [{x}]", f"len({{id(v) for v in {x}}})", f"{x}[0] is {x}[1]", f"id({x}) == id({x})", f"{x} is not {x}", f"[{x}].index({x})"))  # fmt: skip


@rule("rare statements")
def _(d: Draft) -> None:
    form = d.one(
        "with",
        "class",
        "exec",
        "assert in class",
        "yield",
        "async",
        "star",
        "lambda call",
        "nonlocal",
        "decorator",
        "import late",
        "try import",
        "global read",
        "comprehension scope",
        "f-string",
        "slice store",
    )
    d.use("rare: " + form)
    call = d.plain()
    if form == "with":
        d.head("import contextlib")
        d.put("with contextlib.nullcontext():")
        d.depth += 1
        d.expect(call)
        d.depth -= 1
    elif form == "class":
        d.put("class Point:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x")
        d.expect(f"Point({call}) == Point({call})")
    elif form == "exec":
        d.put(d.one("exec('y = 1')", "y = eval('1 + 1')", "y = 1"))
        d.expect(f"[{call}, y]")
    elif form == "assert in class":
        d.put("class TestIt:\n    def test_one(self):")
        d.depth += 2
        d.expect(call)
        d.depth -= 2
        d.put("TestIt().test_one()")
    elif form == "yield":
        d.put(f"def cases():\n    yield ({', '.join(d.texts())},)\n    yield ({', '.join(d.texts())},)")
        d.put(f"for row in cases():\n    assert {d.f}(*row) != 'zz'")
    elif form == "async":
        d.put(
            f"async def run():\n    return {call}\ntry:\n    run().send(None)\nexcept StopIteration as stop:\n    got = stop.value"
        )
        d.expect("got")
    elif form == "star":
        d.expect(f"[*[1], *[{call}]]")
    elif form == "lambda call":
        d.expect(f"(lambda: {call})()")
    elif form == "nonlocal":
        d.put(
            f"def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return {call}\n    inner()\n    return [inner(), n]"
        )
        d.expect("outer()")
    elif form == "decorator":
        d.put(
            f"def twice(fn):\n    def inner(*args):\n        fn(*args)\n        return fn(*args)\n    return inner\n@twice\ndef run():\n    return {call}"
        )
        d.expect("run()")
    elif form == "import late":
        d.put("import math as mm")
        d.put(f"assert {call} != mm.e")
    elif form == "try import":
        d.put("try:\n    import missing_module\nexcept ImportError:\n    missing_module = None")
        d.expect(call)
    elif form == "global read":
        d.put(d.one("assert 'fuzz' not in globals()", "assert len(dir()) > 0", "assert __name__"))
        d.expect(call)
    elif form == "comprehension scope":
        d.put("i = 5")
        d.expect(f"[[i for i in range(2)], i, {call}]")
    elif form == "f-string":
        x = d.name()
        d.put(f"{x} = {call}")
        d.expect(
            d.one(f"f'{{{x}!r:>10}}'", f"f'{{{x}}}'", f"f'{{{x}=}}'", f"'%r' % ({x},)", f"'{{0}} {{0}}'.format({x})")
        )
    else:
        d.put(f"items = [1, 2, 3]\nitems[1:2] = [{call}]")
        d.expect("items")


@rule("no import of a module")
def _(d: Draft) -> None:
    used = [m for m in ("math", "json", "re") if f"import {m}\n" in d.spec.source]
    if not used:
        raise Unfit
    d.head(f"import {used[0]}")
    attribute = {"math": "math.isclose(1.0, 1.0)", "json": "json.dumps([1])", "re": "bool(re.match('a', 'ab'))"}[
        used[0]
    ]
    d.expect(d.one(attribute, f"{attribute} and {d.plain()}"))
    d.expect(d.plain())


@rule("core: the prompt's helper")
def _(d: Draft) -> None:
    if not d.spec.helper:
        raise Unfit
    d.expect(
        d.one(
            f"poly({d.plain()}, 2)",
            f"poly(1, 2) + {d.plain()}",
            f"{d.plain()} == poly(1, 0)",
            f"abs(poly({d.plain()}, 1)) < 99",
        )
    )
