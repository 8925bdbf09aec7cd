"""How objects look: pictures in cells, figures."""
