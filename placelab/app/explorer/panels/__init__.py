"""The widgets around canvas and chart: pickers, buttons, lines and panels, each fed by the explorer."""
