"""Where does each op go? One algorithm per file; importing this package enters them into the catalogue."""
