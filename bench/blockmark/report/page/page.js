"use strict";
// Draws one metric of one scenario: a chart, a legend that hides, and a table that sorts.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.metrics.length) return;
  const view = document.getElementById("view");
  const state = { metric: data.metrics[0].name, scenario: data.settings[0].scenario,
                  hidden: new Set(), sort: "order", up: true };
  const UNITS = {
    ns: [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]],
    bytes: [["B", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]],
    share: [["%", 0.01]],
  };

  // Elements -------------------------------------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";
  const put = (node, attributes, ...children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== false && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };
  const el = (name, attributes = {}, ...children) =>
    put(document.createElement(name), attributes, ...children);
  const svg = (name, attributes = {}, ...children) =>
    put(document.createElementNS(SVG, name), attributes, ...children);

  // Numbers --------------------------------------------------------------------------------
  const digits = (x) => {
    if (x === 0) return "0";
    const text = Number(x.toPrecision(3));
    return Math.abs(text) >= 1e12 || Math.abs(text) < 1e-6
      ? text.toExponential(2)
      : text.toLocaleString("en-US", { maximumSignificantDigits: 3 });
  };
  // The largest unit in which no value falls below one, as in the report's tables.
  const unitOf = (metric, values) => {
    const ladder = UNITS[metric.unit] || [[metric.unit === "count" ? "" : metric.unit, 1]];
    const sizes = values.filter((x) => x > 0);
    const least = sizes.length ? Math.min(...sizes) : 0;
    return ladder.filter(([, size], i) => i === 0 || least >= size).at(-1);
  };

  const metricNow = () => data.metrics.find((one) => one.name === state.metric);
  // The cells that are shown, in the order of the run.
  const rowsNow = () => data.cells
    .filter((cell) => data.settings[cell.setting].scenario === state.scenario)
    .filter((cell) => cell.values[state.metric] !== undefined || cell.status !== "ok")
    .map((cell, order) => {
      const known = cell.values[state.metric];
      const [value, low, high, rounds, mark] = Array.isArray(known) ? known : [];
      return { order, cell, impl: data.impls[cell.impl], setting: data.settings[cell.setting],
               value, low, high, rounds, mark: mark || "",
               reason: typeof known === "string" ? known : cell.reason };
    });

  // Hover ----------------------------------------------------------------------------------
  const tip = el("div", { id: "tip", role: "status", hidden: "" });
  document.body.append(tip);
  const told = (row, unit) => {
    const [name, size] = unit;
    const parts = [row.impl.name, row.setting.name,
                   `${state.metric}: ${digits(row.value / size)}${row.mark} ${name}`];
    if (row.low !== null) parts.push(`${digits(row.low / size)} to ${digits(row.high / size)}`);
    parts.push(`${row.rounds} round${row.rounds === 1 ? "" : "s"}`);
    if (row.mark) parts.push(data.marks[row.mark] || "");
    return parts.join("\n");
  };
  const show = (event, text) => {
    const box = event.target.getBoundingClientRect();
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.min(box.right + 8, innerWidth - 240)}px`;
    tip.style.top = `${box.bottom + 8}px`;
  };
  const hide = () => { tip.hidden = true; };

  // Scales ---------------------------------------------------------------------------------
  const scale = (values, from, to, force) => {
    const positive = values.every((x) => x > 0);
    let low = Math.min(...values), high = Math.max(...values);
    const log = positive && (force || high / low > 20);
    if (!log) low = Math.min(0, low);
    if (high === low) high = low + (low || 1);
    const f = log ? Math.log : (x) => x;
    const at = (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
    const ticks = [];
    if (log) {
      for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
        for (const m of high / low > 100 ? [1] : [1, 2, 5]) ticks.push(m * 10 ** p);
    } else {
      const step = 10 ** Math.floor(Math.log10((high - low) / 2));
      for (let x = Math.ceil(low / step) * step; x <= high * 1.0001; x += step)
        ticks.push(Number(x.toPrecision(12)));
    }
    const inside = ticks.filter((x) => x >= low * 0.999 && x <= high * 1.001);
    const many = Math.ceil(inside.length / 8);
    return { at, ticks: inside.filter((_, i) => i % many === 0) };
  };

  // Chart ----------------------------------------------------------------------------------
  const mark = (row, x, y, unit) => {
    const shape = { s: "M-5-5h10v10h-10z", "^": "M0-6L6 5H-6z", D: "M0-6L6 0L0 6L-6 0z" };
    const look = { class: "point", tabindex: 0, fill: row.impl.control ? "none" : row.impl.color,
                   stroke: row.impl.color, "aria-label": told(row, unit),
                   onmouseenter: (event) => show(event, told(row, unit)), onmouseleave: hide,
                   onfocus: (event) => show(event, told(row, unit)), onblur: hide };
    const path = shape[row.impl.marker];
    return path
      ? svg("path", { ...look, d: path, transform: `translate(${x} ${y})` })
      : svg("circle", { ...look, cx: x, cy: y, r: 5 });
  };
  const chart = (rows, unit) => {
    const known = rows.filter((row) => row.value !== undefined);
    if (!known.length) return el("p", {}, "No value.");
    const settings = [...new Set(known.map((row) => row.cell.setting))];
    return settings.length > 1 ? lines(known, settings, unit) : dots(known, unit);
  };
  const reach = (rows, size) =>
    rows.flatMap((row) => [row.low ?? row.value, row.value, row.high ?? row.value])
        .map((x) => x / size);
  const dots = (rows, unit) => {
    const left = 250, width = 960, each = 24, height = rows.length * each + 40;
    const x = scale(reach(rows, unit[1]), left, width - 30);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    for (const tick of x.ticks) {
      root.append(svg("line", { class: "grid", x1: x.at(tick), x2: x.at(tick), y1: 0, y2: height - 40 }),
                  svg("text", { x: x.at(tick), y: height - 22, "text-anchor": "middle" }, digits(tick)));
    }
    root.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" },
                    `${state.metric}, ${unit[0]}`));
    const sorted = [...rows].sort((a, b) => a.value - b.value);
    sorted.forEach((row, i) => {
      const y = i * each + each / 2;
      root.append(svg("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, row.impl.name));
      if (row.low !== null)
        root.append(svg("line", { stroke: row.impl.color, "stroke-width": 2, y1: y, y2: y,
                                  x1: x.at(row.low / unit[1]), x2: x.at(row.high / unit[1]) }));
      root.append(mark(row, x.at(row.value / unit[1]), y, unit));
    });
    return root;
  };
  const lines = (rows, settings, unit) => {
    const width = 960, height = 420, left = 70, bottom = 60;
    const places = settings.map((place) => data.settings[place].at);
    const axes = data.axes[state.scenario] || [];
    const numeric = axes.length === 1 && places.every(([at]) => typeof at === "number");
    const xs = numeric ? places.map(([at]) => at) : settings.map((_, i) => i + 1);
    const x = scale(xs, left + 20, width - 30, numeric && Math.max(...xs) / Math.min(...xs) >= 8);
    const y = scale(reach(rows, unit[1]), height - bottom, 20);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    for (const tick of y.ticks)
      root.append(svg("line", { class: "grid", x1: left, x2: width - 20, y1: y.at(tick), y2: y.at(tick) }),
                  svg("text", { x: left - 8, y: y.at(tick) + 4, "text-anchor": "end" }, digits(tick)));
    const every = Math.ceil(settings.length / 10);
    settings.forEach((place, i) => {
      if (i % every) return;
      const name = numeric ? xs[i].toLocaleString("en-US") : data.settings[place].name;
      const short = name.length > 22 ? `${name.slice(0, 20)}...` : name;
      root.append(svg("text", { x: x.at(xs[i]), y: height - bottom + 20, "text-anchor": "middle" }, short));
    });
    root.append(svg("text", { x: width / 2, y: height - 8, "text-anchor": "middle" }, axes.join(", ")),
                svg("text", { x: 4, y: 12 }, `${state.metric}, ${unit[0]}`));
    const byImpl = new Map();
    for (const row of rows) byImpl.set(row.impl, [...(byImpl.get(row.impl) || []), row]);
    for (const [impl, own] of byImpl) {
      const points = own.map((row) => [x.at(xs[settings.indexOf(row.cell.setting)]), y.at(row.value / unit[1])]);
      // Between two points a line would say what nobody measured.
      if (numeric && points.length > 2)
        root.append(svg("polyline", { fill: "none", stroke: impl.color, "stroke-width": 2,
                                      "stroke-dasharray": impl.dash, points: points.join(" ") }));
      own.forEach((row, i) => {
        if (row.low !== null)
          root.append(svg("line", { stroke: impl.color, x1: points[i][0], x2: points[i][0],
                                    y1: y.at(row.low / unit[1]), y2: y.at(row.high / unit[1]) }));
        root.append(mark(row, ...points[i], unit));
      });
    }
    return root;
  };

  // Table ----------------------------------------------------------------------------------
  const KEYS = {
    implementation: (row) => row.impl.name,
    setting: (row) => row.cell.setting,
    value: (row) => row.value,
    interval: (row) => (row.low === null || row.low === undefined ? undefined : row.high - row.low),
  };
  const sorted = (rows) => {
    const key = KEYS[state.sort];
    if (!key) return rows;
    // What has no value comes last, whichever way it is sorted.
    const known = rows.filter((row) => key(row) !== undefined);
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.order - b.order);
    known.sort((a, b) => (state.up ? order(a, b) : order(b, a)));
    return [...known, ...rows.filter((row) => key(row) === undefined)];
  };
  const table = (rows, unit) => {
    const titles = { implementation: "implementation", setting: "setting",
                     value: unit[0] || "count", interval: "interval" };
    const head = el("tr", {}, ...Object.entries(titles).map(([key, title]) =>
      el("th", { class: key === "value" || key === "interval" ? "number" : false, scope: "col",
                 "aria-sort": state.sort === key ? (state.up ? "ascending" : "descending") : "none" },
         el("button", { type: "button", "data-sort": key, onclick: () => {
           state.up = state.sort === key ? !state.up : true;
           state.sort = key;
           draw();
         } }, title + (state.sort === key ? (state.up ? " \u2191" : " \u2193") : "")))));
    const body = sorted(rows).map((row) => el("tr", { class: row.impl.control ? "control" : false },
      el("td", {}, row.impl.name), el("td", {}, row.setting.name),
      row.value === undefined
        ? el("td", { colspan: 2 }, row.cell.status === "ok" ? `unavailable: ${row.reason}` : `${row.cell.status}: ${row.reason}`)
        : el("td", { class: "number" }, digits(row.value / unit[1]) + row.mark),
      ...(row.value === undefined ? [] : [el("td", { class: "number" },
        row.low === null ? "" : `${digits(row.low / unit[1])} to ${digits(row.high / unit[1])}`)])));
    return el("div", { class: "wide" }, el("table", { id: "values" },
      el("thead", {}, head), el("tbody", {}, ...body)));
  };

  // Page -----------------------------------------------------------------------------------
  const choice = (label, names, key) => el("label", {}, `${label} `, el("select", {
    "data-choose": key, onchange: (event) => { state[key] = event.target.value; draw(); },
  }, ...names.map((name) => el("option", { value: name, selected: name === state[key] ? "" : false }, name))));
  const legend = (impls) => el("div", { class: "legend" }, ...impls.map((impl) => el("button", {
    type: "button", "data-impl": impl.name, "aria-pressed": String(!state.hidden.has(impl.name)),
    onclick: () => {
      if (!state.hidden.delete(impl.name)) state.hidden.add(impl.name);
      draw();
    },
  }, el("span", { style: `color:${impl.color === "#000000" ? "inherit" : impl.color}` }, "\u25cf"), impl.name)));
  function draw() {
    const scenarios = [...new Set(data.settings.map((one) => one.scenario))];
    const all = rowsNow();
    const rows = all.filter((row) => !state.hidden.has(row.impl.name));
    const unit = unitOf(metricNow(), all.map((row) => row.value).filter((x) => x !== undefined));
    const impls = [...new Set(all.map((row) => row.impl))];
    const has = (metric) => data.cells.some((cell) =>
      data.settings[cell.setting].scenario === state.scenario && cell.values[metric.name] !== undefined);
    const marks = [...new Set(rows.map((row) => row.mark))].filter(Boolean);
    view.replaceChildren(
      el("p", {}, choice("Metric", data.metrics.filter(has).map((one) => one.name), "metric"),
         ...(scenarios.length > 1 ? [choice("Scenario", scenarios, "scenario")] : [])),
      el("p", { class: "quiet" }, metricNow().text),
      legend(impls), chart(rows, unit), table(rows, unit),
      ...marks.map((one) => el("p", { class: "quiet" }, data.marks[one] || one)));
    hide();
  }
  for (const impl of data.impls) if (impl.color === "#000000") impl.color = "currentColor";
  view.hidden = false;
  document.getElementById("plain")?.remove();
  draw();
})();
