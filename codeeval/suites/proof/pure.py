"""What tests may use in the fragment that is judged split: tables of modules, builtins, methods and attributes.

What stands here computes on values, reads no state that a candidate could set (but for settings that travel with each
answer), changes nothing but a container of the tests, and gives the same for a copy of the same exact type.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ATTRIBUTES",
    "BUILTINS",
    "CHANGES",
    "CHANGE_FIRST",
    "COMPUTES",
    "DRAWS",
    "KINDS",
    "METHODS",
    "MODULES",
    "NANS",
    "ORDERED",
    "ORDERLESS",
    "REMOVES",
    "SCALARS",
    "SCALAR_METHODS",
    "SHARING_METHODS",
    "TAKES_FUNCTION",
    "TEXTS",
    "TYPE_METHODS",
    "UNORDERED",
    "VALUES",
    "Module",
]


class Module(NamedTuple):
    """What is known of a module."""

    members: frozenset[str] | None
    "Functions and classes that may be used; None: all that it has."
    constants: frozenset[str] = frozenset()
    gives: str = "data"
    """What its functions return for data of the tests: immutable `data`, a `container` that may share parts with the
    arguments, or an `own` value of a type that the codec does not carry."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMPY = Module(
    _words(
        "array asarray zeros ones full eye identity arange linspace zeros_like ones_like allclose isclose array_equal "
        "array_equiv all any sum prod mean median std var min max amin amax abs absolute sort argsort round around "
        "sqrt exp log sin cos tan dot matmul outer cross diag trace transpose concatenate stack vstack hstack unique "
        "reshape cumsum cumprod floor ceil isnan isinf isfinite isscalar ndim shape size count_nonzero array_split "
        "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bool_ integer "
        "floating number ndarray generic"
    ),
    _words("pi e inf newaxis"),
    "container",
)

MODULES: dict[str, Module] = {
    "__future__": Module(None),
    "base64": Module(None),
    "bisect": Module(_words("bisect bisect_left bisect_right insort insort_left insort_right")),
    "cmath": Module(None, _words("pi e tau inf infj")),
    "collections": Module(_words("Counter OrderedDict defaultdict deque"), gives="container"),
    "collections.abc": Module(
        _words(
            "Iterable Iterator Sequence MutableSequence Mapping MutableMapping Set MutableSet Hashable Sized Container "
            "Collection"
        ),
        gives="own",
    ),
    "contextlib": Module(_words("suppress"), gives="own"),
    "copy": Module(_words("copy deepcopy"), gives="container"),
    "datetime": Module(_words("date datetime time timedelta timezone"), _words("MINYEAR MAXYEAR UTC")),
    "decimal": Module(_words("Decimal")),
    "fractions": Module(_words("Fraction")),
    "functools": Module(_words("reduce"), gives="container"),
    "hashlib": Module(_words("md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s"), gives="own"),
    "heapq": Module(_words("nlargest nsmallest heapify heappush heappop merge"), gives="container"),
    "itertools": Module(
        _words(
            "accumulate chain combinations combinations_with_replacement compress filterfalse islice pairwise "
            "permutations product starmap takewhile dropwhile zip_longest"
        ),
        gives="container",
    ),
    "json": Module(_words("loads dumps"), gives="container"),
    "math": Module(None, _words("pi e tau inf")),
    "numbers": Module(_words("Number Complex Real Rational Integral"), gives="own"),
    "numpy": _NUMPY,
    "numpy.testing": Module(
        _words("assert_allclose assert_array_equal assert_array_almost_equal assert_almost_equal assert_equal")
    ),
    "operator": Module(
        _words(
            "add sub mul truediv floordiv mod neg lt le eq ne ge gt and_ or_ xor not_ concat contains getitem abs pow"
        )
    ),
    "pytest": Module(_words("approx raises"), gives="own"),
    "random": Module(_words("Random"), gives="own"),
    "re": Module(
        _words("match search fullmatch findall split sub subn escape compile"),
        _words("IGNORECASE I MULTILINE M DOTALL S VERBOSE X ASCII A"),
        "own",
    ),
    "statistics": Module(
        _words("mean fmean median median_low median_high mode multimode pstdev pvariance stdev variance")
    ),
    "string": Module(
        _words("capwords"),
        _words(
            "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation whitespace"
        ),
    ),
    "textwrap": Module(_words("dedent indent fill wrap shorten")),
    "typing": Module(None, gives="own"),
    "unicodedata": Module(None),
    "zlib": Module(_words("crc32 adler32 compress decompress")),
}

#: Values that stand in classes.
VALUES = _words("datetime.timezone.utc datetime.date.min datetime.date.max datetime.datetime.min datetime.datetime.max")
NANS = _words("math.nan cmath.nan cmath.nanj numpy.nan numpy.NaN")

#: Builtins whose result nobody can change, whatever they are given.
_SCALAR_BUILTINS = _words(
    "len int float bool complex str repr isinstance issubclass ord chr bytes format all any hex bin oct ascii print "
    "callable"
)
#: Builtins whose result may share parts with the arguments.
_SHARING_BUILTINS = _words(
    "list tuple set frozenset dict sorted reversed zip enumerate iter next min max sum abs round divmod pow map filter "
    "range slice type bytearray"
)
BUILTINS = _SCALAR_BUILTINS | _SHARING_BUILTINS

_SCALAR_MEMBERS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "json": "dumps",
        "numpy": "allclose isclose array_equal array_equiv all any isscalar ndim count_nonzero isnan isinf isfinite",
        "operator": "lt le eq ne ge gt not_ contains",
        "re": "escape",
        "zlib": "crc32 adler32",
    }.items()
    for name in names.split()
) | frozenset(
    f"{module}.{name}"
    for module in ("base64", "cmath", "math", "statistics", "textwrap", "unicodedata", "numpy.testing", "bisect")
    for name in (dir(__import__(module)) if MODULES[module].members is None else MODULES[module].members or ())
    if not name.startswith(("_", "insort"))
)
SCALARS = _SCALAR_BUILTINS | _SCALAR_MEMBERS
#: What does not show in which order it has got items, so that the order of a set need not be carried.
ORDERLESS = _words(
    "len bool isinstance all any set frozenset issubset issuperset isdisjoint union intersection difference"
) | _words("symmetric_difference type callable")
#: Builtins that get items in some order and do not show it.
UNORDERED = _words("all any len set frozenset sorted min max")
#: What calls the function that it gets first.
TAKES_FUNCTION = _words("map filter functools.reduce itertools.starmap itertools.takewhile itertools.dropwhile")
TAKES_FUNCTION |= _words("itertools.filterfalse")
#: What shows it.
ORDERED = _words("list tuple iter next enumerate zip map filter reversed dict")
#: What computes with numbers.
COMPUTES = _words("sum round pow divmod abs format")
#: What shows the exact type of a value, or of its parts.
TEXTS = _words("str repr format ascii print json.dumps")
#: Builtin callable → the kind of container that it makes.
KINDS = {
    "list": "list",
    "sorted": "list",
    "set": "set",
    "frozenset": "set",
    "dict": "dict",
    "iter": "iterator",
    "map": "iterator",
    "filter": "iterator",
    "reversed": "iterator",
    "bytearray": "any",
    "tuple": "tuple",
    "Counter": "any",
    "deque": "any",
    "OrderedDict": "dict",
    "defaultdict": "any",
    "accumulate": "iterator",
    "chain": "iterator",
    "combinations": "iterator",
    "combinations_with_replacement": "iterator",
    "compress": "iterator",
    "filterfalse": "iterator",
    "islice": "iterator",
    "pairwise": "iterator",
    "permutations": "iterator",
    "product": "iterator",
    "starmap": "iterator",
    "takewhile": "iterator",
    "dropwhile": "iterator",
    "zip_longest": "iterator",
    "merge": "iterator",
}
#: Functions that change the container that they get first.
CHANGE_FIRST = _words("insort insort_left insort_right heapify heappush heappop")

_TEXT_METHODS = (
    "capitalize casefold center count encode decode endswith expandtabs find format format_map index isalnum isalpha "
    "isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower "
    "lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title translate upper zfill hex"
)
_NUMBER_METHODS = "bit_length bit_count conjugate is_integer as_integer_ratio to_bytes limit_denominator"
_SET_METHODS = "union intersection difference symmetric_difference isdisjoint issubset issuperset"
_DATE_METHODS = "weekday isoweekday isoformat isocalendar total_seconds toordinal date time utcoffset"
_DECIMAL_METHODS = "is_nan is_finite is_infinite is_zero is_signed as_tuple copy_abs copy_negate"
_ARRAY_METHODS = (
    "all any sum mean min max tolist item flatten ravel astype round reshape argmax argmin std var prod dot"
)
_OTHER_METHODS = "keys values items get copy most_common elements total group groups start end span match search"
_OTHER_METHODS += " fullmatch findall sub subn digest hexdigest"
METHODS = (
    _words(_TEXT_METHODS)
    | _words(_NUMBER_METHODS)
    | _words(_SET_METHODS)
    | _words(_DATE_METHODS)
    | _words(_DECIMAL_METHODS)
    | _words(_ARRAY_METHODS)
    | _words(_OTHER_METHODS)
)
TYPE_METHODS = _words(_TEXT_METHODS + " bit_length is_integer fromisoformat fromtimestamp strptime combine fromordinal")
TYPE_METHODS -= _words("fromtimestamp strptime")  # the time zone and the locale are the process'
#: Methods whose result nobody can change, whatever the answer is.
SCALAR_METHODS = _words(
    _TEXT_METHODS + " " + _NUMBER_METHODS + " weekday isoweekday isoformat total_seconds toordinal isdisjoint issubset "
    "issuperset all any digest hexdigest is_nan is_finite is_infinite is_zero is_signed"
) - _words("split rsplit splitlines partition rpartition replace conjugate as_integer_ratio")
#: Methods whose result shares parts with their owner.
SHARING_METHODS = _words("values get copy elements")
ATTRIBUTES = _words(
    "real imag numerator denominator year month day hour minute second microsecond days seconds microseconds tzinfo "
    "shape dtype ndim size T itemsize start stop step maxlen __name__"
)
#: Methods that change their owner.
CHANGES = _words(
    "append extend insert add update pop remove sort reverse clear setdefault popitem discard appendleft popleft "
    "extendleft rotate fill resize intersection_update difference_update symmetric_difference_update subtract"
)
REMOVES = _words("remove sort reverse clear discard rotate intersection_update difference_update")
#: Methods of the tests' own `random.Random(seed)` that give numbers.
DRAWS = _words(
    "random randint randrange uniform gauss normalvariate triangular betavariate expovariate getrandbits choice "
    "choices sample shuffle randbytes"
)
