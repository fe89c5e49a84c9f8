// What moves on the page of `treadle web`: the program in the editor, and what is applied.
// Nothing is computed here: mistakes, programs and pages come from the server.
// @ts-check
"use strict";

(() => {
  /**
   * @typedef {{name: string, usual: string}} Parameter
   * @typedef {{name: string, call: string, parameters: Parameter[]}} Program
   */

  /** @type {(id: string) => any} */
  const get = (id) => document.getElementById(id);
  const file = get("file"), program = get("program"), given = get("arguments"), mistake = get("mistake");
  const apply = get("apply"), stop = get("stop"), progress = get("progress");
  const code = get("code"), outcome = get("outcome"), viewer = get("viewer"), library = get("library");
  const GONE = "the server does not answer: start `treadle web` again, and open the address that it prints";
  /** @type {Program[]} */ let programs = [];
  let job = "", checks = 0, timer = 0, checking = Promise.resolve();

  /** @param {string} path @param {object} [content] */
  async function ask(path, content) {
    let answer;
    try {
      const headers = { accept: "application/json" };
      answer = await fetch(path, content ? { method: "POST", body: JSON.stringify(content), headers } : { headers });
    } catch { throw new Error(GONE); }
    if (answer.status === 403) throw new Error("the server was started anew: open the address that it prints");
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const text = await answer.text();
    if (!answer.headers.get("content-type")?.startsWith("application/json")) return text;
    const told = JSON.parse(text);
    if (typeof told.error === "string") throw new Error(told.error);  // a mistake in a program is an object
    return told;
  }

  // The editor

  const editor = /** @type {any} */ (window).treadleEditor(get("editor"), () => {
    editor.complain(0, "");
    busy(true);
    clearTimeout(timer);
    timer = setTimeout(check, 200);
  });

  /** What is told of the program is not that of its text yet: a screen reader may wait for it. */
  function busy(/** @type {boolean} */ isBusy) { code.setAttribute("aria-busy", String(isBusy)); }

  function check() {
    busy(true);
    clearTimeout(timer);
    timer = 0;
    checking = answer(++checks, editor.text);
    return checking;
  }

  async function answer(/** @type {number} */ mine, /** @type {string} */ asked) {
    const isOld = () => mine !== checks || asked !== editor.text;  // another one is on its way, or will be
    try {
      const found = await ask("check", { file: file.value, text: asked });
      if (isOld()) return;
      complain(found.error ? found.error.line : 0, found.error ? found.error.text : "");
      if (!found.error) offer(found.programs);
    } catch (error) {
      if (isOld()) return;
      mistake.textContent = /** @type {Error} */ (error).message;
    }
    busy(false);
  }

  function complain(/** @type {number} */ line, /** @type {string} */ words, isShown = false) {
    editor.complain(line, words, isShown);
    mistake.textContent = line ? `Line ${line}: ${words}` : words;
  }

  /** @param {{file: string, program: string, text: string}} entry */
  function open(entry) {
    file.value = entry.file;
    program.value = entry.program;
    editor.open(entry.text, entry.file);
    check();
  }

  // The program, and what it is given

  function offer(/** @type {Program[]} */ found) {
    programs = found;
    get("names").replaceChildren(...found.map((one) => new Option(one.name, one.name)));
    ask_for_values();
  }

  function chosen() {
    const name = program.value.trim();
    return programs.find((one) => one.name === name) || (!name && programs.length === 1 ? programs[0] : undefined);
  }

  function ask_for_values() {
    const parameters = chosen()?.parameters || [];
    const shown = [...given.querySelectorAll("input")].map((one) => one.name).join();
    if (shown === parameters.map((one) => one.name).join()) return;
    given.replaceChildren(...parameters.flatMap(({ name, usual }) => {
      const label = document.createElement("label"), input = document.createElement("input");
      label.htmlFor = input.id = `argument-${name}`;
      label.textContent = name;
      Object.assign(input, { type: "text", name, placeholder: usual || "a literal" });
      return [label, input];
    }));
  }

  function wanted() {
    const one = chosen();
    if (!one?.parameters.length) return program.value;
    const values = one.parameters.map(({ name, usual }) => get(`argument-${name}`).value.trim() || usual);
    return one.call.replace(/\{(\d+)\}/g, (_, at) => values[Number(at)]);
  }

  // Applying

  function settings() {
    /** @type {Record<string, string>} */ const changed = {};
    for (const control of get("settings").elements) {
      const usual = control.dataset.default || "";
      if (control.name && control.value !== usual) changed[control.name] = control.value;
    }
    return changed;
  }

  function say(/** @type {string} */ words, isWrong = false) {
    progress.textContent = words;
    progress.classList.toggle("wrong", isWrong);
  }

  function over() {
    apply.disabled = false;
    stop.disabled = true;
    progress.classList.remove("running");
  }

  async function start(/** @type {Event} */ event) {
    event.preventDefault();
    outcome.replaceChildren();
    viewer.hidden = true;
    editor.show(0);
    complain(0, "");
    say("starting");
    apply.disabled = true;
    await (timer ? check() : checking);  // else its answer would wipe away what this one tells
    try {
      const wish = { file: file.value, program: wanted(), text: editor.text, entry: library.value, options: settings() };
      job = (await ask("jobs", wish)).job;
    } catch (error) { over(); say(/** @type {Error} */ (error).message, true); return; }
    stop.disabled = false;
    progress.classList.add("running");
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
        if (Number(told.line)) complain(Number(told.line), told.text, true);
        return;
      }
      try {
        outcome.innerHTML = await ask(`jobs/${mine}/summary`);
        say("done");
      } catch (error) { say(/** @type {Error} */ (error).message, true); }
    };
    news.onerror = () => { news.close(); over(); say(GONE, true); };
  }

  // Listening

  function show(/** @type {string} */ place) {
    const [, name, line] = /([^/]+):(\d+)$/.exec(place) || [];
    if (name === file.value) editor.show(Number(line));
  }

  file.addEventListener("change", () => { editor.is(file.value); check(); });
  program.addEventListener("input", ask_for_values);
  get("settings").addEventListener("submit", start);
  stop.addEventListener("click", () => {
    stop.disabled = true;
    say("stopping");
    ask(`jobs/${job}/stop`, {}).catch((error) => say(error.message, true));
  });
  library.addEventListener("change", async () => {
    const name = library.value;
    if (!name) return;
    busy(true);
    try {
      const entry = await ask(`library?name=${encodeURIComponent(name)}`);
      if (name === library.value) open(entry);  // else another one was chosen while this one came
    } catch (error) { busy(false); say(/** @type {Error} */ (error).message, true); }
  });
  get("upload").addEventListener("change", async (/** @type {any} */ event) => {
    const [own] = event.target.files;
    if (!own) return;
    library.value = "";
    busy(true);
    open({ file: own.name, program: "", text: await own.text() });
  });
  outcome.addEventListener("click", (/** @type {any} */ event) => {
    if (event.target.target === "viewer") viewer.hidden = false;
    if (event.target.dataset.place) show(event.target.dataset.place);
  });
  viewer.addEventListener("load", () => {
    viewer.contentDocument.addEventListener("treadle:step", (/** @type {any} */ event) => show(event.detail));
  });

  open(JSON.parse(get("begin").textContent));
})();
