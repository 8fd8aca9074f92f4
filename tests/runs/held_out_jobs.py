"""Job of the tests of held-out losses."""

from typing import Any

import torch
from torch import Tensor

from specc.parts.evaluate import evaluate
from specc.runtime.execute import load_text


def held_out(text: str) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
    """The held-out loss of the initial weights, and (labels, logits) of each batch of this rank."""
    module: Any = load_text(text, "held_out")
    device = torch.device("cpu")
    model, _ = module.build(device)
    _, source = module.text_tokens("builtin", module.S, 0.1)
    found = evaluate(model, module.held_out_batches(source, device), module.held_out_loss(model))
    with torch.no_grad():
        pairs = [
            (labels, model(ids)[-1]) for ids, labels in module.held_out_batches(source, device)
        ]
    return found, pairs
