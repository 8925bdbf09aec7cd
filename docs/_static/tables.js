// Tables with a column "strategy": a click on a head sorts, a field above filters. Without JavaScript they are plain tables.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.docutils")) {
    const heads = [...table.querySelectorAll("thead th")];
    if (heads[0]?.textContent.trim() !== "strategy") continue;
    table.classList.add("sortable");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const key = (row, column) => {
      const text = row.cells[column].textContent.trim();
      return text === "" || Number.isNaN(Number(text)) ? [text === "–" || text === "s, min" ? 2 : 1, text] : [0, Number(text)];
    };
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.className = "sorts";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.ariaSort === "ascending" ? -1 : 1;
        for (const other of heads) other.ariaSort = null;
        head.ariaSort = falling < 0 ? "descending" : "ascending";
        rows.sort((a, b) => {
          const [x, y] = [key(a, column), key(b, column)];
          return x[0] - y[0] || (falling * (x[1] > y[1]) - falling * (x[1] < y[1]));
        });
        body.append(...rows);
      });
    });
    const field = document.createElement("input");
    Object.assign(field, { type: "search", placeholder: "Filter names, sentences", ariaLabel: "Filter the table", className: "filters" });
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    (table.closest(".table-wrapper") ?? table).before(field);
  }
});
