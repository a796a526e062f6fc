"""The proxy: `acp-sidecar proxy -- AGENT…` is an ACP agent for any client, with AGENT behind it. What AGENT reads and writes by `fs/*` is the
text as the user sees it, and so is what its own tools do if they can be redirected to ours. Everything else passes through unchanged, byte for
byte.

    run.py           run: from start to end: the agent's process, signals, the exit code
    serving.py       Serving: everything that stands between a client and one agent, put together
    streams.py       Input: our stdin
    waiting.py       waiting for the first of: a signal, an end, a time
    process_end.py   ended: ends a process with pipes, whatever it does with them
    naming.py        name_of: the name of an agent
    relay.py         relay: lines from one end to the other; a slow reader slows the writer down
    heads.py         Head: what a line says about itself, without decoding its contents
    passing.py       Passing: what is done with each line
    announcing.py    what is added to the handshake: `fs`
    conversations.py Conversations: the agent's sessions and turns, as far as they show on the wire
    file_requests.py FileRequests: answers the agent's `fs/*`
    routes.py        Routes: one session of the agent, across all editors that have a part of its folders
    guest.py         Guest: the session in one of these editors, or on the disk
    own_tools.py     OwnTools: redirects the agent's own tools to ours
    hosts.py         Hosts: who serves a folder: a running sidecar, or the disk
    chain.py         Chain: the place of a proxy in a conductor's chain (`proxy/initialize`, `proxy/successor`)

In the sidecar, or in the proxy if it serves the disk:

    guest_methods.py GuestMethods: what guests may call over the bridge

A guest is an agent that the sidecar has not started. The user is asked before it comes in (workspace/sessions/guests.py).
"""
