// What moves in a report: the selection, the slider, folds, the search, arrows and the tree.
// All text is on the page already; without this script it can be read, but not stepped through.
// @ts-check
"use strict";

(() => {
  /**
   * @typedef {{name: string, before: string, after: string}} Change
   * @typedef {{process: string, label?: string, lane?: string, where?: string, takes?: string[], then?: string,
   *   gives?: {name: string, process: string}[], changes?: Change[], preempts?: string,
   *   error?: string, arrival?: string, who?: string, did: string[], values: string[]}} Step
   * @typedef {{source: number, target: number, kind: string, about: string}} Link
   * @typedef {{state: Record<string, string>, links: Link[], tables: Record<string, string>,
   *   failing: number, start: number, steps: Step[]}} Failure
   */

  const SVG = "http://www.w3.org/2000/svg";
  const TABLE = "table: ";
  const WHERE_TO = { first: -Infinity, back: -1, forward: 1, last: Infinity };

  /** @type {<T extends Element = HTMLElement>(root: ParentNode, selector: string) => T} */
  const one = (root, selector) => /** @type {any} */ (root.querySelector(selector));
  /** @type {(root: ParentNode, selector: string) => HTMLElement[]} */
  const all = (root, selector) => [...root.querySelectorAll(selector)].map((e) => /** @type {any} */ (e));

  /** @param {string} name @param {string} text @param {string} [kind] */
  function element(name, text, kind) {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  /** @param {string} name @param {Record<string, string | number>} attributes */
  function drawn(name, attributes) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    return made;
  }

  // A failure that can be stepped through

  class Player {
    /** @param {HTMLElement} section @param {Failure} failure */
    constructor(section, failure) {
      this.section = section;
      this.failure = failure;
      this.name = /** @type {string} */ (section.dataset.failure);
      this.lanes = one(section, ".lanes");
      this.list = one(section, ".steps");
      this.rows = all(this.list, "li[id]");
      this.slider = /** @type {HTMLInputElement} */ (one(section, ".slider"));
      this.now = -1;
      /** @type {number[]} */
      this.matches = [];
      this.colours = new Map(this.rows.map((row, at) => [failure.steps[at].process, colourOf(row)]));
      this.called = new Map(failure.steps.map((step) => [step.process, calledOf(step)]));
      this.listen();
      this.showUnfold();
      this.drawWires();
      new ResizeObserver(() => this.drawWires()).observe(this.lanes);
      this.select(failure.start, { isQuiet: true });
    }

    listen() {
      for (const button of all(this.section, "[data-move]")) {
        const by = WHERE_TO[/** @type {keyof typeof WHERE_TO} */ (button.dataset.move)];
        button.addEventListener("click", () => this.move(by));
      }
      this.slider.addEventListener("input", () => this.select(Number(this.slider.value) - 1));
      this.list.addEventListener("click", (event) => {
        const button = /** @type {HTMLElement} */ (event.target).closest("button");
        if (!button) return;
        if (button.classList.contains("fold")) this.toggleFold(button);
        else this.select(this.rows.indexOf(/** @type {any} */ (button.parentElement)));
      });
      const search = /** @type {HTMLInputElement} */ (one(this.section, ".search"));
      search.addEventListener("input", () => this.search(search.value));
      search.addEventListener("keydown", (event) => {
        if (event.key === "Enter") this.toNextMatch();
        if (event.key === "Escape") { search.value = ""; this.search(""); this.focusRow(); }
      });
      one(this.section, ".unfold").addEventListener("click", () => this.toggleAllFolds());
      const arrows = one(this.section, ".arrows");
      arrows.addEventListener("click", () => {
        const isOn = arrows.getAttribute("aria-pressed") !== "true";
        arrows.setAttribute("aria-pressed", String(isOn));
        one(this.list, ".wires").toggleAttribute("hidden", !isOn);
      });
      this.lanes.addEventListener("scroll", () => {
        this.list.style.setProperty("--scrolled", `${this.lanes.scrollLeft}px`);
      });
      for (const drawing of all(this.section, ".diagram .step")) {
        drawing.addEventListener("click", (event) => {
          event.preventDefault(); // which would scroll away from the diagram
          this.select(Number(drawing.dataset.step));
        });
      }
    }

    /** @param {number} by */
    move(by) {
      this.select(this.now + by);
      this.focusRow();
    }

    /** @param {number} by */
    moveInLane(by) {
      const lane = laneOf(this.failure.steps[this.now]);
      for (let at = this.now + by; at >= 0 && at < this.rows.length; at += by) {
        if (laneOf(this.failure.steps[at]) === lane) return this.move(at - this.now);
      }
    }

    focusRow() {
      one(this.rows[this.now], "button").focus({ preventScroll: true });
    }

    /** @param {number} index @param {{isQuiet?: boolean}} [how] */
    select(index, how = {}) {
      const at = Math.max(0, Math.min(this.rows.length - 1, index));
      if (at === this.now) return;
      const shown = this.now, before = this.rows[shown];
      if (before) {
        before.classList.remove("now");
        const button = one(before, "button");
        button.tabIndex = -1;
        button.removeAttribute("aria-current");
      }
      this.now = at;
      const row = this.rows[at];
      row.classList.add("now");
      const since = before ? Math.min(shown, at) : 0, upto = before ? Math.max(shown, at) : this.rows.length;
      this.rows.slice(since, upto + 1).forEach((other, number) => other.classList.toggle("later", since + number > at));
      const button = one(row, "button");
      button.tabIndex = 0;
      button.setAttribute("aria-current", "step");
      if (row.hidden) this.openFoldOf(at);
      this.slider.value = String(at + 1);
      this.slider.setAttribute("aria-valuetext", `step ${at + 1} of ${this.rows.length}`);
      one(this.section, ".position").textContent = `${at + 1} of ${this.rows.length}`;
      this.scrollTo(row);
      this.inspect(at);
      this.lightWires();
      for (const box of all(this.section, ".diagram .step")) box.classList.toggle("now", Number(box.dataset.step) === at);
      if (!how.isQuiet) {
        current = this;
        // whoever shows this page in a frame may want to show the line, too
        document.dispatchEvent(new CustomEvent("treadle:step", { detail: this.failure.steps[at].where || "" }));
        try { history.replaceState(null, "", `#${row.id}`); } catch { /* in a frame */ }
      }
    }

    /** @param {HTMLElement} row */
    scrollTo(row) {
      const box = this.lanes.getBoundingClientRect();
      const shown = row.getBoundingClientRect();
      const top = box.top + 56;
      if (shown.top < top || shown.bottom > box.bottom - 12) {
        this.lanes.scrollTop += shown.top - top - box.height / 3;
      }
      const cell = one(row, ".cell").getBoundingClientRect();
      if (cell.left < box.left + 60) this.lanes.scrollLeft += cell.left - box.left - 80;
      else if (cell.right > box.right) this.lanes.scrollLeft += cell.right - box.right + 20;
    }

    // What is known of the selected step

    /** @param {number} at */
    inspect(at) {
      const step = this.failure.steps[at];
      const colour = this.colours.get(step.process) || "";
      this.describe(at, step, colour);
      this.showState(at);
      this.showHolds(at);
      this.showSource(step, colour);
      this.showTables(at);
    }

    /** @param {number} at @param {Step} step @param {string} colour */
    describe(at, step, colour) {
      const box = one(this.section, ".inspector .now");
      const title = element("h3", `Step ${at + 1}: `);
      const called = calledOf(step), besides = called === step.process ? step.label : step.process;
      title.append(element("b", called, colour));
      if (besides && besides !== called && besides !== step.lane) title.append(" ", element("small", besides));
      box.replaceChildren(title);
      step.did.forEach((did, number) => {
        const value = step.values[number];
        const line = element("p", did, "did");
        if (value) line.append(" = ", element("b", value));
        box.append(line);
      });
      const remarks = [];
      if (step.preempts) remarks.push(`preempts ${step.preempts}, which could have gone on`);
      if (step.then === "waits") remarks.push("waits after it");
      if (step.then === "ends") remarks.push("ends with it");
      for (const link of this.failure.links) {
        if (link.target === at) remarks.push(`${link.kind} from step ${link.source + 1}: ${link.about}`);
        if (link.source === at) remarks.push(`${link.kind} to step ${link.target + 1}: ${link.about}`);
      }
      for (const remark of remarks) box.append(element("p", remark, "small"));
      if (step.error) box.append(element("p", step.error, "badge fails"));
      const link = element("a", "Link to this step", "small");
      link.setAttribute("href", `#${this.rows[at].id}`);
      const line = element("p", "");
      line.append(link);
      box.append(line);
    }

    /** The shared state before and after a step: all that has a known value. @param {number} at */
    showState(at) {
      const state = new Map(Object.entries(this.failure.state));
      this.failure.steps.slice(0, at).forEach((step) => {
        for (const change of step.changes || []) state.set(change.name, change.after);
      });
      const after = new Map(state);
      for (const change of this.failure.steps[at].changes || []) after.set(change.name, change.after);
      const changed = new Set((this.failure.steps[at].changes || []).map((change) => change.name));
      const rows = [...after.keys()].map((name) => {
        const row = document.createElement("tr");
        row.append(element("td", name), valueCell(state.get(name)), valueCell(after.get(name)));
        if (changed.has(name)) row.className = "changed";
        return row;
      });
      one(this.section, ".state").hidden = rows.length === 0;
      one(this.section, ".state tbody").replaceChildren(...rows);
    }

    /** Who holds what after a step. @param {number} at */
    showHolds(at) {
      /** @type {[string, string][]} */
      const held = [];
      for (const step of this.failure.steps.slice(0, at + 1)) {
        for (const given of step.gives || []) {
          const index = held.findIndex(([name, who]) => name === given.name && who === given.process);
          if (index >= 0) held.splice(index, 1);
        }
        for (const name of step.takes || []) held.push([name, step.process]);
      }
      const items = held.map(([name, who]) => element("li", `${name}: ${this.called.get(who) || who}`, this.colours.get(who)));
      one(this.section, ".holds").replaceChildren(...(items.length ? items : [element("li", "nothing")]));
      one(this.section, ".held").hidden = !this.failure.steps.some((step) => step.takes);
    }

    /** @param {Step} step @param {string} colour */
    showSource(step, colour) {
      for (const line of all(this.section, ".line.here")) line.className = line.className.replace(/ here.*/, "");
      const [, file, number] = /^(.*):(\d+)$/.exec(step.where || "") || [];
      const figures = all(this.section, ".inspector [data-file]");
      const at = figures.findIndex((figure) => figure.dataset.file === file);
      for (const figure of figures) figure.hidden = file !== undefined && figure !== figures[at];
      const line = document.getElementById(`${this.name}-source-${at}-${number}`);
      if (!line) return;
      line.className += ` here ${colour}`;
      const box = /** @type {HTMLElement} */ (line.closest("pre"));
      box.scrollTop = line.offsetTop - box.clientHeight / 2.5;
    }

    /** The tables of a network after a step. @param {number} at */
    showTables(at) {
      const tables = { ...this.failure.tables };
      const here = laneOf(this.failure.steps[at]);
      let isNew = false;
      this.failure.steps.slice(0, at + 1).forEach((step, number) => {
        for (const did of step.did) {
          if (!did.startsWith(TABLE)) continue;
          tables[laneOf(step)] = did.slice(TABLE.length);
          isNew = number === at;
        }
      });
      for (const node of all(this.section, ".tables [data-node]")) {
        const name = /** @type {string} */ (node.dataset.node);
        one(node, "dd").textContent = tables[name] || "empty";
        node.classList.toggle("changed", isNew && name === here);
      }
      for (const node of all(this.section, ".graph [data-node]")) {
        node.classList.toggle("here", node.dataset.node === here);
      }
    }

    // Folding

    /** @param {HTMLElement} fold */
    toggleFold(fold) {
      this.setFolds([fold], fold.getAttribute("aria-expanded") !== "true");
    }

    toggleAllFolds() {
      this.setFolds(all(this.list, ".fold"), one(this.section, ".unfold").getAttribute("aria-pressed") !== "true");
      if (this.rows[this.now].hidden) this.openFoldOf(this.now);
    }

    /** @param {HTMLElement[]} folds @param {boolean} isOpen */
    setFolds(folds, isOpen) {
      for (const fold of folds) {
        const start = Number(fold.dataset.start);
        fold.setAttribute("aria-expanded", String(isOpen));
        for (const row of this.rows.slice(start, start + Number(fold.dataset.size))) row.hidden = !isOpen;
      }
      this.showUnfold();
      this.drawWires();
    }

    /** Whether there is anything to unfold, and whether all of it is. */
    showUnfold() {
      const folds = all(this.list, ".fold"), button = one(this.section, ".unfold");
      button.hidden = folds.length === 0;
      button.setAttribute("aria-pressed", String(folds.every((fold) => fold.getAttribute("aria-expanded") === "true")));
    }

    /** @param {number} at */
    openFoldOf(at) {
      const around = all(this.list, ".fold").filter((fold) => {
        const start = Number(fold.dataset.start);
        return start <= at && at < start + Number(fold.dataset.size);
      });
      this.setFolds(around, true);
    }

    // Searching

    /** @param {string} text */
    search(text) {
      const wanted = text.trim().toLowerCase();
      this.matches = [];
      this.rows.forEach((row, at) => {
        const isMatch = wanted !== "" && `${row.textContent} ${this.failure.steps[at].where}`.toLowerCase().includes(wanted);
        row.classList.toggle("match", isMatch);
        if (isMatch) this.matches.push(at);
      });
      one(this.section, ".found").textContent = wanted ? `${this.matches.length} found` : "";
    }

    toNextMatch() {
      if (!this.matches.length) return;
      this.select(this.matches.find((at) => at > this.now) ?? this.matches[0]);
    }

    // Lines and arrows

    drawWires() {
      one(this.list, ".wires")?.remove();
      const isOn = one(this.section, ".arrows").getAttribute("aria-pressed") === "true";
      const shown = all(this.list, ":scope > li:not([hidden], .stuck)");
      if (!shown.length || getComputedStyle(one(this.section, ".heads")).display === "none") return;
      // Rows are of two heights; to ask each where it is would take long if there are thousands.
      const usual = shown.find((row) => !row.classList.contains("thin")) || shown[0];
      const height = usual.offsetHeight, thin = one(this.list, ".thin")?.offsetHeight || 0;
      let bottom = 0;
      /** @type {Map<Element, number>} */
      const tops = new Map();
      for (const row of shown) {
        tops.set(row, bottom);
        bottom += row.classList.contains("thin") ? thin : height;
      }
      const columns = all(this.section, ".heads .head:not(.corner)").map((head) => [head.offsetLeft, head.offsetWidth]);
      const lanes = new Map(all(this.section, ".heads .head:not(.corner)").map((head, at) => [one(head, "b").textContent, at]));
      /** @param {number} at */
      const place = (at) => {
        const top = tops.get(this.rows[at]);
        const [left, width] = columns[lanes.get(laneOf(this.failure.steps[at])) ?? 0];
        return top === undefined ? null : { y: top + height / 2, left: left + 8, right: left + width - 8 };
      };
      const wires = drawn("svg", { class: "wires", width: this.list.scrollWidth, height: bottom, "aria-hidden": "true" });
      this.failure.links.forEach((link, number) => {
        const from = place(link.source), to = place(link.target);
        if (this.failure.steps[link.target].arrival) return; // that something will come is no arrow
        if (from && to && this.failure.steps[link.source].arrival) {
          wires.append(...fallen(from.y + height * 0.28, to.y - height * 0.44, to.right - 18, { "data-link": number }));
        } else if (from && to) wires.append(...arrow(from, to, link.kind, { "data-link": number }));
      });
      wires.append(...this.waitLines(place));
      const pair = [one(this.list, ".is-first"), one(this.list, ".is-second")].map((row) => this.rows.indexOf(row));
      if (pair.every((at) => at >= 0)) {
        const from = place(pair[0]), to = place(pair[1]);
        if (from && to) wires.append(...arrow(from, to, "decides", {}));
      }
      if (!isOn) wires.setAttribute("hidden", "");
      this.list.append(wires);
      this.lightWires();
    }

    /** A dotted line from where a process begins to wait to where it goes on.
     * @param {(at: number) => {y: number, left: number} | null} place */
    waitLines(place) {
      /** @type {Map<string, number>} */
      const since = new Map();
      /** @type {Element[]} */
      const lines = [];
      this.failure.steps.forEach((step, at) => {
        const who = step.who || step.process, start = since.get(who);
        since.delete(who);
        const from = start === undefined ? null : place(start), to = place(at);
        if (from && to) lines.push(drawn("line", { class: "wait", x1: from.left + 14, x2: from.left + 14, y1: from.y + 24, y2: to.y - 24 }));
        if (step.then === "waits") since.set(who, at);
      });
      return lines;
    }

    lightWires() {
      for (const wire of all(this.list, ".wires [data-link]")) {
        const link = this.failure.links[Number(wire.dataset.link)];
        wire.classList.toggle("on", link.source === this.now || link.target === this.now);
      }
    }
  }

  /** @param {{y: number, left: number, right: number}} from @param {{y: number, left: number, right: number}} to
   * @param {string} kind @param {Record<string, string | number>} more */
  function arrow(from, to, kind, more) {
    const isSame = from.left === to.left;
    const toRight = to.left > from.left;
    const x1 = isSame || toRight ? from.right : from.left, x2 = isSame || !toRight ? to.right : to.left;
    const bend = isSame ? 34 : Math.max(14, Math.min(70, Math.abs(x2 - x1) / 2));
    const c1 = isSame || toRight ? x1 + bend : x1 - bend, c2 = isSame || !toRight ? x2 + bend : x2 - bend;
    const tip = isSame || !toRight ? 7 : -7;
    return [
      drawn("path", { ...more, class: `link ${kind}`, d: `M${x1} ${from.y}C${c1} ${from.y} ${c2} ${to.y} ${x2} ${to.y}` }),
      drawn("path", { class: `end ${kind}`, d: `M${x2} ${to.y}l${tip} -4v8z` }),
    ];
  }

  /** Out of what came from outside, straight down to what it wakes.
   * @param {number} y1 @param {number} y2 @param {number} x @param {Record<string, string | number>} more */
  function fallen(y1, y2, x, more) {
    return [
      drawn("path", { ...more, class: "link wake", d: `M${x} ${y1}V${y2}` }),
      drawn("path", { class: "end wake", d: `M${x} ${y2}l-4 -7h8z` }),
    ];
  }

  /** @param {Step} step */
  const laneOf = (step) => step.lane || step.process;

  /** One of several in a lane is called as the program calls it. @param {Step} step */
  const calledOf = (step) => (step.lane && step.lane !== step.process && step.label ? step.label : step.process);

  /** @param {HTMLElement} row */
  const colourOf = (row) => [...row.classList].find((name) => name.startsWith("lane-")) || "";

  /** @param {string | undefined} value */
  function valueCell(value) {
    return value ? element("td", value) : element("td", "not known", "unknown");
  }

  // The tree of executions

  /** @param {HTMLElement} tree */
  function unfoldable(tree) {
    const items = all(tree, "li");
    /** @param {HTMLElement} item */
    const depth = (item) => Number(item.dataset.depth);
    /** @param {HTMLElement} item @param {boolean} isOpen */
    const toggle = (item, isOpen) => {
      if (!item.hasAttribute("aria-expanded")) return;
      item.setAttribute("aria-expanded", String(isOpen));
      let closed = Infinity;
      for (const below of items.slice(items.indexOf(item) + 1)) {
        if (depth(below) <= depth(item)) break;
        if (depth(below) <= closed) closed = Infinity;
        below.hidden = !isOpen || depth(below) > closed;
        if (!below.hidden && below.getAttribute("aria-expanded") === "false") closed = depth(below);
      }
    };
    /** @param {HTMLElement | undefined} item */
    const focus = (item) => {
      if (!item) return;
      for (const other of items) other.tabIndex = -1;
      item.tabIndex = 0;
      item.focus();
    };
    tree.addEventListener("click", (event) => {
      const item = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (event.target).closest("li"));
      if (!item) return;
      focus(item);
      toggle(item, item.getAttribute("aria-expanded") === "false");
    });
    tree.addEventListener("keydown", (event) => {
      const shown = items.filter((item) => !item.hidden);
      const at = shown.indexOf(/** @type {any} */ (document.activeElement));
      if (at < 0) return;
      const item = shown[at];
      if (event.key === "ArrowDown") focus(shown[at + 1]);
      else if (event.key === "ArrowUp") focus(shown[at - 1]);
      else if (event.key === "ArrowRight") toggle(item, true);
      else if (event.key === "ArrowLeft" && item.getAttribute("aria-expanded") === "true") toggle(item, false);
      else if (event.key === "ArrowLeft") focus(shown.slice(0, at).reverse().find((other) => depth(other) < depth(item)));
      else if (event.key === "Home") focus(shown[0]);
      else if (event.key === "End") focus(shown[shown.length - 1]);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // The page

  /** @param {HTMLElement} button */
  async function copy(button) {
    const text = button.dataset.copy || "";
    try {
      await navigator.clipboard.writeText(text);
    } catch { // not allowed in a file or a frame: the old way
      const area = /** @type {HTMLTextAreaElement} */ (element("textarea", text));
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function toStepOfAddress() {
    const [, name, step] = /^#(f\d+)-(\d+)$/.exec(location.hash) || [];
    const player = players.find((other) => other.name === name);
    if (!player) return;
    current = player;
    player.select(Number(step) - 1, { isQuiet: true });
    player.section.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches("input, textarea, [role=treeitem], pre, .scrolling")) return;
    const player = current;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => player.move(-1),
      ArrowRight: () => player.move(1),
      ArrowUp: () => player.move(-1),
      ArrowDown: () => player.move(1),
      Home: () => player.move(-Infinity),
      End: () => player.move(Infinity),
      p: () => player.moveInLane(-1),
      n: () => player.moveInLane(1),
      f: () => player.toggleAllFolds(),
      "/": () => one(player.section, ".search").focus(),
    };
    const isUpDown = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (isUpDown && !target.closest(".lanes")) return;
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @type {{failures: Failure[]}} */
  const data = JSON.parse(one(document, "#data").textContent || "");
  /** @type {Player | null} */
  let current = null;
  const players = all(document, "[data-failure]")
    .map((section, at) => ({ section, failure: data.failures[at] }))
    .filter(({ failure }) => failure.steps.length)
    .map(({ section, failure }) => new Player(section, failure));
  current = players[0] || null;
  for (const player of players) player.section.addEventListener("focusin", () => { current = player; });
  for (const tree of all(document, ".tree")) unfoldable(tree);
  for (const box of all(document, ".heat pre")) {
    const heat = (/** @type {HTMLElement} */ line) => Number(line.style.getPropertyValue("--heat"));
    const hottest = all(box, ".hot").sort((line, other) => heat(other) - heat(line))[0];
    if (hottest) box.scrollTop = hottest.offsetTop - box.clientHeight / 2.5;
  }
  for (const button of all(document, ".copy")) button.addEventListener("click", () => copy(button));
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", toStepOfAddress);
  one(document, ".theme").addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
  });
  toStepOfAddress();
})();
