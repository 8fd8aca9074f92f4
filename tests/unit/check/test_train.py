"""Settings of `train` and `launch`, loss, data and optimizer."""

from __future__ import annotations

import pytest

from tests.unit.check.specs import DIMS, TRAIN, facts, findings, only, says, spec

TEXT_DIMS = DIMS.replace("vocab = 32", "vocab = 256")


def train(more: str = "", **changes: str) -> str:
    """A train block with further lines, and some of its own changed."""
    text = TRAIN
    for old, new in changes.items():
        line = next(line for line in TRAIN.splitlines() if line.strip().startswith(old))
        text = text.replace(line, f"  {new}" if new else "")
    return spec(train=text + more + "\n")


def test_settings_have_defaults() -> None:
    found = facts(spec()).training
    assert (found.accumulate, found.clip, found.seed, found.deterministic) == (1, None, 0, False)
    assert (found.schedule, found.log_every, found.save_every, found.evaluate_every) == (None,) * 4
    assert (found.endpoint, found.timeout_s) == (None, None)


def test_settings_are_evaluated() -> None:
    text = (
        train(
            "schedule = cosine(warmup = 2*5, final = 1/10), clip = 1, accumulate = 4, seed = 3\n"
            'log { every = 2, warmup = 1 }\nsave { every = 10, dir = "out", keep = 3 }\n'
        )
        + 'launch torchrun { endpoint = "10.0.0.1:29500", timeout = 10min }\n'
    )
    found = facts(text).training
    assert found.schedule is not None
    assert (found.schedule.name, dict(found.schedule.settings)) == (
        "cosine",
        {"warmup": 10, "final": 0.1},
    )
    assert (found.clip, found.accumulate, found.seed) == (1.0, 4, 3)
    assert (found.log_every, found.log_warmup) == (2, 1)
    assert (found.save_every, found.save_dir, found.save_keep) == (10, "out", 3)
    assert (found.endpoint, found.timeout_s) == ("10.0.0.1:29500", 600.0)


def test_the_optimizer_has_all_its_settings() -> None:
    optimizer = facts(
        train(optimizer="optimizer = AdamW(lr = 3e-4, betas = [0.9, 0.95])")
    ).training.optimizer
    assert optimizer.name == "AdamW"
    assert dict(optimizer.settings) == {
        "lr": 3e-4,
        "betas": (0.9, 0.95),
        "eps": 1e-8,
        "weight_decay": 0.01,
        "decay": "all",
    }


def test_a_let_may_hold_a_constructor_and_a_number() -> None:
    text = train(optimizer="optimizer = best") + "let rate = 1e-3/2\nlet best = SGD(lr = rate)\n"
    found = facts(text).training.optimizer
    assert (found.name, found.settings["lr"]) == ("SGD", 5e-4)


@pytest.mark.parametrize(
    ("more", "changes", "code", "expected"),
    [
        ("stepz = 3", {}, "E0601", "`train` has no setting `stepz` @ stepz = 3"),
        ("log { evry = 3, every = 1 }", {}, "E0601", "`log` has no setting `evry` @ evry = 3"),
        ("log = 3", {}, "E0602", "`log` is a block of settings @ log = 3"),
        ("save { every = 3 }", {}, "E0610", "`save` needs `dir` @ every = 3"),
        ("", {"steps": ""}, "E0610", None),
        ("", {"optimizer": ""}, "E0610", None),
        ("", {"steps": "steps = 0"}, "E0235", "`train.steps` must be at least 1 @ 0"),
        ("", {"steps": "steps = 1.5"}, "E0602", "`train.steps` is a whole number, not `1.5` @ 1.5"),
        (
            "",
            {"steps": "steps = 10min"},
            "E0602",
            "`train.steps` is a whole number; `10min` has a unit @ 10min",
        ),
        ("", {"steps": "steps = meny"}, "E0201", "unknown name `meny` in `train.steps` @ meny"),
        ("clip = 0", {}, "E0235", "`train.clip` must be more than 0 @ 0"),
        ("clip = true", {}, "E0602", "`train.clip` is a number, not `true` @ true"),
        (
            "deterministic = 1",
            {},
            "E0602",
            "`train.deterministic` is `true` or `false`, not `1` @ 1",
        ),
        (
            "",
            {"optimizer": "optimizer = Adamw(lr = 1)"},
            "E0603",
            "unknown optimizer `Adamw` @ Adamw",
        ),
        ("", {"optimizer": "optimizer = AdamW"}, "E0610", "`AdamW` needs `lr` @ AdamW"),
        (
            "",
            {"optimizer": "optimizer = AdamW(lr = 1, weight_dacay = 1)"},
            "E0601",
            "`AdamW` has no setting `weight_dacay` @ weight_dacay",
        ),
        (
            "",
            {"optimizer": "optimizer = AdamW(lr = 1, lr = 2)"},
            "E0611",
            "`AdamW` is given `lr` twice @ lr",
        ),
        (
            "",
            {"optimizer": "optimizer = AdamW(1)"},
            "E0611",
            "`AdamW` takes no further setting without a name @ 1",
        ),
        ("", {"optimizer": "optimizer = 3"}, "E0602", "expected an optimizer, found `3` @ 3"),
        ("", {"optimizer": "optimizer = Muon(lr = 1)"}, "E0290", None),
        ("schedule = cosin(warmup = 3)", {}, "E0603", "unknown schedule `cosin` @ cosin"),
    ],
)
def test_a_faulty_setting_is_reported(
    more: str, changes: dict[str, str], code: str, expected: str | None
) -> None:
    found = findings(train(more, **changes))
    assert expected is None or says(found, code) == expected
    assert only(found, code)


def test_an_unknown_setting_lists_those_there_are() -> None:
    finding = only(
        findings(train(optimizer="optimizer = AdamW(lr = 1, weight_dacay = 1)")), "E0601"
    )
    assert finding.notes == ("settings: lr, betas, eps, weight_decay, decay",)
    assert finding.helps[0].text == "did you mean `weight_decay`?"


def test_an_unknown_word_can_be_put_right_by_machine() -> None:
    (way,) = only(findings(train(optimizer="optimizer = Adamw(lr = 1)")), "E0603").helps
    assert (way.edits[0].text, way.edits[0].span.text, way.applicability) == (
        "AdamW",
        "Adamw",
        "likely",
    )


def test_a_duration_needs_its_unit() -> None:
    finding = only(findings(spec(more="launch torchrun { timeout = 600 }")), "E0602")
    assert finding.title == "`launch.timeout` is a duration; 600 has no unit"
    assert finding.helps[0].text == "write `600s` or `10min`"


def test_unknown_launch_settings_are_reported() -> None:
    found = findings(spec(more="launch torchrun { timout = 6s }"))
    assert says(found, "E0601") == "`launch` has no setting `timout` @ timout = 6s"


@pytest.mark.parametrize(
    ("more", "changes", "way_out"),
    [
        ("", {"steps": "steps = 2K"}, "write `2_000`"),
        ("log { every = 1K }", {}, "write `1_000`"),
        ("schedule = linear(warmup = 1K)", {}, "write `1_000`"),
    ],
)
def test_k_in_a_count_of_steps_is_warned_of(
    more: str, changes: dict[str, str], way_out: str
) -> None:
    finding = only(findings(train(more, **changes)), "E0609")
    assert (finding.severity, finding.helps[0].text) == ("warning", way_out)


def test_saving_in_the_background_is_honest_about_waiting() -> None:
    finding = only(findings(train('save { every = 3, dir = "x", async = true }')), "E0616")
    assert finding.severity == "warning"


# ------------------------------------------------------------------------------------- loss


def test_terms_of_the_loss_have_settings_and_factors() -> None:
    text = train(loss="loss = cross_entropy(logits, labels, smooth = 0.1) + 0.5/2*mean(logits)")
    found = facts(text).training
    assert found.loss_factors == (1.0, 0.25)
    assert found.loss_settings[0] == {"ignore": -100, "smooth": 0.1, "z": 0, "chunk": None}


CHUNKED = "cross_entropy(logits, labels, chunk = 4)"
END = "return ids -> embed -> blocks -> norm -> head"


@pytest.mark.parametrize(
    "end",
    [
        END,
        "y = ids -> embed -> blocks -> norm -> head\n  return 30.0*tanh(y/30.0)",
        "y = ids -> embed -> blocks\n  y = norm(y)\n  y = head(y)\n  return y",
        "return tanh(head(norm(blocks(embed(ids)))))",
    ],
)
def test_a_loss_may_run_in_chunks_of_tokens(end: str) -> None:
    text = train(loss=f"loss = {CHUNKED}").replace(END, end)
    assert facts(text).training.loss_settings[0]["chunk"] == 4


@pytest.mark.parametrize(
    "end",
    [
        "return softmax(y, over = S)",
        "return y + head(norm(embed(ids)))",
        "z = norm(embed(ids))\n  return y*mean(mean(z, over = d), over = S)",
        "z = head(norm(embed(ids)))\n  z = tanh(z)\n  return y + z*0.0",
    ],
)
def test_chunks_need_an_end_that_works_on_each_token_alone(end: str) -> None:
    body = f"y = head(norm(blocks(embed(ids))))\n  {end}"
    finding = only(findings(train(loss=f"loss = {CHUNKED}").replace(END, body)), "E0617")
    assert finding.labels[1].text == "does not work on each token alone"


@pytest.mark.parametrize(
    "loss",
    [
        f"{CHUNKED} + 0.1*mean(logits)",
        "cross_entropy(logits, labels, ignore = 3) + cross_entropy(logits, ids)",
        "cross_entropy(logits, ids, chunk = 4)",
    ],
)
def test_losses_that_cannot_be_built_yet_are_refused(loss: str) -> None:
    assert "this version of specc" in only(findings(train(loss=f"loss = {loss}")), "E0495").title


def test_an_ignored_label_is_fine_in_a_loss_of_one_term() -> None:
    assert facts(train(loss="loss = cross_entropy(logits, labels, ignore = 0)"))


# ------------------------------------------------------------------------------------- data


def data(line: str, dims: str = DIMS, more: str = "") -> str:
    old = next(line for line in TRAIN.splitlines() if "data {" in line)
    return spec(train=TRAIN.replace(old, f"  data {{ {line} }}") + more, dims=dims)


def test_the_fields_of_a_tuple_share_their_source() -> None:
    found = facts(data('ids, labels = text("builtin", held_out = 0.1)', TEXT_DIMS)).training
    assert found.sources["ids"] is not None
    assert found.sources["ids"].settings == found.sources["labels"].settings
    assert found.sources["labels"].settings["held_out"] == 0.1


@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        (
            "ids, labels = randint(vocab)",
            "E0615",
            "`randint` fills 1 field, and 2 are named: ids, labels @ randint(vocab)",
        ),
        ("ids, labels = tokens(3)", "E0602", "`tokens.path` is a text in quotes, not `3` @ 3"),
        ("ids, labels = tokens()", "E0610", "`tokens` needs `path` @ tokens"),
        ('ids, labels = tokens("x", ahead = 2)', "E0291", None),
        (
            "ids = randn, labels: i64[B, S] = randint(vocab)",
            "E0615",
            "`randn` gives floating-point numbers, and `ids` is i64 @ randn",
        ),
        (
            "ids = randint(64), labels: i64[B, S] = randint(vocab)",
            "E0614",
            "`ids` holds ids up to 63, and `embed` has 32 rows @ randint(64)",
        ),
        (
            "ids = randint(vocab), labels: i64[B, S] = randint(2*vocab)",
            "E0614",
            "`labels` holds ids up to 63, and `logits` has 32 rows @ randint(2*vocab)",
        ),
        (
            "ids = randint(vocab), labels: i64[B, S] = randint(vocab), w: [S] = randn",
            "E0612",
            "`ids` and `w` start with different dims: `B` and `S` @ w",
        ),
        (
            "ids = randint(vocab), labels: i64[B, S] = randint(vocab), w: [B*S] = randn",
            "E0612",
            "the first dim of `w` is B*S, not one named dim @ w",
        ),
        (
            "ids = rnadint(vocab), labels: i64[B, S] = randint(vocab)",
            "E0603",
            "unknown data source `rnadint` @ rnadint",
        ),
    ],
)
def test_a_faulty_source_is_reported(line: str, code: str, expected: str | None) -> None:
    found = findings(data(line))
    assert found[0].code == code
    if expected is not None:
        assert says(found, code) == expected


def test_bytes_of_a_text_need_as_many_rows() -> None:
    found = findings(data('ids, labels = text("builtin")'))
    assert {d.code for d in found} == {"E0614"}
    assert not findings(data('ids, labels = text("builtin")', TEXT_DIMS))


def test_evaluation_needs_something_held_out() -> None:
    evaluate = "evaluate { every = 2, batches = 2 }\n"
    found = findings(data('ids, labels = text("builtin")', TEXT_DIMS, evaluate))
    assert only(found, "E0613").helps[0].text == "add `held_out = 0.1`"
    found = findings(data('ids, labels = tokens("x.bin")', DIMS, evaluate))
    assert "use a source with `held_out`" in only(found, "E0613").helps[0].text
    held = facts(
        data('ids, labels = text("builtin", held_out = 0.1)', TEXT_DIMS, evaluate)
    ).training
    assert (held.evaluate_every, held.evaluate_batches) == (2, 2)


def test_a_second_source_of_files_is_refused() -> None:
    text = data('ids, labels = text("builtin")\n more, rest = tokens("x.bin")', TEXT_DIMS)
    text = text.replace("(ids: i64[B, S])", "(ids: i64[B, S], more: i64[B, S])")
    finding = only(findings(text), "E0494")
    assert finding.labels[0].span.text == 'tokens("x.bin")'
    assert finding.labels[1].span.text == 'text("builtin")'
