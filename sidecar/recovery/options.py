"""The options of `acp-sidecar changes`, `revert`, `sessions` and `audit`. A separate module, so that other commands start without loading these."""

from __future__ import annotations

import argparse

SHOWN = 40
"""The default number of rows: they fit on a screen with room for the text below."""


def changes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH|ID", help="files, folders or single changes (default: this folder)"
    )
    parser.add_argument(
        "--session", metavar="S", help="only this agent session (its first characters are enough)"
    )
    parser.add_argument("--everywhere", action="store_true", help="list all folders, not only this one")
    parser.add_argument("--failed", action="store_true", help="include writes that were never made")
    parser.add_argument(
        "-n",
        "--limit",
        type=_number,
        default=SHOWN,
        metavar="N",
        help=f"list at most N changes; 0: all (default: {SHOWN})",
    )
    parser.add_argument("--diff", action="store_true", help="show what changed, line by line")
    parser.add_argument("--json", action="store_true", help="print JSON: a list, newest first")
    parser.add_argument(
        "--purge", action="store_true", help="delete these changes from the journal, texts included"
    )
    parser.add_argument("--yes", action="store_true", help="with --purge: do not ask")


def revert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="changes, as `acp-sidecar changes` shows them")
    parser.add_argument("--turn", metavar="SESSION:N", help="everything that an agent changed in one turn")
    parser.add_argument("--session", metavar="S", help="everything that an agent changed in one session")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")


def sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="S", help="only this session (its first characters are enough)")
    parser.add_argument("--everywhere", action="store_true", help="list all folders, not only this one")
    parser.add_argument("--json", action="store_true", help="print JSON: a list, the last used first")
    parser.add_argument("--purge", action="store_true", help="delete these records")
    parser.add_argument("--yes", action="store_true", help="with --purge: do not ask")


def audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--path", action="store_true", help="print only the paths of the log's files, oldest first"
    )
    parser.add_argument(
        "--session", metavar="S", help="only this agent session (its first characters are enough)"
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=_number,
        default=SHOWN,
        metavar="N",
        help=f"show the last N lines; 0: all (default: {SHOWN})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, as logged")


def _number(word: str) -> int:
    if not word.isdecimal():
        raise argparse.ArgumentTypeError("not a whole number, 0 or larger")
    return int(word)
