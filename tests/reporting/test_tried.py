"""The section on what was tried: promised beside found, what changed, what is kept, and what was not tried."""

from __future__ import annotations

import msgspec

from ridgeline.core import PromiseLine, PromiseReport, Tried, Untried
from ridgeline.reporting import html_report, markdown, page, promises_page, terminal
from ridgeline.stats import share_quantity


def tried(**fields) -> Tried:
    defaults = {
        "action": "fuse", "id": "a1", "verdict": "faster", "speedup": (1.4, 1.6), "promised": (1.3, 1.9), "kept": True, "output_ok": True,
        "output": "equal", "change": "torch-compile", "promise": "kept", "found": 1.5, "difference": 0.0, "reason": "keep it: call torch.compile",
    }  # fmt: skip
    return Tried(**{**defaults, **fields})


def text(diagnosis) -> str:
    return terminal(page(diagnosis), 120, False)


def test_promised_stands_beside_found(full_diagnosis):
    told = text(msgspec.structs.replace(full_diagnosis, tried=(tried(),)))
    line = next(line for line in told.splitlines() if line.strip().startswith("torch-compile "))
    assert line.split() == ["torch-compile", "fuse", "1.30–1.90×", "1.40–1.60×", "faster", "kept", "equal", "yes"]
    assert "Keep it: call torch.compile" in told


def test_what_cannot_be_compared_and_what_failed_are_told_apart_from_what_changed(full_diagnosis):
    trials = (
        tried(output_ok=False, output="differs", kept=False, reason="too far apart"),
        tried(output_ok=False, output="unknown", kept=False, reason="returns nothing"),
        tried(verdict="failed", speedup=None, found=None, promise=None, output_ok=False, output="unknown", kept=False, reason="it crashed"),
        tried(id="", action="c", promised=None, promise=None, control=True, difference=1e-7, tolerance=1e-4),
    )
    told = text(msgspec.structs.replace(full_diagnosis, tried=trials))
    for words in ("CHANGED", "not comparable", "It crashed", "control", "equal within 1e-04", "Too far apart", "Returns nothing"):
        assert words in told


def test_what_was_not_tried_says_why(full_diagnosis):
    left = (Untried(action="vectorise", reason="in the code"), Untried(action="", change="lab", reason="it does not load"))
    told = markdown(page(msgspec.structs.replace(full_diagnosis, tried=(), untried=left)))
    assert "not tried: vectorise" in told
    assert "not tried: lab" in told


def test_a_suspicion_says_what_trials_did_to_it(full_diagnosis):
    assert "no intervention has been tried yet" in text(msgspec.structs.replace(full_diagnosis, tried=()))
    assert "no intervention has moved the time" in text(msgspec.structs.replace(full_diagnosis, tried=(tried(promise="refuted"),)))
    sure = msgspec.structs.replace(full_diagnosis.bottleneck, confirmed=True)
    assert "confirmed: an intervention" in text(msgspec.structs.replace(full_diagnosis, bottleneck=sure))


def test_what_a_trial_speaks_against_is_said_under_what_to_do(full_diagnosis):
    first = full_diagnosis.actions[0]
    against = msgspec.structs.replace(first, recommended=False, found=(0.97, 1.02), change="c", outcome="tried as c: found 0.97–1.02×: no faster")
    told = text(msgspec.structs.replace(full_diagnosis, actions=(against,)))
    part = told.split("WHAT TO DO")[1].split("HOW LONG")[0]
    assert f"not recommended: {first.action}" in part
    assert "found 0.97–1.02×: no faster" in " ".join(part.split())
    assert "1." not in part.split("not recommended")[0], "it is not numbered among the recommendations"


def test_what_was_found_is_the_gain_and_the_promise_stands_beside_it(full_diagnosis):
    first = msgspec.structs.replace(full_diagnosis.actions[0], speedup=(1.1, 1.44), median_after_s=(0.1 / 1.44, 0.1 / 1.1), combines=())
    settled = msgspec.structs.replace(first, found=(1.25, 2.0), change="c", outcome="tried as c: found 1.25–2.00×", settled=True)
    flat = " ".join(text(msgspec.structs.replace(full_diagnosis, actions=(settled,))).split())
    assert "measured gain 1.25–2.00×" in flat
    assert "median after 50.0 ms – 80.0 ms · promised 1.10–1.44×" in flat
    undecided = msgspec.structs.replace(settled, settled=False)
    assert " gain 1.10–1.44×" in " ".join(text(msgspec.structs.replace(full_diagnosis, actions=(undecided,))).split())


def test_an_open_verdict_says_what_is_missing_and_what_was_found_faster(full_diagnosis):
    measured = msgspec.structs.replace(
        full_diagnosis.actions[0], id="m1", action="one-thread", on="the whole target", basis="measured", speedup=(1.4, 1.6), found=(1.4, 1.6),
        change="one-thread", outcome="tried as one-thread: found 1.40–1.60×",
    )  # fmt: skip
    bottleneck = msgspec.structs.replace(full_diagnosis.bottleneck, cause="unknown", bound="inconclusive", summary="needs counters")
    open_verdict = msgspec.structs.replace(full_diagnosis, bound="inconclusive", bottleneck=bottleneck, missing=(), actions=(measured,))
    for told in (text(open_verdict), markdown(page(open_verdict))):
        flat = " ".join(told.replace("\\", "").split())
        assert "one-thread: the whole target" in flat
        assert "measured gain 1.40–1.60×" in flat
        assert "Nothing is promised while the verdict is open. What is missing: needs counters" in flat
        assert "see what is missing below" not in flat
        assert "What follows no cause asked for" in flat


def test_the_html_report_draws_what_was_found_beside_the_promise(full_diagnosis):
    first = full_diagnosis.actions[0]
    against = msgspec.structs.replace(first, recommended=False, found=(0.97, 1.02), change="c", outcome="tried as c: no faster")
    document = html_report(msgspec.structs.replace(full_diagnosis, actions=(against,)))
    assert "not recommended: " in document
    assert "tried as c: no faster" in document
    assert 'class="found"' in document.split("What to do</h2>")[1].split("</section>")[0]


def test_one_promise_that_did_not_hold_is_no_verdict_on_promises():
    none_held = PromiseLine(action="fuse", refuted=1, rate=share_quantity(0, 1))
    never_tried = PromiseLine(action="batch", failed=1)
    report = PromiseReport(notebook="n", total=none_held, actions=(none_held, never_tried), controls={}, output_changed=0, experiments=())
    told = terminal(promises_page(report), 120, False)
    line = next(line for line in told.splitlines() if line.strip().startswith("fuse"))
    assert line.rstrip().endswith("0 of 1 (0–79 %)")
    assert "no trial with a result" in told
