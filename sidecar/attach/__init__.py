"""`acp-sidecar acp`: an ACP agent on stdio for any client, which attaches to the running sidecar of its folder and drives the sessions
there.

    run.py       run: from start to end: streams, signals, the exit code
    front.py     Front: the agent that the client sees
    listen.py    listen: for clients that connect to a port instead of starting us
    http_wire.py the HTTP on that port that is not a WebSocket's
    http_clients.py  HttpClients: the clients on that port that use Streamable HTTP
    streams.py   Streams: the stream on which such a client gets each message
    pairing.py   Pairing: which clients on that port are let in, by a code that the editor shows

In the sidecar:

    attached.py  Attached: what an attached client may call over the bridge, and the events that it gets
    inbox.py     Inbox: its events, until it asks for them: in order, with a bound
    asking.py    a question in ACP's form
    codes.py     Codes: shows the user the code for a client that connects

workspace/sessions/audience.py decides who is told what, and whose answer counts. The user is asked before a client is told anything, as
for any guest (workspace/sessions/guests.py).
"""
