"""Counts KV pages: free pages, references, and the page tables of sequences. It has no tensors.

Attention on a CPU is fast over keys that lie side by side, so pages are allocated in *runs* (first page, number of
pages). A sequence continues where its last page ends as long as it can. A new one starts in the middle of the largest
gap, so that both neighbours have room to grow.

Source: page tables and shared pages after vLLM (arXiv 2309.06180); growing runs after extents of file systems.
"""

from __future__ import annotations

from collections.abc import Iterable

from potluck.protocol.codes import Code, RemoteError

PAGE_TOKENS = 16

Run = tuple[int, int]
"""First page and number of pages."""


class PagePool:
    """`num_pages` pages, each free or held by one or several page tables."""

    def __init__(self, num_pages: int) -> None:
        self.num_pages = num_pages
        self.free_pages = num_pages
        self._holders = [0] * num_pages
        self._gaps = {0: num_pages} if num_pages else {}  # first page of each gap -> page after it

    def is_shared(self, page: int) -> bool:
        return self._holders[page] > 1

    def allocate(self, count: int, *, after: int | None = None) -> list[Run]:
        """Allocate `count` pages in as few runs as possible, from the page behind `after` on if that is free.

        Raises:
            RemoteError: NO_MEMORY, and nothing was allocated.
        """
        if count > self.free_pages:
            raise RemoteError(Code.NO_MEMORY, f"{count} pages of cache are needed, {self.free_pages} are free")
        runs: list[Run] = []
        if count and after is not None and after + 1 in self._gaps:
            runs.append(self._occupy(after + 1, min(count, self._gaps[after + 1] - after - 1)))
            count -= runs[0][1]
        while count:
            start, end = max(self._gaps.items(), key=lambda gap: gap[1] - gap[0])
            taken = min(count, end - start)
            # No neighbour on the left needs room to grow at the start of the pool.
            middle = start if start == 0 else start + (end - start - taken) // 2
            runs.append(self._occupy(middle, taken))
            count -= taken
        return runs

    def share(self, runs: Iterable[Run]) -> None:
        """Add one holder to each of these pages."""
        for start, count in runs:
            for page in range(start, start + count):
                self._holders[page] += 1

    def release(self, runs: Iterable[Run]) -> list[Run]:
        """Remove one holder from each of these pages; return the pages that have none left."""
        freed: list[Run] = []
        for start, count in runs:
            for page in range(start, start + count):
                self._holders[page] -= 1
                if not self._holders[page]:
                    join(freed, (page, 1))
        for run in freed:
            self._vacate(run)
        return freed

    def _occupy(self, start: int, count: int) -> Run:
        """Remove pages from the gap that contains them."""
        gap = max(first for first in self._gaps if first <= start)
        end = self._gaps.pop(gap)
        for left, right in ((gap, start), (start + count, end)):
            if left < right:
                self._gaps[left] = right
        self._holders[start : start + count] = [1] * count
        self.free_pages -= count
        return start, count

    def _vacate(self, run: Run) -> None:
        """Make a gap of these pages, joined with the gaps beside it."""
        start, end = run[0], run[0] + run[1]
        left = next((first for first, last in self._gaps.items() if last == start), start)
        self._gaps[left] = self._gaps.pop(end, end)
        self.free_pages += run[1]


class PageTable:
    """The pages of one sequence, in order: its pages [first, end). Earlier pages have been released.

    Attributes:
        runs: never changed in place, so callers may keep it.
    """

    def __init__(self, first: int = 0, runs: Iterable[Run] = ()) -> None:
        self.first = first
        self.runs: tuple[Run, ...] = tuple(runs)

    @property
    def num_pages(self) -> int:
        return sum(count for _, count in self.runs)

    @property
    def end(self) -> int:
        return self.first + self.num_pages

    @property
    def last_page(self) -> int | None:
        return sum(self.runs[-1]) - 1 if self.runs else None

    def append(self, runs: Iterable[Run]) -> None:
        joined = list(self.runs)
        for run in runs:
            join(joined, run)
        self.runs = tuple(joined)

    def cut(self, end: int) -> tuple[Run, ...]:
        """Keep the pages before `end` and return the others."""
        kept, removed = _split(self.runs, max(end - self.first, 0))
        self.runs = kept
        return removed

    def drop(self, first: int) -> tuple[Run, ...]:
        """Keep the pages from `first` on and return the others."""
        if first <= self.first:
            return ()
        removed, self.runs = _split(self.runs, first - self.first)
        self.first = first
        return removed

    def runs_from(self, page: int) -> tuple[Run, ...]:
        """Return the runs of the sequence's pages [page, end); `page` must be held."""
        return self.runs if page == self.first else _split(self.runs, page - self.first)[1]


def join(runs: list[Run], run: Run) -> None:
    """Append a run, extending the last one where they touch."""
    if runs and sum(runs[-1]) == run[0]:
        runs[-1] = (runs[-1][0], runs[-1][1] + run[1])
    else:
        runs.append(run)


def pages_of(tokens: int) -> int:
    """Return how many pages hold `tokens` tokens."""
    return -(-tokens // PAGE_TOKENS)


def slots_in(runs: Iterable[Run], skip: int, count: int) -> list[tuple[int, int]]:
    """Return (first slot, number of slots) for `count` tokens of these pages after the first `skip`.

    Raises:
        ValueError: the pages hold fewer tokens, or `skip` is negative.
    """
    found = []
    if skip < 0:
        raise ValueError("the pages begin after the tokens")
    for start, pages in runs:
        size = pages * PAGE_TOKENS
        if skip < size and count > 0:
            taken = min(size - skip, count)
            found.append((start * PAGE_TOKENS + skip, taken))
            count -= taken
        skip = max(skip - size, 0)
    if count > 0:
        raise ValueError(f"the pages lack room for {count} tokens")
    return found


def _split(runs: tuple[Run, ...], count: int) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Return the first `count` pages of the runs, and the rest."""
    for index, (start, size) in enumerate(runs):
        if count < size:
            left = runs[:index] + (((start, count),) if count else ())
            return left, ((start + count, size - count), *runs[index + 1 :])
        count -= size
    return runs, ()
