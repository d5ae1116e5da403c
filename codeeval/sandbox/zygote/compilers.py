"""The warm compilers of a zygote."""

from __future__ import annotations

import os
from typing import Dict, Sequence, Tuple

from codeeval.sandbox.child import compiler
from codeeval.sandbox.kernel import namespaces, tree
from codeeval.sandbox.zygote import jobs

__all__ = ["Services"]

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
#: More descriptors than a zygote has.
_MOST_FDS = 64


class Services:
    """The warm compilers of a zygote, by the slots that the judge gives them."""

    def __init__(self, job: jobs.Job, work: str, work_bytes: int) -> None:
        self.job = job
        self.work = work
        self.work_bytes = work_bytes
        self.flags = job.flags | namespaces.OWN_MOUNTS | (namespaces.OWN_IPC if job.own_ipc else 0)
        self.pids: Dict[int, int] = {}

    def start(self, slot: int, limits: Sequence[int], fds: Sequence[int]) -> None:
        """Start one; where that fails, its socket is closed, which is heard.

        Args:
            slot: its name.
            limits: memory bytes, file bytes, threads.
            fds: its socket and its log.
        """
        memory_bytes, file_bytes, threads = limits
        tasks = threads + self.count_tasks()
        try:
            pid = self.job.clone_apart(self.flags)
        except OSError:
            return
        if pid:
            self.pids[slot] = pid
            return
        try:
            os.dup2(fds[0], 0)
            for standard in (1, 2):  # a runtime may have something to say itself
                os.dup2(fds[1], standard)
            os.closerange(jobs.SOCKET_FD, _MOST_FDS)
            self.job.enter_service(self.work, self.work_bytes, memory_bytes, file_bytes, tasks)
            compiler.become(self.job.confine_service)
        finally:
            os._exit(1)

    def look(self, slot: int) -> Tuple[float, int]:
        """Return the CPU seconds and the resident bytes of one, as far as they can be seen."""
        pid = self.pids.get(slot, 0)
        pages = tree.read("%d/statm" % pid, self.job.proc_fd).split()
        return (jobs.clock(pid) if pid else 0.0), int(pages[1]) * _PAGE_BYTES if len(pages) > 1 else 0

    def end(self, slot: int) -> Tuple[int, float, float, int, int]:
        """End one, say how it ended."""
        return jobs.end(self.pids.pop(slot, 0), 0, self.flags)

    def end_all(self) -> None:
        """End all."""
        for slot in list(self.pids):
            self.end(slot)

    def count_tasks(self) -> int:
        """Count their threads: the kernel counts them together with a job's."""
        return sum(tree.count_threads(pid, self.job.proc_fd) for pid in self.pids.values())
