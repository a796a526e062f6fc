"""Applier: a change of text that the user asked for outside the editor (`acp-sidecar revert`), made in the editor.

What is to be done is given as two texts, `base` and `wanted`; it is merged into the text as it is now, so that everything
else in it stays. It is the user's own edit: journalled before it is made like an agent's, versioned, one undo step, but
nobody reviews it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

import anyio
import anyio.abc

from sidecar.core.change import ChangeSet
from sidecar.core.escape import plain
from sidecar.core.ledger import Rejection
from sidecar.core.merge import Conflict, merge
from sidecar.core.normal import Normal, normal
from sidecar.core.text import Text
from sidecar.core.uri import DocumentUri, from_path
from sidecar.journal.entry import Entry, JournalFailed
from sidecar.workspace.buffer_writes import MAX_ATTEMPTS, MAX_MOVES, BufferWriter
from sidecar.workspace.documents import Tracked
from sidecar.workspace.ledgers import changes_as_steps
from sidecar.workspace.ports import Editor, Journal
from sidecar.workspace.queues import Ticket
from sidecar.workspace.reconcile import Reconciler
from sidecar.workspace.sending import Outcome, Sender
from sidecar.workspace.state import State

WHO = "user"
"""What the journal has in the place of an agent's name."""
