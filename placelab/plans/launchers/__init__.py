"""Splits of layers in the words of launchers, and the rules by which these read them."""
