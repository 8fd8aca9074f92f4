"""Samples: every split sees the same, an epoch sees each window once, labels follow ids."""

import array
import itertools
from pathlib import Path

import pytest
import torch

from specc.parts.token_files import token_files
from specc.parts.windows import check_ids, window_start, windows

TOKENS = torch.arange(1000)
LENGTH = 24


def all_of(rows: int, first: int = 0, shuffle: int | None = 5) -> torch.Tensor:
    return windows(TOKENS, first, range(rows), range(LENGTH), LENGTH, shuffle)[0]


@pytest.mark.parametrize("shuffle", [None, 0, 5])
@pytest.mark.parametrize(("dp", "cp"), [(1, 1), (4, 1), (1, 4), (2, 3), (8, 24)])
def test_any_split_gives_the_pieces_of_the_whole(dp: int, cp: int, shuffle: int | None) -> None:
    whole = windows(TOKENS, 100, range(8), range(LENGTH), LENGTH, shuffle)
    height, width = 8 // dp, LENGTH // cp

    for i, j in itertools.product(range(dp), range(cp)):
        rows, columns = range(i * height, (i + 1) * height), range(j * width, (j + 1) * width)
        part = windows(TOKENS, 100, rows, columns, LENGTH, shuffle)
        for piece, of_whole in zip(part, whole, strict=True):
            assert torch.equal(
                piece, of_whole[rows.start : rows.stop, columns.start : columns.stop]
            )


@pytest.mark.parametrize("shuffle", [None, 0])
def test_a_label_is_the_token_that_follows(shuffle: int | None) -> None:
    ids, labels = windows(TOKENS, 0, range(100), range(6, 12), LENGTH, shuffle)

    assert ids.dtype == labels.dtype == torch.int64
    assert torch.equal(labels, ids + 1)  # the tokens count up


@pytest.mark.parametrize("size", [25, 26, 48, 49, 72, 73, 96, 97, 1000])
def test_no_sample_leaves_the_tokens_and_no_epoch_repeats_one(size: int) -> None:
    count = max(1, (size - 1) // LENGTH - 1)

    for epoch in range(20):
        numbers = range(epoch * count, (epoch + 1) * count)
        starts = sorted(window_start(number, size, LENGTH, 3) for number in numbers)
        assert starts[0] >= 0
        assert starts[-1] + LENGTH + 1 <= size
        assert all(b - a == LENGTH for a, b in itertools.pairwise(starts))


def test_in_order_all_windows_come_once_and_then_again() -> None:
    starts = [window_start(number, 100, LENGTH, None) for number in range(6)]

    assert starts == [0, 24, 48, 72, 0, 24]


def test_epochs_and_seeds_have_orders_and_offsets_of_their_own() -> None:
    count = 999 // LENGTH - 1
    first, second = all_of(count), all_of(count, first=count)
    other = all_of(count, shuffle=6)

    assert len({int(x[0, 0]) % LENGTH for x in (first, second, other)}) > 1
    for a, b in itertools.combinations((first, second, other), 2):
        assert (a[:, 0] // LENGTH != b[:, 0] // LENGTH).float().mean() > 0.5


def test_over_epochs_a_token_is_met_at_many_positions() -> None:
    count = 999 // LENGTH - 1
    offsets = {int(all_of(1, first=count * epoch)[0, 0]) % LENGTH for epoch in range(200)}

    assert len(offsets) == LENGTH


def test_batches_go_on_where_the_last_one_ended() -> None:
    assert torch.equal(torch.cat([all_of(4), all_of(4, first=4)]), all_of(8))


def test_token_files_and_tensors_give_the_same(tmp_path: Path) -> None:
    for number, part in enumerate(TOKENS.tolist()[i : i + 260] for i in range(0, 1000, 260)):
        (tmp_path / f"{number}.bin").write_bytes(array.array("H", part).tobytes())
    files = token_files(f"{tmp_path}/*.bin", torch.uint16, LENGTH)

    assert torch.equal(windows(files, 0, range(40), range(LENGTH), LENGTH, 5)[0], all_of(40))


def test_ids_outside_the_vocabulary_are_said() -> None:
    check_ids(torch.tensor([[0, 99]]), 100)

    with pytest.raises(SystemExit, match="token ids from 5 to 100, the vocabulary has 100"):
        check_ids(torch.tensor([[5, 100]]), 100)
    with pytest.raises(SystemExit, match="token ids from -1 to 5"):
        check_ids(torch.tensor([[5, -1]]), 100)
