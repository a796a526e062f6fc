"""The output of an agent's commands."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.panel.panel import Panel, put, talk, tool, user

RED = "\x1b[31mred\x1b[0m"


def running(output: str) -> dict[str, object]:
    return tool(title="pytest -q", toolKind="execute", status="in_progress", output=output)


def test_output_is_shown_while_it_comes_and_folded_when_it_is_done(panel: Panel) -> None:
    panel.send(*talk(user("run it"), running(f"{RED} plain\n 10%\r100%\n"), state="running"))
    output = panel.page.get_by_label("Output")
    expect(output).to_have_text("red plain\n100%\n", use_inner_text=True)
    red = output.locator("span", has_text="red")
    expect(red).not_to_have_css("color", output.evaluate("(one) => getComputedStyle(one).color"))
    lines = "".join(f"line {number}\n" for number in range(100))
    panel.send(put(running(lines)))
    expect(output).to_contain_text("line 99")
    assert output.evaluate("(one) => one.scrollHeight - one.scrollTop - one.clientHeight") <= 1
    panel.send(put({**running(lines), "status": "completed"}))
    expect(output).to_have_count(0)
    panel.page.get_by_role("button", name="pytest -q").click()
    expect(output).to_contain_text("line 99")
    assert panel.errors == []


def test_a_command_can_be_stopped_and_shown_in_a_terminal_and_its_end_is_said(panel: Panel) -> None:
    card = running("going\n")
    panel.send(*talk(user("run it"), {**card, "commands": [{"id": "c1"}]}, state="running"))
    panel.page.get_by_role("button", name="Stop this command").click()
    assert panel.got("stopCommand")[-1]["command"] == "c1"
    panel.page.get_by_role("button", name="Show in a terminal").click()
    assert panel.got("openTerminal")[-1]["entry"] == "t"
    ends: dict[str, dict[str, object]] = {
        "exit code 3": {"code": 3},
        "ended by SIGKILL": {"signal": "SIGKILL"},
        "you stopped it": {"signal": "SIGTERM", "stopped": True},
    }
    for words, end in ends.items():
        panel.send(put({**card, "status": "failed", "commands": [{"id": "c1", "end": end}]}))
        expect(panel.page.locator(".tool-head .exit")).to_have_text(words)
        expect(panel.page.get_by_role("button", name="Stop this command")).to_have_count(0)
    for end in ({"code": 0}, {}):
        panel.send(put({**card, "status": "completed", "commands": [{"id": "c1", "end": end}]}))
        expect(panel.page.locator(".tool-head .exit")).to_have_count(0)
    assert panel.errors == []


def test_a_link_of_a_command_is_only_its_words(panel: Panel) -> None:
    link = "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\ <b>bold</b>\n"
    panel.send(*talk(running(link), state="running"))
    output = panel.page.get_by_label("Output")
    expect(output).to_contain_text("here <b>bold</b>")
    expect(output.locator("a, b")).to_have_count(0)
    assert "evil" not in panel.page.content()


def test_a_card_says_a_command_once(panel: Panel) -> None:
    panel.send(
        *talk(tool(title="`pytest -q`", toolKind="execute", text="```sh\npytest -q\n```", output="ok\n"))
    )
    panel.page.get_by_role("button", name="pytest -q").click()
    expect(panel.page.get_by_label("Output")).to_be_visible()
    expect(panel.page.get_by_text("pytest -q")).to_have_count(1)
