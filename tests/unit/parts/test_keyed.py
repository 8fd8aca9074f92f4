"""A key names a number and a generator, the same on every machine, and every word of it counts."""

import torch

from specc.parts.keyed import key_number, keyed_generator

NUMBER = 533_279_386_185_836_793


def test_a_key_is_the_same_number_on_every_machine() -> None:
    assert key_number(0, "blocks.3.wq.weight", 7) == NUMBER
    assert 0 <= NUMBER < 2**63


def test_every_word_and_its_place_count() -> None:
    keys = [(0, "x", 7), (1, "x", 7), (0, "y", 7), (0, "x", 8), (7, "x", 0), (0, "x"), (0, "x7")]

    assert len({key_number(*key) for key in keys}) == len(keys)


def test_equal_keys_draw_equal_numbers_and_others_do_not() -> None:
    draws = [torch.randn(8, generator=keyed_generator(0, "x", block)) for block in (0, 0, 1)]

    assert torch.equal(draws[0], draws[1])
    assert not torch.isin(draws[0], draws[2]).any()


def test_drawing_by_key_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(0)
    expected = torch.randn(4)
    torch.manual_seed(0)
    torch.randn(4, generator=keyed_generator(0, "x"))

    assert torch.equal(torch.randn(4), expected)
