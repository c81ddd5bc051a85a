"""The layers of a recorded host around TCP: the path of each packet, the calls of applications."""
