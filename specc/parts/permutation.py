"""A shuffle that is computed, not stored."""

from specc.parts.keyed import key_number


def permute(index: int, n: int, *key: object) -> int:
    """Where `index` lies after [0, n) is shuffled by `key`: no rank holds a shuffled list.

    A Feistel network permutes the next larger 4**half; an image outside [0, n) is permuted again
    until it falls inside, which takes fewer than four turns on average.
    """
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        high, low = index >> half, index & mask
        for turn in range(4):
            high, low = low, high ^ (key_number(*key, turn, low) & mask)
        index = high << half | low
        if index < n:
            return index
