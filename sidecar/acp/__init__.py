"""The agents' side: the only package that knows ACP types and the agent-client-protocol SDK.

Which agents there are, and how each is started:

    agents.py           HostedAgents: `ports.Agents` for the configured agents
    agent_processes.py  AgentProcesses: one process for each agent, from when it is needed until nothing needs it any more
    known.py            the agents that can be used without configuration
    command.py          Command: the program and the environment of a configured agent
    starting_folder.py  the folder in which that program is started
    quirks.py           Quirks: special handling for single agents
    read_only.py        ReadOnly: how an agent is started so that it cannot write, for `"writes": "deny"`
    kept_mode.py        KeptMode: keeps sessions in a mode in which their agent cannot write
    ways.py             how an agent reaches the text that the user sees, in words
    limits.py           all limits of this side

The agent's process:

    host.py             Host: one running agent: process and connection
    process.py          AgentProcess: the process, its streams, and a guarantee that it ends
    starting.py         starts it as this system does: posix.py or windows.py
    posix.py, windows.py  how it is started on each system
    spawning.py         starts a program without blocking the event loop
    reaper.py           Reaper: the process between us and an agent, which ends everything that the agent started
    left_running.py     ends commands that an agent leaves running after a stop
    pipes.py            PipeReader, PipeWriter: our ends of its pipes
    noise.py            Noise: logs what it prints outside the protocol

The wire:

    transport.py        LineTransport: lines of JSON between an agent and the SDK; puts the next four together
    line_parser.py      LineParser: bytes in, messages out
    json_rpc.py         what JSON-RPC demands of a message
    flow.py             Flow, Params: when to read more, and when to write more
    watchdog.py         Watchdog: ends a connection whose agent does not read
    byte_streams.py     Source, Sink: an agent's output and input
    messages.py         one line as messages, and a message as a line
    long_lines.py       LongLine: a long line, decoded into the messages in it
    frames.py           messages as frames of a WebSocket
    dialect.py          Dialect: another version of ACP, translated on the wire
    negotiation.py      which version is spoken with an agent
    sdk.py              the parts of the SDK that we use

The connection, and the sessions on it:

    client.py           AgentConnection: the client's half of ACP with one agent
    facts.py            Facts: what the agent announces
    offers.py           Offers: what we announce
    options.py          Options: the choices in a session
    listing.py          Listing: an agent's stored conversations
    logins.py           an agent's login methods
    habits.py           fields of single agents, as ACP's fields

What an agent requests:

    incoming.py         Incoming: the messages that an agent sends by itself
    workspace_port.py   the workspace as this package sees it
    asks.py             Asks: requests that wait for the user
    files.py            fs/read_text_file and fs/write_text_file
    command_line.py     CommandLine: what terminal/create runs
    terminal_requests.py  the five terminal requests of a session
    terminals.py        Terminals: the commands behind them
    output.py           Output: the last bytes of a command's output
    owned_output.py     the output of commands that an agent runs itself
    permission.py       session/request_permission
    elicitation.py      elicitation/create
    errors.py           refusals as JSON-RPC errors

Rooms:

    elsewhere/          agents that run on another machine or in a container
    own_tools/          how each agent's own Read and Edit are redirected to ours
    v2/                 version 2 of ACP, a Dialect
"""
