"""A drawn figure as a PNG: the pixels that matplotlib would write, packed in half the time.

Our figures have an opaque ground, so that three channels say all. A drawing is flat: each line of pixels is
written as its difference from the one above, without a search for a better way line by line.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

Pixels = npt.NDArray[np.uint8]

EFFORT = 3  # of zlib, 1 to 9
SHADES = 1 << 16
"""Colours of a drawing at most for which a palette is made of the colours, not of the pixels."""


def write(fig: MplFigure, file: IO[bytes], *, colors: int | None = None) -> None:
    """Draw a figure and write it at its own pixels per inch.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
    file : binary file
        Open for writing.
    colors : int, optional
        Size of a palette, at most 256, in the place of all colours: fewer bytes inside a page.
    """
    canvas: Any = fig.canvas
    if not hasattr(canvas, "buffer_rgba"):
        fig.savefig(file, format="png", dpi=fig.dpi, facecolor=fig.get_facecolor())
        return
    canvas.draw()
    pixels: Pixels = np.ascontiguousarray(canvas.buffer_rgba())
    if int(np.bitwise_and.reduce(pixels.view("<u4"), axis=None)) >> 24 != 255:
        kind, rows, palette = 6, pixels, None
    elif colors is None:
        kind, rows, palette = 2, pixels[..., :3], None
    else:
        kind = 3
        rows, palette = _with_palette(pixels, colors)
    _pack(file, kind, rows, palette, fig.dpi)


def _pack(file: IO[bytes], kind: int, pixels: Pixels, palette: Pixels | None, dpi: float) -> None:
    """PNG (ISO/IEC 15948) of pixels with one byte for each channel, or with a palette."""
    import matplotlib

    high, wide = pixels.shape[:2]
    flat = pixels.reshape(high, -1)
    lines = np.empty((high, flat.shape[1] + 1), dtype=np.uint8)
    if palette is None:
        lines[:, 0] = 2  # the filter "up"
        lines[0, 1:] = flat[0]
        np.subtract(flat[1:], flat[:-1], out=lines[1:, 1:])
    else:
        lines[:, 0] = 0
        lines[:, 1:] = flat
    meter = round(dpi / 0.0254)
    about = f"Software\0Matplotlib version{matplotlib.__version__}, https://matplotlib.org/"
    chunks = [
        (b"IHDR", struct.pack(">2I5B", wide, high, 8, kind, 0, 0, 0)),
        (b"tEXt", about.encode("latin-1")),
        (b"pHYs", struct.pack(">2IB", meter, meter, 1)),
        *([] if palette is None else [(b"PLTE", palette.tobytes())]),
        (b"IDAT", zlib.compress(lines.tobytes(), EFFORT)),
        (b"IEND", b""),
    ]
    file.write(b"\x89PNG\r\n\x1a\n")
    for name, data in chunks:
        file.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def _with_palette(pixels: Pixels, colors: int) -> tuple[Pixels, Pixels]:
    """Opaque pixels as numbers in a palette, and the palette."""
    from PIL import Image

    image = Image.fromarray(pixels)
    known = image.getcolors(SHADES)
    try:
        if known is None:
            few = image.convert("RGB").quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            return np.asarray(few), np.asarray(few.getpalette(), dtype=np.uint8)
        counts = np.array([count for count, _ in known])
        shades = np.array([shade for _, shade in known], dtype=np.uint8)
        one_each = Image.fromarray(np.ascontiguousarray(shades[None, :, :3]))
        few = one_each.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    except ValueError as error:
        # Pillow says "quantization error" of such an image only if there is no memory for its colours.
        raise MemoryError(str(error)) from error
    number = np.asarray(few)[0]
    # Of the shades that share a place in the palette, the mean of their pixels.
    share = np.maximum(np.bincount(number, counts, colors), 1.0)
    mean = [np.bincount(number, counts * shades[:, channel], colors) / share for channel in range(3)]
    palette = np.rint(np.stack(mean, axis=1)).astype(np.uint8)
    places = np.empty(1 << 24, dtype=np.uint8)  # by colour; only those that there are are looked at
    places[_whole(shades)] = number
    return places[_whole(pixels)], palette


def _whole(shades: Pixels) -> npt.NDArray[np.uint32]:
    """Each colour as one number."""
    return np.ascontiguousarray(shades).view("<u4")[..., 0] & np.uint32(0xFFFFFF)
