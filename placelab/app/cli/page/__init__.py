"""The page of ``placelab explore``: its server, its template, and what runs in its kernel."""
