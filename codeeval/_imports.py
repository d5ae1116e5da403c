"""What is done once, where something is first used: a fork waits until no thread is in the middle of it.

What a thread has locked when another one forks stays locked in the copy, whose only thread is the one that forked. The
lock of a module that was being imported is one of these, the one under which `tempfile` chooses its directory another:
the copy's first use of it would wait for ever.
"""

from __future__ import annotations

import concurrent.futures.thread
import logging
import os
import threading

__all__ = ["importing"]

importing = threading.RLock()
"""Held around late imports and uses of `tempfile`. A thread that holds it may fork and does not wait for itself."""

# What these two lock at a fork, the imports that are waited for need, too. The last that is registered locks first, so
# they must have registered theirs when we do.
_ = logging, concurrent.futures.thread

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)
