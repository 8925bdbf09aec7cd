"""The model graph: scopes that open and close, laid out in layers."""
