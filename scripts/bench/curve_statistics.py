"""Statistics of curves over seeds, and their tables: what comparisons of searches share."""

import math


def signed_rank_p(differences):
    """One-sided Wilcoxon signed-rank test: the probability of differences as large as these if none was to be expected.
    Exact without ties, as scipy's; else by the normal distribution, with corrections for ties and continuity."""
    differences = [difference for difference in differences if difference != 0]
    n = len(differences)
    if n == 0:
        return 1.0
    order = sorted(range(n), key=lambda i: abs(differences[i]))
    ranks, ties, begin = [0.0] * n, 0, 0
    while begin < n:
        end = begin
        while end < n and abs(differences[order[end]]) == abs(differences[order[begin]]):
            end += 1
        for i in order[begin:end]:
            ranks[i] = (begin + 1 + end) / 2
        ties += (end - begin) ** 3 - (end - begin)
        begin = end
    positive = sum(rank for rank, difference in zip(ranks, differences) if difference > 0)
    if ties == 0 and n <= 50:
        ways = [1] + [0] * (n * (n + 1) // 2)  # sets of ranks by their sum
        for rank in range(1, n + 1):
            for total in range(len(ways) - 1, rank - 1, -1):
                ways[total] += ways[total - rank]
        return sum(ways[int(positive):]) / 2 ** n
    deviation = math.sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24)
    return 0.5 * math.erfc((positive - n * (n + 1) / 4 - 0.5) / deviation / math.sqrt(2))


def percentile(values, share):
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def aligned(rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
