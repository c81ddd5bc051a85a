"""What logs of any format alone report of transfers: rates, RTT, windows, retransmissions, limits."""

from multitracer.layers.logged.conditions import Condition as Condition, conditions as conditions
from multitracer.layers.logged.flows import (
    LoggedFlow as LoggedFlow,
    Rates as Rates,
    Samples as Samples,
    logged_flows as logged_flows,
    uncaptured as uncaptured,
)
from multitracer.layers.logged.limits import Limit as Limit, limits as limits
