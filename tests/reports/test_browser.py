"""The page in a real browser; skipped where there is none."""

import asyncio
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from openosce.encounters import Encounter, EndReason, Message
from openosce.reports import write_report

SCRIPT = Path(__file__).parents[2] / "scripts" / "screenshot.py"
EVIL = (
    """</script><script>document.title="pwned"; alert(1)</script><img src=x onerror="alert(2)">{{ 7*7 }}\u202e'"`${0}"""
)
SHOWN = EVIL.replace("\u202e", "<U+202E>")


@pytest.fixture(scope="module")
def browser():
    spec = importlib.util.spec_from_file_location("screenshot", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.chromium()
    except module.NoBrowser as problem:
        pytest.skip(str(problem))
    return module


@pytest.fixture
def look(browser):
    """Do something with a page in a tab of its own; whatever the browser complains about fails the test."""

    def run(path, do, part="", **screen):
        async def act():
            async with browser.tab() as tab:
                await tab.show(path.resolve().as_uri() + part, **screen)
                found = await do(tab)
                await tab.evaluate("0")  # what was reported until now has come in
                return found, tab.events

        found, events = asyncio.run(act())
        bad = ("Page.javascriptDialogOpening", "Runtime.exceptionThrown", "Log.entryAdded")
        assert [event for event in events if event["method"] in bad] == []
        return found

    return run


@pytest.fixture
def hostile_page(records, tmp_path):
    said = (Message(EVIL, EVIL, EVIL), Message("doctor", None, EVIL))
    answers = [records.answer("x_mcq", 1.0, evidence=EVIL), records.answer(EVIL, None, reason=EVIL, why_no_answer=EVIL)]
    trial = records.trial(EVIL, EVIL, 0, answers)
    trial = replace(trial, encounter=Encounter(said, EndReason.ROLE_FAILED, EVIL))
    cases = [records.case(EVIL, EVIL, EVIL), records.case("2", "Neurology")]
    manifest = records.manifest([EVIL], ["x_mcq", EVIL], 1, notes=[EVIL], fallbacks=[EVIL], policy="paper@1")
    return write_report(records.write(tmp_path / "run", manifest, cases, [trial]))


@pytest.fixture
def page(simple_run):
    marks = {"a": {"x_mcq": [[1], [0], [None]] * 30}, "b": {"x_mcq": [[1], [1], [0]] * 30}}
    return write_report(simple_run(marks, specialties=["Cardiology", "Neurology", "Neurology"] * 30))


OPENED = """new Promise((done) => { const look = () => {
    const text = document.querySelector('#reader-count').textContent;
    text.includes('conversations') ? done(text) : setTimeout(look, 10); }; look(); })"""


async def choose(tab, **filters):
    """Set filters, and return what the page then says."""
    for name, value in filters.items():
        await tab.evaluate(
            f"""{{ const box = document.querySelector('#filter-{name}');
            const option = [...(box.options || [])].find((one) => one.textContent === {value!r});
            box.value = option ? option.value : {value!r};
            document.querySelector('#reader-count').textContent = '';
            box.dispatchEvent(new Event(box.tagName === 'SELECT' ? 'change' : 'input')); }}"""
        )
    return await tab.evaluate(OPENED)


def test_hostile_text_is_shown_and_does_nothing(look, hostile_page):
    async def read(tab):
        await tab.evaluate(OPENED)
        await tab.evaluate(
            """new Promise((done) => { const look = () => document.querySelector('.answers')
            ? done() : setTimeout(look, 10); look(); })"""
        )
        return await tab.evaluate(
            """({title: document.title, text: document.querySelector('article').textContent,
            images: document.querySelectorAll('img').length,
            messages: [...document.querySelectorAll('.message p')].map((one) => one.textContent)})"""
        )

    found = look(hostile_page, read, "#conversation-0")
    assert found["title"] == "run · OpenOSCE"
    assert found["images"] == 0
    assert found["messages"] == [SHOWN, SHOWN]
    assert found["text"].count(SHOWN) >= 8


def test_conversations_are_found_by_doctor_specialty_verdict_and_text(look, page):
    async def filtered(tab):
        await tab.evaluate("document.querySelector('#reader-open').click()")
        told = [await tab.evaluate(OPENED)]
        told.append(await choose(tab, doctor="a"))
        told.append(await choose(tab, verdict="wrong", arm="x_mcq"))
        told.append(await choose(tab, text="CASE-01"))
        told.append(await choose(tab, verdict="any", doctor="all"))
        told.append(await choose(tab, specialty="Cardiology"))
        return told, await tab.evaluate("document.querySelectorAll('#reader-list li').length")

    told, shown = look(page, filtered)
    assert told == [f"{n} of 180 conversations" for n in (180, 90, 30, 1, 2, 0)]
    assert shown == 0


def test_fifty_conversations_are_listed_at_a_time(look, page):
    async def pressed(tab):
        await tab.evaluate(OPENED)
        counts = []
        for _ in range(4):
            counts.append(await tab.evaluate("document.querySelectorAll('#reader-list li').length"))
            await tab.evaluate("document.querySelector('#reader-more').click()")
        return counts, await tab.evaluate("document.querySelector('#reader-more').hidden")

    assert look(page, pressed, "#conversations") == ([50, 100, 150, 180], True)


def test_without_javascript_everything_but_the_conversations_is_there(look, page):
    async def plain(tab):
        await tab.command("Emulation.setScriptExecutionDisabled", value=True)
        await tab.show(page.resolve().as_uri())
        return await tab.evaluate(
            """({note: document.querySelector('#reader-note').checkVisibility(),
            button: document.querySelector('#reader-open').checkVisibility(),
            drawn: document.querySelectorAll('figure svg').length,
            rows: document.querySelectorAll('#accuracy tbody tr').length})"""
        )

    assert look(page, plain) == {"note": True, "button": False, "drawn": 3, "rows": 2}


def test_a_phone_need_not_scroll_sideways_and_print_leaves_the_conversations_out(look, page):
    async def measured(tab):
        width = await tab.evaluate("document.documentElement.scrollWidth")
        await tab.command("Emulation.setEmulatedMedia", media="print")
        shown = await tab.evaluate("document.querySelector('#conversations').checkVisibility()")
        await tab.command(
            "Emulation.setDeviceMetricsOverride", width=794, height=1123, deviceScaleFactor=1, mobile=False
        )
        widest = await tab.evaluate(
            "Math.max(...[...document.querySelectorAll('table, svg')].map((one) => one.getBoundingClientRect().right))"
        )
        return width, shown, widest

    width, shown, widest = look(page, measured, width=390, height=844)
    assert width == 390
    assert not shown
    assert widest <= 794


def test_without_a_browser_the_screenshot_is_refused_in_one_line(page, tmp_path):
    command = [sys.executable, str(SCRIPT), str(page), str(tmp_path / "picture.png")]
    refused = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "error: no Chromium here; install the package `chromium`\n")


def test_where_no_conversation_was_held_the_answers_have_all_the_room(look, records, tmp_path):
    answers = [records.answer("differential", 1.0)]
    trial = replace(records.trial("d", "1", 0, answers), encounter=Encounter((), EndReason.NOT_HELD, None))
    manifest = records.manifest(["d"], ["differential"], 1)
    path = write_report(records.write(tmp_path / "run", manifest, [records.case("1")], [trial]))

    async def measured(tab):
        await tab.evaluate(
            """new Promise((done) => { const look = () => document.querySelector('.answers')
            ? done() : setTimeout(look, 10); look(); })"""
        )
        return await tab.evaluate(
            """({text: document.querySelector('article').textContent,
            widths: ['.answers', 'article'].map((of) => document.querySelector(of).getBoundingClientRect().width)})"""
        )

    found = look(path, measured, "#conversation-0")
    assert "No conversation was held." in found["text"]
    assert found["widths"][0] > 0.9 * found["widths"][1]
