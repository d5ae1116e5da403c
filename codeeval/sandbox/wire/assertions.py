"""Assertions of unittest: which arguments are operands, where contexts make them, and how comparisons are marked."""

from __future__ import annotations

__all__ = ["COMPARED", "CONTEXTS", "OPERANDS"]

#: Assertion → how many of its first arguments are operands; what comes after them is a message.
OPERANDS = {
    "assertTrue": 1,
    "assertFalse": 1,
    "assertEqual": 2,
    "assertNotEqual": 2,
    "assertAlmostEqual": 3,
    "assertNotAlmostEqual": 3,
    "assertIn": 2,
    "assertNotIn": 2,
    "assertIs": 2,
    "assertIsNot": 2,
    "assertIsNone": 1,
    "assertIsNotNone": 1,
    "assertIsInstance": 2,
    "assertNotIsInstance": 2,
    "assertGreater": 2,
    "assertGreaterEqual": 2,
    "assertLess": 2,
    "assertLessEqual": 2,
    "assertRegex": 2,
    "assertNotRegex": 2,
    "assertCountEqual": 2,
    "assertSequenceEqual": 2,
    "assertListEqual": 2,
    "assertTupleEqual": 2,
    "assertSetEqual": 2,
    "assertDictEqual": 2,
    "assertMultiLineEqual": 2,
}
#: Classes of contexts, which make their assertion when they are left; the names of the assertions are found there.
CONTEXTS = {
    "_AssertRaisesContext": ("assertRaises", "assertRaisesRegex"),
    "_AssertWarnsContext": ("assertWarns", "assertWarnsRegex"),
    "_AssertLogsContext": ("assertLogs", "assertNoLogs"),
}
#: The name under which tests find the function that makes their comparisons (see `judge.witness.read`).
COMPARED = "__codeeval_compared__"
