"""What is tried to get into the bridge, or to get something out of those who use it. Each row says what it got; "" is nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidecar.bridge import entry as entries
from sidecar.bridge import proof
from sidecar.bridge.entry import SidecarEntry
from sidecar.bridge.finding import find
from tests.bridge.serving import WAIT, Raw, Serving, greeted, raw, serving

ROOT = Path(__file__).parents[2]
NOBODY = 65534
REQUEST = {"id": 1, "method": "echo", "params": {"text": "let in"}}


class Scene:
    """A running sidecar whose root is `project`, in a runtime folder of its own."""

    def __init__(self, base: Path) -> None:
        self.runtime = base / "run"
        self.runtime.mkdir(mode=0o700)
        self.project = base / "project"
        self.project.mkdir()
        self.called = 0

    async def echo(self, params: Mapping[str, Any]) -> object:
        self.called += 1
        return dict(params)

    @contextmanager
    def served(self):
        with serving(self.runtime, {"echo": self.echo}, [str(self.project)]) as running:
            yield running

    def found(self, running: Serving) -> str:
        """What the ordinary client makes of it."""
        client = find(str(self.project), running.env)
        if client is None:
            return ""
        with client:
            return f"the client trusts it and says {client.call('echo', {})}"


def got_in(scene: Scene, client: Raw) -> str:
    client.send(REQUEST)
    said = client.rest_of_one()
    return f"answered {said!r}" if said or scene.called else ""


# Clients that should get nothing


def no_handshake(scene: Scene) -> str:
    with scene.served() as running, raw(running.entry.socket) as client:
        return got_in(scene, client)


def request_after_greeting(scene: Scene) -> str:
    with scene.served() as running, raw(running.entry.socket) as client:
        greeted(client)
        return got_in(scene, client)


def wrong_secret(scene: Scene) -> str:
    with scene.served() as running, raw(running.entry.socket) as client:
        ours, theirs, _ = greeted(client)
        client.send({"proof": proof.prove(os.urandom(32), "client", ours, theirs, running.entry.socket)})
        return got_in(scene, client)


def empty_proof(scene: Scene) -> str:
    with scene.served() as running, raw(running.entry.socket) as client:
        greeted(client)
        client.send({"proof": None})
        return got_in(scene, client)


def reflected_proof(scene: Scene) -> str:
    """The server's own proof, sent back."""
    with scene.served() as running, raw(running.entry.socket) as client:
        _, _, theirs = greeted(client)
        client.send({"proof": theirs})
        return got_in(scene, client)


def replayed_handshake(scene: Scene) -> str:
    """Everything a client said that was let in, once more."""
    with scene.served() as running:
        ours = proof.new_nonce()
        with raw(running.entry.socket) as first:
            first.send({"v": 1, "nonce": ours})
            hello = first.line()
            assert hello is not None
            said = proof.prove(running.entry.secret, "client", ours, hello["nonce"], running.entry.socket)
            first.send({"proof": said})
            assert first.line() is not None
        with raw(running.entry.socket) as again:
            again.send({"v": 1, "nonce": ours})
            again.line()
            again.send({"proof": said})
            return got_in(scene, again)


def proof_for_another_socket(scene: Scene) -> str:
    with scene.served() as running, raw(running.entry.socket) as client:
        ours, theirs, _ = greeted(client)
        other = running.entry.socket.replace(running.server.id, "0" * 16)
        client.send({"proof": proof.prove(running.entry.secret, "client", ours, theirs, other)})
        return got_in(scene, client)


# Servers that should get nothing


def squatted(scene: Scene, answer: Callable[[dict[str, Any]], Mapping[str, object]]) -> str:
    """Something else listens at a dead sidecar's socket. `answer`: its half of the handshake, from the client's greeting."""
    folder = scene.runtime / "acp-sidecar"
    folder.mkdir(mode=0o700)
    entry_id = "1" * 16
    secret = os.urandom(32)
    path = entries.socket_of(folder, entry_id)
    entries.write(folder, SidecarEntry(entry_id, os.getpid(), 1.0, 1.0, (str(scene.project),), path, secret))
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.settimeout(WAIT)
            heard.append(lines.readline())
            connection.sendall(json.dumps(answer(json.loads(heard[0]))).encode() + b"\n")
            try:
                heard.append(lines.readline())
                connection.sendall(b'{"ok": true}\n')
                heard.append(lines.readline())
            except OSError:
                pass

    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(path)
        listener.listen(1)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        client = find(str(scene.project), {"XDG_RUNTIME_DIR": str(scene.runtime)})
        if client is not None:
            client.close()
        thread.join(WAIT)
    said = b"".join(heard)
    if client is not None:
        return "the client trusts it"
    if secret.hex().encode() in said or set(json.loads(heard[0])) != {"v", "nonce"} or heard[1:] != [b""]:
        return f"the client told it {said!r}"
    return ""


def squatted_with_a_guess(scene: Scene) -> str:
    return squatted(scene, lambda hello: {"v": 1, "nonce": proof.new_nonce(), "proof": "0" * 64})


def squatted_with_an_echo(scene: Scene) -> str:
    return squatted(scene, lambda hello: {**hello, "proof": hello["nonce"]})


def squatted_without_proof(scene: Scene) -> str:
    return squatted(scene, lambda hello: {"ok": True})


def squatted_with_another_secret(scene: Scene) -> str:
    def answer(hello: dict[str, Any]) -> Mapping[str, object]:
        nonce = proof.new_nonce()
        path = entries.socket_of(scene.runtime / "acp-sidecar", "1" * 16)
        return {
            "v": 1,
            "nonce": nonce,
            "proof": proof.prove(bytes(32), "server", hello["nonce"], nonce, path),
        }

    return squatted(scene, answer)


# Entries that should not be believed


def readable_entry(scene: Scene) -> str:
    with scene.served() as running:
        entries.path_of(running.folder, running.server.id).chmod(0o644)
        return scene.found(running)


def linked_entry(scene: Scene) -> str:
    with scene.served() as running:
        entry = entries.path_of(running.folder, running.server.id)
        entry.rename(scene.project / "elsewhere")
        entry.symlink_to(scene.project / "elsewhere")
        return scene.found(running)


def entry_of_a_socket_elsewhere(scene: Scene) -> str:
    with scene.served() as running:
        os.link(running.entry.socket, scene.project / "s")
        entries.write(running.folder, replace(running.entry, socket=str(scene.project / "s")))
        return scene.found(running)


def open_folder(scene: Scene) -> str:
    with scene.served() as running:
        running.folder.chmod(0o755)
        return scene.found(running)


def linked_folder(scene: Scene) -> str:
    with scene.served() as running:
        running.folder.rename(scene.runtime / "elsewhere")
        running.folder.symlink_to(scene.runtime / "elsewhere")
        return scene.found(running)


# Another user

AS_NOBODY = """
import json, os, sys
from sidecar.bridge import proof
from tests.bridge.serving import Raw, greeted
path, secret, entry = json.load(sys.stdin)
os.setgroups([]); os.setgid(%(nobody)d); os.setuid(%(nobody)d)
got = []
try:
    got.append(open(entry).read())
except OSError:
    pass
try:
    client = Raw(path)
except OSError:
    pass
else:
    if secret:
        ours, theirs, _ = greeted(client)
        client.send({"proof": proof.prove(bytes.fromhex(secret), "client", ours, theirs, path)})
    client.send(%(request)r)
    got.append(client.rest_of_one())
print(json.dumps([one for one in got if one]))
"""


def as_nobody(running: Serving, secret: bytes) -> str:
    script = AS_NOBODY % {"nobody": NOBODY, "request": REQUEST}
    entry = entries.path_of(running.folder, running.server.id)
    given = json.dumps([entries.socket_of(running.folder, running.server.id), secret.hex(), str(entry)])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    return f"another user got {got}" if got else ""


def another_user(scene: Scene) -> str:
    """Who can reach the folder, and nothing in it."""
    with scene.served() as running:
        scene.runtime.chmod(0o755)
        return as_nobody(running, b"")


def another_user_who_knows_the_secret(scene: Scene) -> str:
    """With every permission on the way given away, the kernel's word is left."""
    with scene.served() as running:
        secret = running.entry.secret
        for path in (scene.runtime, running.folder, Path(running.entry.socket)):
            path.chmod(0o777)
        return as_nobody(running, secret)


ANOTHER_USER = {
    "another user": another_user,
    "another user who knows the secret": another_user_who_knows_the_secret,
}
"""These need to be run as root, who alone can become somebody else."""

FOR_NOTHING_BUT_THE_PROOF = {
    "a request after the greeting": request_after_greeting,
    "a wrong secret": wrong_secret,
    "an empty proof": empty_proof,
    "the server's proof sent back": reflected_proof,
    "a replayed handshake": replayed_handshake,
    "a proof for another socket": proof_for_another_socket,
    "a squatted socket, guessing": squatted_with_a_guess,
    "a squatted socket, echoing": squatted_with_an_echo,
    "a squatted socket, another secret": squatted_with_another_secret,
}
"""These fail because of the HMAC alone."""

ATTACKS: dict[str, Callable[[Scene], str]] = {
    "no handshake": no_handshake,
    **FOR_NOTHING_BUT_THE_PROOF,
    "a squatted socket, no proof": squatted_without_proof,
    "an entry others can read": readable_entry,
    "an entry that is a link": linked_entry,
    "an entry of a socket elsewhere": entry_of_a_socket_elsewhere,
    "a folder others can enter": open_folder,
    "a folder that is a link": linked_folder,
    **ANOTHER_USER,
}
