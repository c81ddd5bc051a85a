"""What a start costs is what it loads: the modules that summing up one large capture does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support_samples import PATIENCE_S

NEVER = {
    "asyncio",
    "email",
    "importlib.metadata",
    "logging",
    "numpy",
    "pandas",
    "rich",
    "socket",
    "subprocess",
    "tempfile",
    "tomllib",
    "unittest",
    "zipfile",
}
"""Libraries that take milliseconds, or more; `json` reads what the core tells of single connections."""

NOT_OF_OURS = {
    "multitracer.alignment.assemble",
    "multitracer.alignment.clocks",
    "multitracer.layers.framemap",
    "multitracer.model.linktype",
    "multitracer.model.schema",
    "multitracer.parsers._helpers.tcptables",
    "multitracer.layers.tcp",
    "multitracer.parsers.rlc",
    "multitracer.parsers.wifi",
}
"""Of the package: what knows of tables, links, or several sources."""


JOINING = {
    "multitracer.alignment.capturejoin",
    "multitracer.alignment.captures",
    "multitracer.alignment.clocks.fitting",
    "multitracer.alignment.joining",
    "multitracer.alignment.kernelcauses",
    "multitracer.alignment.translated",
    "multitracer.alignment.ways",
}
"""What puts two sources on one timeline."""


def loaded(words: list[str]) -> set[str]:
    code = (
        f"from multitracer.cli.main import main\nassert main({words!r}) == 0\n"
        "import sys\nsys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nsys.path = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return set(done.stderr.split())


def test_a_capture_is_summed_up_with_little(samples: Path) -> None:
    found = loaded(["analyze", "--json", "--summary", str(samples / "flow-control" / "snd.pcap")])
    assert "multitracer.parsers.pcap" in found
    assert not found & (NEVER | NOT_OF_OURS)


def test_help_loads_no_table() -> None:
    found = loaded(["--help"])
    assert "multitracer.cli.events" in found
    assert not found & ({*NEVER, "json"} | NOT_OF_OURS | {"multitracer._core"})


def test_a_lone_capture_is_joined_to_nothing(samples: Path) -> None:
    found = loaded(["analyze", "--json", "--full", str(samples / "flow-control" / "snd.pcap")])
    assert "multitracer.alignment.finish" in found
    assert not found & ((NEVER - {"numpy"}) | JOINING | {"numpy.ma"})


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("sample", ["link-resets-vj", "host-queue"])
def test_layers_are_joined_without_masked_arrays(samples: Path, sample: str, form: list[str]) -> None:
    """NumPy loads them for some of its functions, which takes longer than most questions."""
    found = loaded(["analyze", *form, str(samples / sample)])
    assert "numpy" in found
    assert "numpy.ma" not in found


def test_one_figure_loads_one_figure_and_no_help(samples: Path, tmp_path: Path) -> None:
    capture = str(samples / "flow-control" / "snd.pcap")
    found = loaded(["plot", capture, "-o", str(tmp_path / "figure.png")])
    assert "multitracer.plots.figures.multilayer" in found
    assert not found & {"dpkt", "fontTools.agl", "mpl_toolkits.mplot3d", "multitracer.plots.figures.cdf"}
    assert not found & {"matplotlib.mathtext", "matplotlib.texmanager", "pyparsing", "unittest"}


def test_a_page_loads_nothing_that_shows_or_saves_a_figure(samples: Path, tmp_path: Path) -> None:
    capture = str(samples / "flow-control" / "snd.pcap")
    found = loaded(["report", capture, "-o", str(tmp_path / "page.html")])
    assert {"bokeh.document", "bokeh.plotting._figure"} <= found
    assert not found & {"asyncio", "bokeh.embed", "bokeh.io", "jinja2", "matplotlib", "yaml"}


def test_what_was_left_out_is_loaded_when_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from multitracer.plots import libraries\n"
        "libraries.without_help()\n"
        "libraries.matplotlib_figure()\n"
        "libraries.bokeh_models()\n"
        "from matplotlib.figure import Figure\n"
        "from matplotlib.font_manager import FontProperties\n"
        "assert 'pyparsing' not in sys.modules\n"
        "assert FontProperties('DejaVu Sans:bold').get_weight() == 'bold'\n"
        "assert 'DejaVu Sans' in str(FontProperties(family=['DejaVu Sans']))\n"
        "words = Figure(figsize=(2, 1)).text(0.1, 0.5, '$x^2$')\n"
        "wide = words.get_window_extent().width\n"
        "words.set_parse_math(False)\n"
        "assert 0 < wide < words.get_window_extent().width\n"
        "words.figure.savefig(sys.argv[1])\n"
        "import asyncio, jinja2, matplotlib.texmanager, yaml\n"
        "assert jinja2.Template('{{ a }}').render(a='b') == 'b'\n"
        "assert yaml.safe_load('a: 1') == {'a': 1}\n"
        "assert matplotlib.texmanager.TexManager and asyncio.run\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "figure.svg")], timeout=PATIENCE_S, check=True)
    assert (tmp_path / "figure.svg").read_bytes().startswith(b"<?xml")


def test_figures_are_the_same_without_help(samples: Path, tmp_path: Path) -> None:
    code = (
        "import json, sys, multitracer as mt\n"
        "from multitracer.plots import libraries\n"
        "from multitracer.plots.bokeh import page\n"
        "if sys.argv[1] == 'bare': libraries.without_help()\n"
        "run = mt.read(sys.argv[2])\n"
        "mt.plot(run, path=sys.argv[3])\n"
        "print(json.dumps(page.item(mt.plot(run, interactive=True), 'figure')))\n"
        "print(len(vars(sys.modules['matplotlib.lines'].Line2D)['set'].__doc__ or ''), file=sys.stderr)"
    )
    found = {}
    for how in ("bare", "helped"):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                code,
                how,
                str(samples / "bbr" / "snd.pcap"),
                str(tmp_path / f"{how}.png"),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        found[how] = done.stdout, (tmp_path / f"{how}.png").read_bytes(), int(done.stderr)
    assert found["bare"][:2] == found["helped"][:2]
    assert found["bare"][2] == 0 < found["helped"][2]


def _succeeds(code: str, samples: Path) -> None:
    """Run code in a process of its own, with the name of a capture."""
    capture = str(samples / "flow-control" / "snd.pcap")
    subprocess.run([sys.executable, "-c", code, capture], timeout=PATIENCE_S, check=True)


def test_what_is_loaded_ahead_is_what_the_text_needs(samples: Path) -> None:
    """While the core reads, modules are loaded that would be loaded after it."""
    code = (
        "import sys\n"
        "from multitracer.api.answering import modules\n"
        "from multitracer.cli import analyze\n"
        "from multitracer.cli.main import main\n"
        "from multitracer.model import lazy\n"
        "named = []\n"
        "analyze.ahead = named.extend\n"
        "assert main(['analyze', sys.argv[1]]) == 0\n"
        "assert len(named) > 10 and not set(named) - set(sys.modules), set(named) - set(sys.modules)\n"
    )
    _succeeds(code, samples)


def test_modules_are_loaded_while_a_capture_is_read(samples: Path) -> None:
    code = (
        "import sys\n"
        "from multitracer import native\n"
        "from multitracer.model import lazy\n"
        "lazy.ahead(['colorsys', 'fileinput'])\n"
        "left = []\n"
        "while lazy.load_next(): left.append('colorsys' in sys.modules)\n"
        "assert 'numpy' in sys.modules and 'fileinput' in sys.modules and left == [False, True], left\n"
        "lazy.ahead(['no_such_module'])\n"
        "try: native.read_capture(sys.argv[1], keep_segments=True)\n"
        "except ModuleNotFoundError: pass\n"
        "else: raise AssertionError\n"
    )
    _succeeds(code, samples)


def test_commands_load_numpy_without_help() -> None:
    code = (
        "import sys\n"
        "from multitracer.model import lazy\n"
        "lazy.without_help()\n"
        "assert lazy.np.arange(3).sum() == 3\n"
        "import numpy as np\n"
        "assert not np.ndarray.sort.__doc__ and 'numpy._typing' not in sys.modules\n"
        "import numpy.ma, numpy.typing, pandas\n"
        "assert numpy.typing.NDArray[np.int64] != list[np.int64]\n"
        "assert np.linalg.svd(np.eye(2)).S.tolist() == [1, 1]\n"
        "assert pandas.DataFrame({'a': np.ma.array([1, 2])}).a.sum() == 3\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_S, check=True)
