"""Which frames the air destroys."""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.lab.settings.values import one_of, within
from multitracer.model.errors import UsageError


@dataclass(frozen=True)
class AirSettings:
    """Which frames the air destroys, in one direction.

    Attributes
    ----------
    kind : str
        "perfect", "gilbert_elliott", "list" (the slots of `lost_slots`) or "trace" (replay of `trace`).
    loss_good, loss_bad : float
        Probability that a slot is lost in the good and in the bad state.
    p_good_to_bad, p_bad_to_good : float
        Probability per slot that the state changes.
    lost_slots : tuple of int
        Slots that are lost, from 0.
    trace : tuple of int
        1 for a lost slot, 0 for a good one, one number per slot.
    repeat : bool
        Begin the trace again at its end; otherwise every slot after it is good.
    slot_ms : float
        Slots follow the time of the run; 0: one slot per frame, attempt or packet sent. RLP and RLC-AM have
        slots of their own and ignore it.
    """

    kind: str = "perfect"
    loss_good: float = 0.0
    loss_bad: float = 0.8
    p_good_to_bad: float = 0.0
    p_bad_to_good: float = 0.02
    lost_slots: tuple[int, ...] = ()
    trace: tuple[int, ...] = ()
    repeat: bool = True
    slot_ms: float = 0.0

    def __post_init__(self) -> None:
        one_of("air.kind", self.kind, ("perfect", "gilbert_elliott", "list", "trace"))
        for name in ("loss_good", "loss_bad", "p_good_to_bad", "p_bad_to_good"):
            within(f"air.{name}", getattr(self, name), 0.0, 1.0)
        within("air.slot_ms", self.slot_ms, 0.0, 1e6)
        if any(slot < 0 for slot in self.lost_slots):
            raise UsageError("air.lost_slots: slots count from 0")
        if any(slot not in (0, 1) for slot in self.trace):
            raise UsageError("air.trace: only 0 (good) and 1 (lost) make sense")
