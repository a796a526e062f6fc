"""What the user is asked, and what they allowed.

consent.py          Consent: decides what is allowed without asking, and asks the user about the rest
denied_writers.py   DeniedWriters: what agents would do by themselves where the settings deny it, and those that did
elicitations.py     Elicitations: shows an agent's forms and addresses to the user
mcp_offers.py       McpOffers: offers the sidecar's own MCP server and those of the user's settings to an agent, which starts or calls them itself
offered_folders.py  OfferedFolders: the folders of a conversation that an agent offers (ACP, `session/list`)
"""
