(() => {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();

  // Colours come from the style sheet, so that light, dark and print have one source.
  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { text: of("--text"), quiet: of("--quiet"), grid: of("--grid"), line: of("--line") };
  }

  function layoutOf(figure) {
    const c = colours();
    const axis = (given) => ({
      gridcolor: c.grid, linecolor: c.line, zerolinecolor: c.line, tickfont: { size: 11 }, automargin: true,
      ...given, title: { font: { size: 11, color: c.quiet }, ...given.title },
    });
    return {
      ...figure.layout, xaxis: axis(figure.layout.xaxis), yaxis: axis(figure.layout.yaxis), showlegend: false,
      margin: { l: 48, r: 10, t: 6, b: 34 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: c.text, size: 11, family: getComputedStyle(document.body).fontFamily }, hovermode: "closest",
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
  }

  function draw(plot) {
    const figure = figures[Number(plot.dataset.figure)];
    const config = { displaylogo: false, displayModeBar: false };
    Plotly.react(plot, figure.data, layoutOf(figure), config);
    drawn.add(plot);
  }

  // A few at a time: an arm of many joints has a hundred panels, and the page must answer meanwhile.
  function drawNext() {
    const waiting = plots.filter((plot) => !drawn.has(plot)).slice(0, 6);
    waiting.forEach(draw);
    if (waiting.length) setTimeout(drawNext);
  }

  function redraw() {
    plots.forEach(draw);
    plots.forEach((plot) => Plotly.Plots.resize(plot));
  }

  // Not plotly's own "responsive": it listens to the window only, and a panel also shrinks when a scroll bar appears.
  const observer = new ResizeObserver((entries) => {
    entries.filter((entry) => drawn.has(entry.target)).forEach((entry) => Plotly.Plots.resize(entry.target));
  });
  drawNext();
  plots.forEach((plot) => observer.observe(plot));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
})();
