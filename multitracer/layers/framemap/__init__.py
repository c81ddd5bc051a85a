"""Which frames of the link carried which TCP segment, and the other way round."""

from multitracer.layers.framemap.lookup import FrameMap, frame_map

__all__ = ["FrameMap", "frame_map"]
