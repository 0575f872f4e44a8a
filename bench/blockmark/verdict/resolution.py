"""Whether a cost can be told from that of the loop around it.

Nothing is ever subtracted from a printed value. What is left above the control
(the empty loop, the same way of calling) is only told apart from noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockmark.runs.model import MetricValue
from blockmark.verdict.stats import spread

# A net value below this many spreads of its control says nothing.
SPREADS = 3.0


@dataclass(frozen=True, slots=True)
class NetValue:
    """What a value has above its control, in the unit of both.

    `net` may be negative. `spread` is the distance between the quartiles of the
    control's rounds; None, as is `below_resolution`, if it has only one.
    """

    net: float
    spread: float | None
    below_resolution: bool | None


def net_value(value: MetricValue, control: MetricValue) -> NetValue | None:
    """The value less its control; None if either was not measured.

    Raises ValueError if the two have different units.
    """
    if value.value is None or control.value is None:
        return None
    if value.unit != control.unit:
        raise ValueError(f"{value.unit} less {control.unit} is no net value")
    net = value.value - control.value
    noise = spread(control.values)
    return NetValue(net, noise, None if noise is None else net < SPREADS * noise or net <= 0)


def below_resolution(value: MetricValue, control: MetricValue) -> bool | None:
    """Whether the net value is below three times the control's spread, or not above zero.

    None if that cannot be known: either was not measured, or the control has only
    one round.
    """
    net = net_value(value, control)
    return None if net is None else net.below_resolution
