"""The editor's side of the sidecar: the only package that knows LSP types."""
