"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const svgNames = "http://www.w3.org/2000/svg";
  const make = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== "") made.textContent = text;
    return made;
  };
  const number = (n) => n.toLocaleString("en");
  const percent = (part, whole) => {
    if (!part) return "–";
    const share = (100 * part) / whole;
    return share < 0.5 ? "<1 %" : `${share.toFixed(0)} %`;
  };

  // Details of blocks and streams

  const list = (rows) => {
    const shown = make("ul");
    for (const row of rows) shown.append(make("li", {}, row));
    return shown;
  };
  const byFault = (faults, cycles, word) =>
    Object.entries(faults).map(([port, by]) => {
      const sum = Object.values(by).reduce((a, b) => a + b, 0);
      const told = Object.entries(by).map(([name, n]) => `${name} ${percent(n, cycles)}`);
      return `${word} ${port} ${percent(sum, cycles)}, the fault of ${told.join(", ")}`;
    });
  const describeBlock = (graph, name) => {
    const parts = [name, `${name}.emitter`].filter((one) => one in graph.blocks);
    const shown = parts.map((one) => {
      const block = graph.blocks[one];
      const rows = Object.entries(block.parts)
        .filter(([, cycles]) => cycles)
        .map(([part, cycles]) => `${part} ${number(cycles)} cycles, ${percent(cycles, graph.cycles)}`);
      rows.push(...byFault(block.starved, graph.cycles, "starved by"));
      rows.push(...byFault(block.blocked, graph.cycles, "blocked by"));
      for (const [what, cycles] of Object.entries(block.memory))
        rows.push(`${what} ${percent(cycles, graph.cycles)}`);
      for (const [of, what, cycles] of graph.path)
        if (of === one) rows.push(`on the critical path: ${what}, ${number(cycles)} cycles`);
      const parameters = graph.parameters[one];
      if (parameters) rows.push(`parameters ${JSON.stringify(parameters)}`);
      return [make("h3", {}, `${one}: ${block.kind}, ${number(block.fired)} firings`), list(rows)];
    });
    return shown.flat();
  };
  const describeStream = (graph, name) => {
    const stream = graph.streams[name];
    if (!stream) return [make("h3", {}, name)];
    const rows = Object.entries(stream.tokens).map(([kind, n]) => `${kind} ${number(n)}`);
    rows.push(`at most ${number(stream.peak)} at once`);
    return [make("h3", {}, name), list(rows)];
  };
  document.querySelectorAll(".details").forEach((details) => {
    const graph = data.graphs[Number(details.dataset.graph)];
    const section = details.closest("section");
    const choose = (chosen) => {
      section.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
      chosen.classList.add("chosen");
      const { block, edge } = chosen.dataset;
      details.replaceChildren(
        ...(block ? describeBlock(graph, block) : describeStream(graph, edge)));
    };
    section.querySelectorAll(".block, .stream").forEach((one) => {
      one.addEventListener("click", () => choose(one));
      one.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(one);
      });
    });
  });

  // The player

  const player = data.player;
  const controls = document.querySelector(".player");
  if (!player || !controls) return;
  controls.hidden = false;
  const svg = document.querySelector("svg.graph");
  const layer = svg.querySelector(".tokens");
  const last = player.cycles - 1;

  const streams = Object.entries(player.tokens).map(([edge, [gaps, delays, stays, texts]]) => {
    let at = 0;
    const given = gaps.map((gap) => (at += gap));
    const path = document.getElementById(`graph0:${edge}`);
    return {
      edge, given, texts, path, length: path ? path.getTotalLength() : 0,
      visible: given.map((cycle, n) => cycle + delays[n]),
      taken: given.map((cycle, n) => cycle + delays[n] + stays[n]),
    };
  }).filter((stream) => stream.path);
  const blocks = [...svg.querySelectorAll(".block")].map((element) => {
    const [ready, asked, why, [end, interval]] = player.waits[element.dataset.block];
    return { element, name: element.dataset.block, ready, asked, why, end, interval };
  });

  const before = (sorted, cycle) => { // how many are less than or equal to it
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] <= cycle) low = middle + 1; else high = middle;
    }
    return low;
  };
  const stateOf = (block, cycle) => {
    if (cycle > block.end) return "done";
    const n = before(block.ready, cycle) - 1;
    if (n >= 0 && cycle < block.asked[n]) return ["blocked", "starved", "memory"][block.why[n]];
    return "busy";
  };

  let now = 0, playing = null;
  const button = (text, label, act) => {
    const made = make("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const play = button("▶ Play", "Play", () => toggle());
  const back = button("◀", "One cycle back", () => show(now - 1));
  const on = button("▶|", "One cycle on", () => show(now + 1));
  const slider = make("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Cycle" });
  slider.addEventListener("input", () => show(Number(slider.value)));
  const told = make("output", { "aria-live": "off", class: "cycle" });
  const speed = make("select", { "aria-label": "Cycles per second" });
  for (const n of [1, 2, 5, 20, 100, 1000])
    speed.append(make("option", { value: n, ...(n === 5 ? { selected: "" } : {}) }, `${n}/s`));
  const where = make("select", { "aria-label": "Block whose firing to go to" });
  for (const { name } of blocks) where.append(make("option", { value: name }, name));
  const nth = make("input", { type: "number", min: 1, value: 1, "aria-label": "Number of the firing" });
  const jump = button("Go to firing", "Go to that firing of that block", () => {
    const block = blocks.find((one) => one.name === where.value);
    const cycle = firing(block, Number(nth.value));
    if (cycle !== null) show(cycle);
  });
  const firing = (block, n) => { // the cycle of the n-th firing, which are regular between waits
    let cycle = 0, count = 0, k = 0;
    const waits = block.ready.map((ready, i) => [ready, block.asked[i], block.why[i]]);
    while (cycle <= block.end) {
      while (k < waits.length && waits[k][0] <= cycle) cycle = Math.max(cycle, waits[k++][1]);
      if (++count === n) return cycle;
      cycle += block.interval;
    }
    return null;
  };
  controls.append(back, play, on, told, slider, speed, where, nth, jump);

  const toggle = () => {
    if (playing !== null) { stop(); return; }
    if (now === last) show(0);
    play.textContent = "❚❚ Pause";
    let start = performance.now(), from = now;
    const step = (time) => {
      if (playing === null) return;
      const cycle = from + Math.floor(((time - start) / 1000) * Number(speed.value));
      if (cycle !== now) show(Math.min(last, cycle), true);
      if (now >= last) stop(); else playing = requestAnimationFrame(step);
    };
    speed.onchange = () => { start = performance.now(); from = now; };
    playing = requestAnimationFrame(step);
  };
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = null;
    play.textContent = "▶ Play";
  };

  const tokenAt = (stream, n, place) => {
    const text = stream.texts[n];
    const kind = text === "D" ? "done" : /^S\d+$/.test(text) ? "stop" : "data";
    const group = document.createElementNS(svgNames, "g");
    group.setAttribute("class", `token ${kind}`);
    const { x, y } = stream.path.getPointAtLength(place);
    const width = 6 + 5 * text.length;
    group.innerHTML = `<title></title><rect height="11" width="${width}" x="${-width / 2}" y="-6"></rect><text y="3"></text>`;
    group.querySelector("text").textContent = text;
    group.querySelector("title").textContent =
      `${text} on ${stream.edge}: given in cycle ${stream.given[n]}, visible in ${stream.visible[n]}, taken in ${stream.taken[n]}`;
    group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    return group;
  };
  const SHOWN = 8;
  function show(cycle, keep = false) {
    if (!keep && playing !== null) stop();
    now = Math.max(0, Math.min(last, cycle));
    const tokens = [];
    for (const stream of streams) {
      const given = before(stream.given, now), taken = before(stream.taken, now - 1);
      const held = given - taken;
      for (let n = taken; n < given && n < taken + SHOWN; n++) {
        const way = Math.max(1, stream.visible[n] - stream.given[n]);
        const part = Math.min(1, (now - stream.given[n]) / way);
        const queue = stream.length - 10 - (n - taken) * 13;
        const place = Math.max(4, Math.min(queue, 4 + part * stream.length));
        tokens.push(tokenAt(stream, n, place));
      }
      stream.path.parentNode.classList.toggle("full", held > SHOWN);
    }
    layer.replaceChildren(...tokens);
    for (const block of blocks) {
      block.element.classList.remove("now-busy", "now-starved", "now-blocked", "now-memory", "now-done");
      block.element.classList.add(`now-${stateOf(block, now)}`);
    }
    slider.value = now;
    told.textContent = `cycle ${number(now)} of ${number(last)}`;
  }
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, button, summary, .block, .stream")) return;
    if (event.key === "ArrowRight") show(now + 1);
    else if (event.key === "ArrowLeft") show(now - 1);
    else if (event.key === " ") toggle();
    else return;
    event.preventDefault();
  });
  show(0);
})();
