"""A Lua post-dissector with what was found out: fields that Wireshark and tshark show, filter and colour."""

from __future__ import annotations

from multitracer import native
from multitracer.export.files import line, writing
from multitracer.export.notes import notes_of
from multitracer.output.results import Answers

FIELDS = {
    "verdict": "Verdict: retransmission, reordered, network_duplicate, undecided",
    "cause": "Cause of the retransmission",
    "evidence": "Evidence of the verdict",
    "timeout": "Timeout: spurious, genuine, inconclusive",
    "fate": "Fate on the path: lost, damaged",
    "limit": "What had limited the sender",
    "waited": "For how long, in seconds",
    "text": "In words",
}
"""Fields after ``multitracer.``, and what they are called."""

_LONGEST = 400

_HEAD = """\
-- What MultiTracer {version} found in one capture, as fields of Wireshark and tshark.
-- Use: wireshark -X lua_script:{name} CAPTURE, or copy it to the folder of personal Lua plugins.
-- It holds for the capture that it was made from: a packet whose time differs gets no field.
-- Filters: multitracer.verdict == "retransmission", multitracer.cause == "timeout", multitracer.limit
local multitracer = Proto("multitracer", "MultiTracer")
local names = {{ {names} }}
local fields = {{
{fields}
}}
multitracer.fields = fields
local notes = {{}}
local data = [==[
"""

_TAIL = """\
]==]
for row in data:gmatch("[^\\n]+") do
  local cells = {}
  for cell in (row .. "\\t"):gmatch("([^\\t]*)\\t") do cells[#cells + 1] = cell end
  notes[tonumber(cells[1])] = cells
end
function multitracer.dissector(buffer, packet, tree)
  local note = notes[packet.number]
  if note == nil or math.abs(packet.abs_ts - tonumber(note[2])) > 2e-6 then return end
  local branch = tree:add(multitracer, "MultiTracer: " .. note[#note])
  for place, name in ipairs(names) do
    local value = note[place + 2]
    if value ~= "" then
      if name == "waited" then value = tonumber(value) end
      branch:add(fields[name], value)
    end
  end
end
register_postdissector(multitracer)
"""


def write(analysis: Answers, path: str, *, point: str = "snd") -> int:
    """Write the dissector of a capture.

    Parameters
    ----------
    analysis : Answers
        All answers.
    path : str
        The file to write.
    point : {"snd", "rcv"}
        Which end's capture.

    Returns
    -------
    int
        Packets with a note.

    Raises
    ------
    UsageError
        No such capture, or the file cannot be written.
    """
    import os

    import multitracer

    origin, said = notes_of(analysis, point)
    with writing(path) as file:
        kinds = {"waited": "double"}
        file.write(
            _HEAD.format(
                version=multitracer.__version__,
                name=line(os.path.basename(path)),
                names=", ".join(f'"{name}"' for name in FIELDS),
                fields="\n".join(
                    f'  {name} = ProtoField.{kinds.get(name, "string")}("multitracer.{name}", "{words}"),'
                    for name, words in FIELDS.items()
                ),
            )
        )
        for number, packet in native.packets(origin, sorted(said)):
            note = said[number]
            seconds, rest = divmod(packet.t_ns, 10**9)
            cells = [
                str(number),
                f"{seconds}.{rest:09d}",
                *(
                    getattr(note, name)
                    for name in ("verdict", "cause", "evidence", "timeout", "fate", "limit")
                ),
                f"{note.waited_s:.6f}" if note.limit else "",
                line(note.text, _LONGEST).replace("]", ")"),
            ]
            file.write("\t".join(cells) + "\n")
        file.write(_TAIL)
    return len(said)
