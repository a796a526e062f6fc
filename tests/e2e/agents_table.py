"""docs/agents.md: what each third-party agent was seen to do with the sidecar. Tests note cells; at the end of a run of `make agents` the page is
written, and the run fails when a cell got worse than the page said, or was not seen any more.

A cell's first word is its grade: yes, partly or no; what follows says how.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = {
    "reads unsaved": "It reads, or is sent, text that is not saved.",
    "writes undoable": "The editor's undo takes back its edit of an open file.",
    "survives typing": "Unsaved text, and text that you type while it works, stays when it edits other places in the file.",
    "revertible": "Rejecting, and reverting the turn, restore what it changed with its edit tool or with a command, in open files and in others.",
    "terminals": "Its commands run in the sidecar's terminals: you are asked first, you see the output, and they end with the turn.",
    "cancel": "Cancelling ends the turn, nothing that it started is left after 5 s, and the next prompt works.",
    "writes denied": 'With `"writes": "deny"`, it reads, but neither its tools nor its commands change anything, and you are not asked about them.',
    "your files": "A session leaves your own folders and your repository as they were, except for files that it would also write without the sidecar's tools.",
    "load": "A conversation can be continued after a restart of the editor and the sidecar.",
}
LIVE = {
    "typed after the prompt": "It reads, and edits, a line that you typed after the prompt and did not save.",
    "second edit": "It edits a file twice in one turn, without reading it again. Each edit is one undo step, and nothing is saved.",
    "parallel edits": "Its model asks for several edits of one file in one answer. All are made, each is one undo step, and nothing is saved.",
    "after a rejection": "After you reject all changes, it goes on with the restored text.",
    "in your line": "It edits a line in which you type at that moment. Both stay, without a conflict.",
    "pictures": "Its Read shows pictures, as without the sidecar.",
    "PDFs": "Its Read shows PDFs, as without the sidecar.",
    "denied files": "A file that you do not let it read stays unread.",
    "sub-agent": "A sub-agent's tools work on your text, too.",
    "switched off": 'With `"ownTools": "off"`, it works as it does without the sidecar\'s tools.',
    "tools killed": "If its `acp-sidecar mcp` is killed, the turn goes on.",
}
"""Of agents whose own tools are led to ours."""
GIVEN = {
    "our Read": "It reads a line that you typed after the prompt and did not save.",
    "our Edit": "It edits that line, and another one in the same turn. Each edit is one undo step, and nothing is saved.",
    "ours in parallel": "Its model calls our Edit several times for one file in one answer. All are made, each is one undo step, and nothing is saved.",
    "goes on": "After you reject all changes, it edits the restored text.",
    "its questions": "It asks before each edit, as it does for any tool that is not its own, and does not make an edit that you refuse.",
    "our Read denied": "A file that you do not let it read is not read by our tools.",
    "ours killed": "If its `acp-sidecar mcp` is killed, the turn goes on.",
    "not given": "Without the setting, it works as it does without the sidecar's tools.",
}
"""Of agents that were given ours beside their own."""
ABOUT_LIVE = {
    "codex-acp": "**codex-acp** has live edits only after `acp-sidecar connect codex-live`. Its row is for that; otherwise, its `apply_patch` works on the disk, and the sidecar merges what "
    "it wrote under what you typed. Codex does everything to files and commands through an *environment*, which `$CODEX_HOME/environments.toml` names. With ours there, "
    "`apply_patch` works on your current text; Codex' own `exec-server` still does everything else: its sandbox, questions and commands. You choose this yourself, for three reasons: "
    "the file applies to every Codex of yours (in a terminal, everything passes through unchanged); if the sidecar's program is killed or uninstalled, Codex can do nothing until it is "
    "restarted; and Codex' model reads files with commands, which read the disk. The alternatives to that file do not help: `-c` and `CODEX_CONFIG` have no setting for it; "
    "`CODEX_EXEC_SERVER_URL` was tried and works, but accepts only a WebSocket, and the sidecar opens no network port by itself; another `CODEX_HOME` with links to yours would separate its conversations, and the lock that Codex holds "
    "while it renews its log-in, from those of your terminal.",
    "claude-agent-acp-v2": "**claude-agent-acp-v2** is the same agent in [version 2 of ACP](live.md#version-2-of-acp). There it runs its commands in its own terminals and shows them.",
    "copilot": "**copilot is not in this table.** Its tools read and write the disk; whether they can be redirected was not examined. With a session, it accepts no MCP server that is a program (it says "
    "`Rejecting non-http/sse MCP server`), and the sidecar opens no network port by itself. So our additional tools (below) are named in a file when it is started. It was tested without log-in and "
    "network, with a provider of its own (`COPILOT_OFFLINE`, `COPILOT_PROVIDER_BASE_URL`).",
    "gemini": "**gemini is not in this table.** Its `replace` and `write_file` ask the sidecar for the text and write through it, as the first table shows. Its `read_file` reads the disk, and nothing can redirect "
    "it: over ACP, Gemini runs its tools without its hooks (`BeforeTool`, `AfterTool`); it accepts the settings file that its environment names only if root owns the file; "
    "and no tool of an MCP server or a command can be called `read_file`. Replacing `read_file` with our Read would be possible, but then its sub-agents could not read at all. "
    "Your unsaved text is saved before the prompt, and our additional tools (below) help, too.",
}
"""Why not, or not always, by agent. Gemini's is tried in test_gemini_doors.py, Codex' in test_codex_live.py."""
EVERY = {**COLUMNS, **LIVE, **GIVEN}
GRADES = ("no", "partly", "yes")

Rows = dict[str, dict[str, str]]


@dataclass
class Table:
    rows: Rows = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def note(self, agent: str, column: str, cell: str) -> None:
        """The last word counts, but a worse one of the same run stays."""
        assert column in EVERY, column
        assert grade(cell) >= 0, cell
        row = self.rows.setdefault(agent, {})
        known = row.get(column)
        if known is None or grade(cell) <= grade(known):
            row[column] = cell


def grade(cell: str) -> int:
    """Higher is better; -1 for what is no cell."""
    word = re.match(r"\w*", cell)
    name = word[0] if word else ""
    return GRADES.index(name) if name in GRADES else -1


def worse(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    """In words, for each cell of `before` that is worse in `now` or missing there. Agents that did not run at all count, too."""
    found: list[str] = []
    for agent, row in before.items():
        for column, cell in row.items():
            seen = now.get(agent, {}).get(column)
            if seen is None:
                found.append(f"{agent}, {column}: was “{cell}”, was not seen in this run")
            elif grade(seen) < grade(cell):
                found.append(f"{agent}, {column}: was “{cell}”, is “{seen}”")
    return found


def parse(page: str) -> Table:
    """The table of the page."""
    table = Table()
    columns: list[str] = []
    for line in page.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "agent":
            columns = cells[1:]
        elif cells[0] == "column":
            columns = []
        elif columns and set(cells[0]) != {"-"}:
            agent, _, version = cells[0].partition(" ")
            table.versions[agent] = version
            table.rows.setdefault(agent, {}).update(
                {
                    column: cell
                    for column, cell in zip(columns, cells[1:], strict=True)
                    if column in EVERY and grade(cell) >= 0
                }
            )
    return table


def render(table: Table) -> str:
    lines = [
        "# Agents",
        "",
        "How third-party agents work with the sidecar. Each was driven by a scripted model, without network. `make agents` runs the tests and writes this page; it fails if a",
        "cell gets worse. Other agents were not tested and may work too. [Clients](clients.md) lists the known habits of agents.",
        "",
    ]
    lines += _rows(table, list(table.rows), COLUMNS)
    live = [agent for agent, row in table.rows.items() if any(column in LIVE for column in row)]
    if live:
        lines += [
            "",
            "## Live tools",
            "",
            "The Read, Edit and Write of these agents work on the text in your editor, unsaved changes included ([how](live.md)).",
            "",
        ]
        lines += _rows(table, live, LIVE)
    for agent, words in ABOUT_LIVE.items():
        if agent in table.rows:
            lines += ["", words]
    given = [agent for agent, row in table.rows.items() if any(column in GIVEN for column in row)]
    if given:
        lines += [
            "",
            "## The sidecar's tools in addition to its own",
            "",
            'With `"ownTools": "all"`, an agent also gets [the sidecar\'s tools](reference.md#tools-for-agents) ("our" tools in the table). They work on the text in your editor; the agent\'s own tools work as in the first table.',
            "",
        ]
        lines += _rows(table, given, GIVEN)
    return "\n".join(lines) + "\n"


def _rows(table: Table, agents: list[str], columns: Mapping[str, str]) -> list[str]:
    lines = ["| agent | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for agent in agents:
        name = f"{agent} {table.versions.get(agent, '')}".strip()
        cells = (table.rows[agent].get(column, "not seen") for column in columns)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| column | yes means |", "|---|---|"]
    return lines + [f"| {column} | {words} |" for column, words in columns.items()]


def publish(page: Path, table: Table, only: Collection[str] | None = None) -> list[str]:
    """Writes the page; what got worse, in words. Then the page keeps what it said: it is what the next run is compared with.

    `only`: the agents that were run; the others' rows stay as they are."""
    known = parse(page.read_text()) if page.exists() else Table()
    left = {} if only is None else {a: row for a, row in known.rows.items() if a not in only}
    found = worse({a: row for a, row in known.rows.items() if a not in left}, table.rows)
    if not found:
        rows = {**left, **table.rows}
        order = [*known.rows, *(agent for agent in rows if agent not in known.rows)]
        whole = Table({a: rows[a] for a in order}, {**known.versions, **table.versions})
        page.write_text(render(whole))
    return found
