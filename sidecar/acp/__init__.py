"""The agents' side: the only package that knows ACP types and the agent-client-protocol SDK."""
