"use strict";
(() => {
  const token = new URLSearchParams(location.search).get("token");
  const at = (id) => document.getElementById(id);
  const make = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const ask = async (path, options = {}) => {
    try {
      const answered = await fetch(path, { ...options, headers: { "X-Token": token } });
      const found = await answered.json().catch(() => ({ error: `the server said ${answered.status}` }));
      return found;
    } catch {
      return { error: "the server does not answer any more" };
    }
  };
  const send = (path, data) => ask(path, { method: "POST", body: JSON.stringify(data) });

  // Tensors

  const chosen = {}; // by tensor: its format, and what its values are
  let words = { commands: {}, formats: [], configs: [] };
  const formatList = make("datalist", { id: "formats" });
  document.body.append(formatList);

  const row = (name, order, isResult) => {
    chosen[name] ??= { format: "", input: order === 2 ? "@sample" : order ? "@dense" : "2" };
    const mine = chosen[name];
    const made = make("div", { class: "tensor" });
    made.append(make("label", { for: `format-${name}` }, name));
    const format = make("input", { id: `format-${name}`, list: "formats", placeholder: "format", spellcheck: "false" });
    format.value = mine.format;
    format.disabled = order === 0;
    format.addEventListener("input", () => { mine.format = format.value; changed(); });
    made.append(format);
    if (isResult) { made.append(make("span", {}, "the result")); return made; }
    const told = { id: `input-${name}`, "aria-label": `Values of ${name}` };
    if (order === 0) {
      const number = make("input", { ...told, inputmode: "decimal", placeholder: "a number" });
      number.value = mine.input;
      number.addEventListener("input", () => { mine.input = number.value.trim(); changed(); });
      made.append(number);
      return made;
    }
    const input = make("select", told);
    const options = [
      ["@random", "random"], ["@random(0.01)", "random, 1 % full"], ["@dense", "all ones"],
      ...(order === 2 ? [["@sample", `the matrix ${words.sample}`]] : []), ["file", "a file …"]];
    if (mine.file) options.push([mine.input, mine.file]);
    for (const [value, text] of options) input.append(make("option", { value }, text));
    input.value = mine.input;
    if (input.value === "") input.value = mine.input = options[0][0];
    input.addEventListener("change", () => {
      if (input.value === "file") upload(name); else { mine.input = input.value; changed(); }
    });
    made.append(input);
    return made;
  };
  const upload = (name) => {
    const picker = make("input", { type: "file" });
    picker.addEventListener("change", async () => {
      const [file] = picker.files;
      if (!file) return;
      at("state").textContent = `uploading ${file.name}`;
      const found = await ask(`/api/uploads/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
      at("state").textContent = "";
      if (found.error) { told(found.error); return; }
      Object.assign(chosen[name], { input: `@upload:${found.upload}`, file: found.name });
      changed();
    });
    picker.click();
  };

  // What is asked for

  let current = { inputs: {} };
  const request = () => {
    const names = Object.keys(chosen);
    const used = new Set([...Object.keys(current.inputs), current.result]);
    const pick = (key) => Object.fromEntries(names.filter((n) => used.has(n)).map((n) => [n, chosen[n][key]]));
    const inputs = pick("input");
    delete inputs[current.result in current.inputs ? "" : current.result];
    return {
      expression: at("expression").value, formats: pick("format"), schedule: at("schedule").value,
      target: at("target").value, config: at("config").value, overrides: at("overrides").value,
      dims: at("dims").value, inputs,
    };
  };
  const told = (error) => {
    at("mistake").hidden = !error;
    at("mistake").textContent = error || "";
  };

  let timer = null, latest = 0;
  const changed = () => { clearTimeout(timer); timer = setTimeout(compile, 250); };
  async function compile() {
    const mine = ++latest;
    document.querySelectorAll(".sam").forEach((one) => { one.hidden = at("target").value !== "sam"; });
    const asked = request();
    let found = await send("/api/compile", asked);
    if (mine !== latest) return;
    if (found.error && Object.values(asked.formats).some(Boolean)) {
      // Formats of tensors that the expression no longer has must not stand in its way.
      const bare = await send("/api/compile", { ...asked, formats: {}, schedule: "" });
      if (mine !== latest) return;
      if (!bare.error) tensors(bare);
    }
    told(found.error);
    if (found.error) return;
    tensors(found);
    const inputs = request().inputs; // those of new tensors are chosen by now
    if (JSON.stringify(inputs) !== JSON.stringify(asked.inputs)) {
      const known = await send("/api/compile", { ...asked, inputs });
      if (mine !== latest) return;
      if (!known.error) found = known;
    }
    shown(found);
  }
  const tensors = (found) => {
    const before = JSON.stringify([current.inputs, current.result, Object.values(chosen).map((c) => c.file)]);
    current = found;
    const now = JSON.stringify([current.inputs, current.result, Object.values(chosen).map((c) => c.file)]);
    if (before === now && at("tensors").children.length) return;
    const orders = { ...found.inputs };
    const rows = [];
    const format = found.formats[found.result];
    if (!(found.result in orders))
      rows.push(row(found.result, format ? format.split(":")[0].length : 0, true));
    for (const [name, order] of Object.entries(orders)) rows.push(row(name, order, false));
    at("tensors").replaceChildren(...rows);
  };
  const shown = (found) => {
    if (found.graphs) {
      at("graph").innerHTML = found.graphs.map((svg) => svg.slice(svg.indexOf("<svg"))).join("");
    } else {
      at("graph").replaceChildren(make("p", {}, "Target c has no graph: see Program."));
    }
    const parts = [["Concrete index notation", found.cin.join("\n")]];
    if (found.notes.length) parts.push(["Notes", found.notes.join("\n")]);
    if (found.source) parts.push(["C", found.source]);
    at("program").replaceChildren(...parts.flatMap(([title, text]) => [make("h2", {}, title), make("pre", {}, text)]));
    command(found.command);
    for (const name of [found.result, ...Object.keys(found.inputs)])
      at(`format-${name}`).placeholder = found.formats[name] ?? "scalar";
  };
  const command = (text) => {
    at("command").value = text;
    const old = at("download").href;
    at("download").href = URL.createObjectURL(new Blob([`#!/bin/sh\n${text}\n`], { type: "text/plain" }));
    if (old.startsWith("blob:")) URL.revokeObjectURL(old);
  };

  // Runs

  let job = null;
  at("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (job !== null) return;
    await compile();
    if (!at("mistake").hidden) return;
    const started = await send("/api/jobs", request());
    if (started.error) { told(started.error); return; }
    job = started.job;
    at("cancel").disabled = false;
    at("run").disabled = true;
    const since = performance.now();
    let found = { state: "running" };
    while (found.state === "running") {
      at("state").textContent = `running, ${((performance.now() - since) / 1000).toFixed(0)} s`;
      await new Promise((done) => setTimeout(done, 200));
      found = await ask(`/api/jobs/${job}`);
    }
    const number = job;
    job = null;
    at("cancel").disabled = true;
    at("run").disabled = false;
    at("state").textContent = "";
    if (found.error) { told(found.error); return; }
    command(found.command);
    if (found.cycles !== undefined) at("state").textContent = `${found.cycles.toLocaleString("en")} cycles`;
    if (found.milliseconds !== undefined) {
      const short = found.milliseconds < 0.1;
      const took = `${(found.milliseconds * (short ? 1000 : 1)).toPrecision(3)} ${short ? "µs" : "ms"}`;
      const stored = found.nnz === 1 ? "1 stored entry" : `${found.nnz.toLocaleString("en")} stored entries`;
      at("state").textContent = took;
      at("report").replaceChildren(make("p", {}, `The kernel takes ${took}; the result has ${stored}.`));
    }
    at("save").hidden = !found.reported;
    if (found.reported) {
      const address = `/api/jobs/${number}/report?token=${encodeURIComponent(token)}`;
      at("save").href = address;
      at("report").replaceChildren(make("iframe", {
        src: address, title: "The report of the run", sandbox: "allow-scripts allow-modals" }));
    }
    select("tab-report");
    at("tab-report").scrollIntoView({ block: "nearest" });
  });
  at("cancel").addEventListener("click", () => { if (job !== null) ask(`/api/jobs/${job}`, { method: "DELETE" }); });
  at("copy").addEventListener("click", () => {
    navigator.clipboard?.writeText(at("command").value).catch(() => at("command").select());
  });

  // Completion of scheduling commands

  const schedule = at("schedule");
  const complete = () => {
    const before = schedule.value.slice(0, schedule.selectionStart);
    const word = /([A-Za-z]*)$/.exec(before)[1];
    const fits = Object.entries(words.commands).filter(([name]) => name.startsWith(word) && name !== word);
    const buttons = (document.activeElement === schedule && !/\([^)]*$/.test(before) ? fits : []).map(([name, usage]) => {
      const made = make("button", { type: "button", title: usage }, usage);
      made.addEventListener("mousedown", (event) => {
        event.preventDefault();
        const start = before.length - word.length;
        schedule.setRangeText(`${name}(`, start, schedule.selectionStart, "end");
        schedule.focus();
        complete();
        changed();
      });
      return made;
    });
    at("completions").replaceChildren(...buttons);
  };
  for (const name of ["input", "click", "keyup", "focus"]) schedule.addEventListener(name, complete);
  schedule.addEventListener("blur", () => setTimeout(complete, 150));

  // Views

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const select = (id) => {
    for (const tab of tabs) {
      const is = tab.id === id;
      tab.setAttribute("aria-selected", is);
      tab.tabIndex = is ? 0 : -1;
      at(tab.getAttribute("aria-controls")).hidden = !is;
    }
  };
  tabs.forEach((tab, n) => {
    tab.addEventListener("click", () => select(tab.id));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(n + step + tabs.length) % tabs.length];
      select(next.id);
      next.focus();
    });
  });

  for (const id of ["expression", "schedule", "target", "overrides", "dims", "config"])
    at(id).addEventListener("input", changed);
  ask("/api/words").then((found) => {
    if (found.error) { told(found.error); return; }
    words = found;
    formatList.append(...found.formats.map((value) => make("option", { value })));
    at("config").append(...found.configs.map((value) => make("option", { value }, value)));
    at("config").value = "ideal";
    compile();
  });
})();
