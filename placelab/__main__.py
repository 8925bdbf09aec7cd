"""``python -m placelab``: the command line."""

from placelab.app.cli import main

if __name__ == "__main__":
    main()
