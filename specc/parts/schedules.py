"""Learning rates as functions of the optimizer step, counted from 0.

The first `warmup` steps rise in equal parts and the last of them has the peak. Decay starts from
the peak and would reach its end in the step after the last, so that no step is trained at 0.
"""

import math


def constant_schedule(step: int, peak: float, warmup: int = 0) -> float:
    """The peak, after a linear rise."""
    return peak * min(1.0, (step + 1) / warmup) if warmup else peak


def linear_schedule(
    step: int, peak: float, steps: int, warmup: int = 0, final: float = 0.0
) -> float:
    """A straight line from the peak to `final` times the peak."""
    if step < warmup:
        return constant_schedule(step, peak, warmup)
    return peak * (1 - (1 - final) * (step - warmup) / (steps - warmup))


def cosine_schedule(
    step: int, peak: float, steps: int, warmup: int = 0, final: float = 0.0
) -> float:
    """Half a cosine from the peak to `final` times the peak (Loshchilov & Hutter 2017)."""
    if step < warmup:
        return constant_schedule(step, peak, warmup)
    progress = (step - warmup) / (steps - warmup)
    return peak * (final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress)))


def wsd_schedule(
    step: int, peak: float, steps: int, decay: int, warmup: int = 0, final: float = 0.0
) -> float:
    """Warmup, the peak, and in the last `decay` steps a straight line (Hu et al. 2024)."""
    if step < steps - decay:
        return constant_schedule(step, peak, warmup)
    return linear_schedule(step - (steps - decay), peak, decay, final=final)


def inverse_sqrt_schedule(step: int, peak: float, warmup: int) -> float:
    """The peak times the root of warmup / (step + 1), after a linear rise (Vaswani et al. 2017)."""
    if step < warmup:
        return constant_schedule(step, peak, warmup)
    return peak * math.sqrt(max(1, warmup) / (step + 1))
