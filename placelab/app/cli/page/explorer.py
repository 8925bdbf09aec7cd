"""Open the explorer on what the command line has asked for; the kernel behind the page runs this."""

if __name__ == "__main__":
    from IPython.display import display

    from placelab.app.cli import opening_commands

    display(opening_commands.asked_for())
