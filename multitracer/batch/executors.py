"""Where measurements are analysed: processes of this machine, a Dask cluster, or what the caller brings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from multitracer.batch import guard
from multitracer.model.errors import UsageError
from multitracer.model.frozen import frozen

RETRIES = 3

Run = Callable[[guard.Job, guard.Job], guard.Outcome]


@frozen
class Where:
    """The choice.

    Attributes
    ----------
    processes : int or None
        Of this machine; as many as it has cores by default.
    dask : int
        Workers of a Dask cluster to be started on this machine; 0 for none.
    scheduler : str or None
        Address of a running Dask scheduler.
    executor : concurrent.futures.Executor or None
        One of the caller's; it is not shut down.
    """

    processes: int | None = None
    dask: int = 0
    scheduler: str | None = None
    executor: Executor | None = None

    @property
    def workers_here(self) -> int:
        """Processes that share the memory of this machine."""
        return self.dask or self.processes or cores()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_memory_bytes(workers: int) -> int:
    """Four fifths of the machine's memory, shared by the workers."""
    return int(0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // max(workers, 1)


@contextmanager
def opened(where: Where) -> Iterator[tuple[Executor, Run]]:
    """The executor of a choice, and the function to submit to it.

    Raises
    ------
    UsageError
        Two places at once, no Dask installed, or no scheduler at that address.
    """
    if sum(map(bool, (where.executor, where.dask, where.scheduler))) > 1:
        raise UsageError("choose one of --dask, --scheduler and an executor of your own")
    if where.executor is not None:
        yield where.executor, guard.run_job
    elif where.dask or where.scheduler:
        with _dask(where) as executor:
            yield executor, guard.run_job
    else:
        # Each thread only waits for a process of its own.
        guards = guard.Guards()
        threads = ThreadPoolExecutor(where.processes or cores(), thread_name_prefix="multitracer")
        try:
            yield threads, guards.run
        finally:
            guards.kill()
            threads.shutdown(wait=True, cancel_futures=True)
            guards.close()


@contextmanager
def _dask(where: Where) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError("a Dask cluster needs its package: pip install 'multitracer[cluster]'") from error
    cluster = None
    if where.dask:
        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=where.dask,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            protocol="tcp://",
        )
    try:
        try:
            client = Client(  # type: ignore[no-untyped-call]
                cluster or where.scheduler, timeout="15s", set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"--scheduler {where.scheduler}: no scheduler answers there: {error}") from error
        with client:
            executor: Executor = client.get_executor(retries=RETRIES)  # type: ignore[no-untyped-call]
            yield executor
    finally:
        if cluster is not None:
            cluster.close()
