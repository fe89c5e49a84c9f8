// What moves on the page of `treadle web`: the editor's colours and marks, and what is applied.
// Nothing is computed here: colours, mistakes and pages come from the server.
// @ts-check
"use strict";

(() => {
  /** @type {(id: string) => any} */
  const get = (id) => document.getElementById(id);
  const text = get("text"), coloured = get("coloured"), file = get("file"), program = get("program");
  const apply = get("apply"), stop = get("stop"), progress = get("progress"), mistake = get("mistake");
  const outcome = get("outcome"), viewer = get("viewer"), library = get("library");
  const GONE = "the server does not answer: start `treadle web` again, and open the address that it prints";
  /** @type {string[]} */ let plain = [];
  /** @type {string[]} */ let html = [];
  let wrong = 0, here = 0, job = "", checks = 0, timer = 0;

  /** @param {string} path @param {object} [content] */
  async function ask(path, content) {
    let answer;
    try {
      answer = await fetch(path, content ? { method: "POST", body: JSON.stringify(content) } : {});
    } catch { throw new Error(GONE); }
    if (answer.ok) return answer;
    if (answer.status === 403) throw new Error("the server was started anew: open the address that it prints");
    throw new Error((await answer.json().catch(() => ({}))).error || `the server says ${answer.status}`);
  }

  function escaped(/** @type {string} */ line) {
    return line.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  }

  // The editor: coloured lines lie below a text that cannot be seen

  function draw() {
    const lines = text.value.split("\n");
    html = lines.map((line, at) => (line === plain[at] ? html[at] : escaped(line)));
    plain = lines;
    coloured.innerHTML = html.map((line, at) => {
      const kind = at + 1 === wrong ? " wrong" : at + 1 === here ? " here" : "";
      return `<span class="line${kind}" data-n="${at + 1}">${line || " "}</span>`;
    }).join("");
    follow();
  }

  function follow() {
    coloured.scrollTop = text.scrollTop;
    coloured.scrollLeft = text.scrollLeft;
  }

  async function check() {
    const mine = ++checks, asked = text.value;
    try {
      const found = await (await ask("check", { file: file.value, text: asked })).json();
      if (mine !== checks || asked !== text.value) return;
      html = found.lines;
      plain = asked.split("\n");
      wrong = found.error ? found.error.line : 0;
      mistake.textContent = found.error ? `Line ${wrong}: ${found.error.text}` : "";
      get("names").replaceChildren(...found.names.map((/** @type {string} */ name) => new Option(name, name)));
      draw();
    } catch (error) { mistake.textContent = /** @type {Error} */ (error).message; }
  }

  function changed() {
    wrong = here = 0;
    draw();
    clearTimeout(timer);
    timer = setTimeout(check, 200);
  }

  /** @param {{file: string, program: string, text: string}} entry */
  function open(entry) {
    file.value = entry.file;
    program.value = entry.program;
    text.value = entry.text;
    text.scrollTop = 0;
    wrong = here = 0;
    draw();
    check();
  }

  function show(/** @type {number} */ line) {
    here = line;
    draw();
    const height = parseFloat(getComputedStyle(text).lineHeight);
    const top = (line - 1) * height;
    if (top < text.scrollTop || top > text.scrollTop + text.clientHeight - 2 * height) text.scrollTop = top - text.clientHeight / 3;
  }

  // Applying

  function settings() {
    /** @type {Record<string, string>} */ const given = {};
    for (const control of get("settings").elements) {
      const usual = control.dataset.default || "";
      if (control.name && control.value !== usual) given[control.name] = control.value;
    }
    return given;
  }

  function say(/** @type {string} */ words, isWrong = false) {
    progress.textContent = words;
    progress.classList.toggle("wrong", isWrong);
  }

  function over() {
    apply.disabled = false;
    stop.disabled = true;
  }

  async function start(/** @type {Event} */ event) {
    event.preventDefault();
    outcome.replaceChildren();
    viewer.hidden = true;
    wrong = here = 0;
    draw();
    say("starting");
    try {
      const wish = { file: file.value, program: program.value, text: text.value, entry: library.value, options: settings() };
      job = (await (await ask("jobs", wish)).json()).job;
    } catch (error) { say(/** @type {Error} */ (error).message, true); return; }
    apply.disabled = true;
    stop.disabled = false;
    listen(job);
  }

  function listen(/** @type {string} */ mine) {
    const news = new EventSource(`jobs/${mine}/news`);
    news.onmessage = async (event) => {
      const told = JSON.parse(event.data);
      if (told.kind === "progress") { say(told.text); return; }
      news.close();
      over();
      if (told.kind === "error") {
        say(told.text, true);
        wrong = Number(told.line);
        if (wrong) { const line = wrong; show(line); here = 0; draw(); }
        return;
      }
      try {
        outcome.innerHTML = await (await ask(`jobs/${mine}/summary`)).text();
        say("done");
      } catch (error) { say(/** @type {Error} */ (error).message, true); }
    };
    news.onerror = () => { news.close(); over(); say(GONE, true); };
  }

  // Listening

  text.addEventListener("input", changed);
  text.addEventListener("scroll", follow);
  file.addEventListener("change", check);
  get("settings").addEventListener("submit", start);
  stop.addEventListener("click", () => { stop.disabled = true; ask(`jobs/${job}/stop`, {}).catch((error) => say(error.message, true)); });
  library.addEventListener("change", async () => {
    if (!library.value) return;
    try { open(await (await ask(`library?name=${encodeURIComponent(library.value)}`)).json()); }
    catch (error) { say(/** @type {Error} */ (error).message, true); }
  });
  get("upload").addEventListener("change", async (/** @type {any} */ event) => {
    const [chosen] = event.target.files;
    if (chosen) open({ file: chosen.name, program: "", text: await chosen.text() });
  });
  outcome.addEventListener("click", (/** @type {any} */ event) => {
    if (event.target.target === "viewer") viewer.hidden = false;
  });
  viewer.addEventListener("load", () => {
    viewer.contentDocument.addEventListener("treadle:step", (/** @type {any} */ event) => {
      const [, name, line] = /([^/]+):(\d+)$/.exec(event.detail) || [];
      if (name === file.value) show(Number(line));
    });
  });

  open(JSON.parse(get("begin").textContent));
})();
