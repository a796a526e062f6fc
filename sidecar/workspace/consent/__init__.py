"""What the user is asked, and what they allowed.

consent.py          Consent: decides what is allowed without asking, and asks the user about the rest
denied_writers.py   DeniedWriters: agents that change files although the settings deny writing
elicitations.py     Elicitations: shows an agent's forms and addresses to the user
mcp_offers.py       McpOffers: offers MCP servers to an agent: the sidecar's own, and those of the user's settings
offered_folders.py  OfferedFolders: the folders of a conversation that an agent offers (ACP, `session/list`)
shown.py            Shown: the parts of a question's words that may be long, and what the words leave out of them
"""
