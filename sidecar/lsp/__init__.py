"""The editor's side of the sidecar: the only package that knows LSP types.

The connection, from the first byte to the exit code:

    main.py           run: one editor connection on stdin and stdout
    stdio.py          reserves the two streams
    greeting.py       Greeting: answers `initialize` before pygls is imported
    announcement.py   that answer, as plain data
    kept_code.py      keeps the byte code of lsprotocol's classes, for a faster start
    server.py         SidecarServer: on which features are registered
    protocol.py       SidecarProtocol: pygls's protocol with our life cycle, dispatch and error handling
    errors.py         the codes of JSON-RPC and LSP
    wire_port.py      Wire: the part of the connection that features need

Messages:

    reader.py         Reader: bytes from the editor, in order
    framing.py        Framing: bytes as message bodies
    messages.py       bodies as JSON-RPC messages
    shapes.py         Shapes: plain JSON as lsprotocol's types, and back
    pending.py        Pending, Asked: our requests that are not yet answered
    running.py        Running: the editor's requests in progress
    writer.py         Writer: sends messages from a thread of its own
    long_texts.py     LongText: a long text in a message, escaped in pieces
    told_back.py      ToldBack: such a text, when the editor reports it

What the editor tells us:

    capabilities.py   `initialize` as EditorCapabilities
    editor_habits.py  what a client does that it does not announce, by its name: one table
    sync.py           didOpen, didChange, didSave and didClose as one `Modification` each
    watched_files.py  WatchedFiles: the editor's file watcher

The workspace's Editor port:

    editor.py         LspEditor: the port itself
    edits.py          WorkspaceEdits as plain JSON
    progress.py       ProgressBoard: long work, which the user can cancel
    updates.py        Updates: session updates, joined while they wait
    questions.py      Questions: permission questions
    whole_text.py     WholeText: a text that is too long for a message box
    elicitations.py   agents' forms and addresses
    message_buttons.py  MessageButtons: messages with buttons

What the editor can request:

    ext.py            what this server adds to LSP: commands, methods and their payloads
    command_names.py  the names of these commands
    features.py       Features: registers requests, lenses and code actions
    workspace_port.py the parts of the workspace that are called
    commands.py       Commands: `workspace/executeCommand`
    session_commands.py  SessionCommands: the same for conversations
    review.py         ReviewFeatures: lenses and actions *Keep* and *Reject*
    conflicts.py      ConflictFeatures: the same for conflicts

Conversations as text, for editors without a panel:

    narration.py      Narrator: session updates as text
    chat.py           Chat: writes one transcript
    transcript.py     Transcripts: all of them
    transcript_text.py    where the prompt is, and how text is appended
    transcript_edit.py    one edit, in the editor or in the file
    transcript_folder.py  TranscriptFolder: the files
"""
