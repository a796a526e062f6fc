"""`acp-sidecar acp`: an ACP agent on stdio for any client, which attaches to the running sidecar of its folder and drives the sessions there.

    run.py       run: from start to end: streams, signals, the exit code
    front.py     Front: the agent that the client sees
    listen.py    listen: for clients that connect to a port instead of starting us
    http_wire.py what of these speaks HTTP on that port, and not WebSocket
    http_clients.py  HttpClients: those that use Streamable HTTP
    streams.py   Streams: which of its streams such a client is told something on
    pairing.py   Pairing: which of these are let in, by a code that the editor shows

In the sidecar:

    attached.py  Attached: what an attached client may call over the bridge, and what it is told
    inbox.py     Inbox: what it is told, until it asks for it: in order, with a bound
    asking.py    a question as ACP has it
    codes.py     Codes: shows the user the code for a client that connects

Who is told what, and whose answer counts, is decided in workspace/sessions/audience.py. The user is asked before anything is told, as for any
guest (workspace/sessions/guests.py).
"""
