"""One table of terms, from which docs/glossary.md, pages and `explain --term` come: no word is missing."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from support_samples import ROOT, Run

from multitracer.model.quantities import RETRANSMISSION_WORDS, verdict_counts
from multitracer.model.schema.results import IDLE_CAUSES
from multitracer.model.terms import TERMS, every, names, plain_source, used_in
from multitracer.output.digest import LIMITS

PAGE = ROOT / "docs" / "glossary.md"
BEGIN = "## "
HEAD = "| term | meaning | source |\n|---|---|---|\n"


def tables() -> str:
    return "\n".join(
        f"## {group}\n{HEAD}" + "".join(f"| {' | '.join(term)} |\n" for term in terms)
        for group, terms in TERMS.items()
    )


def test_the_glossary_has_the_terms_of_the_code(request: pytest.FixtureRequest) -> None:
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(head + tables(), encoding="utf-8")
        return
    assert begin + rest == tables(), "make golden writes the page anew"


def test_each_term_is_defined_once_with_its_source() -> None:
    said = [name.lower() for term in every() for name in names(term)]
    assert sorted(set(said)) == sorted(said)
    assert len(said) > 120
    for term in every():
        assert all(term), term
        assert re.search(
            r"RFC \d|Paper|TS \d\d\.\d|IEEE|\]\(|SIGCOMM|Linux|Jain|tc\(8\)|pcap file format|draft-",
            term.source,
        ), term


def test_links_of_sources_lead_somewhere() -> None:
    links = [link for term in every() for link in re.findall(r"\]\(([^)#]+)", term.source)]
    assert len(links) > 8
    assert all((ROOT / "docs" / link).exists() for link in links)


@pytest.mark.parametrize(
    "word",
    [
        *(text for key, text in RETRANSMISSION_WORDS.items() if key != "handshake"),
        *(word for word in verdict_counts([]) if word != "total"),
        *(limit.replace("_", " ") for limit in LIMITS if limit != "unknown"),
        *(word.replace("_", " ") for cause in IDLE_CAUSES if cause != "unknown" for word in cause.split("/")),
    ],
)
def test_words_of_verdicts_and_causes_are_terms(word: str) -> None:
    defined = " ".join(f"{term.name} {term.meaning}" for term in every()).lower()
    bare = re.sub(r"\s*\(.*\)", "", word).removesuffix(" after an RTO").lower()
    assert re.sub(r"[ -]", "", bare) in re.sub(r"[ -]", "", defined)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3 spurious timeouts", ["spurious timeout"]),
        ("the cwnd was full", ["congestion window (cwnd)"]),
        ("a base RTT of 3 ms", ["RTT", "min RTT, base RTT"]),
        ("RR and Rr", ["SABM, UA, SREJ, REJ, RR, RNR"]),
        ("errand, srtt, spurious, time out", []),
        ("zero windows", ["zero window"]),
    ],
)
def test_terms_are_found_in_texts(text: str, found: list[str]) -> None:
    assert [term.name for term in used_in(text)] == found


def test_sources_are_readable_without_the_docs() -> None:
    (term,) = used_in("utilization")
    assert plain_source(term) == ("Ludwig and others, SIGMETRICS 1999, section 4.3, docs/read-a-report.md")
    assert not [term for term in every() if re.search(r"\]\(|`", plain_source(term))]


def test_a_page_ends_with_its_terms(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    run("report", ROOT / "sample_traces" / "link-resets-vj", "-o", path)
    page = path.read_text(encoding="utf-8")
    (shown,) = re.findall(r'<section id="terms".*?</section>', page, re.DOTALL)
    terms = [html.unescape(name) for name in re.findall(r"<dt>(.*?)</dt>", shown)]
    assert {"N2", "goodput", "min RTT, base RTT", "link reset (RlpSnd_rst)"} <= set(terms)
    assert "t-Reordering, t-Reassembly" not in terms
    assert f"The {len(terms)} terms" in shown
    assert '<a href="#terms">' in page


def test_explain_a_term(run: Run) -> None:
    assert "RFC 5681 section 2" in run("explain", "--term", "cwnd").stdout
    assert json.loads(run("explain", "--term", "sack", "--json").stdout) == {
        "SACK, scoreboard": {
            "meaning": "blocks received beyond the cumulative ACK; the sender's record of them",
            "source": "RFC 2018; RFC 6675 section 3",
        }
    }
    assert len(json.loads(run("explain", "--term", "all", "--json").stdout)) == len(list(every()))


def test_an_unknown_term_is_answered_with_near_ones(run: Run) -> None:
    slip = run("explain", "--term", "gooodput")
    assert (slip.returncode, "near it: goodput" in slip.stderr) == (2, True)
    both = run("explain", "x", "--term", "RTT")
    assert (both.returncode, "give it alone" in both.stderr) == (2, True)
