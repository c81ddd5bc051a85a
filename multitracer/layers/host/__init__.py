"""The layers of a recorded host around TCP: the way of each packet, the calls of applications."""
