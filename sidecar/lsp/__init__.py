"""The editor's side: the only package that knows LSP types."""
