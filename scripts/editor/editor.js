// The editor of `treadle web`: CodeMirror with Python and ABS, a line that a step is at, and marks
// for mistakes. `make editor` puts it into one file, src/treadle/web/editor.js, which is what the
// page has: nobody needs npm to use or to test it.
import { indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { basicSetup } from "codemirror";

const ABS_WORDS = new Set(
  `adds after assert await builtin case class core data def delta else export exception extends from
  get hasInterface hasField hasMethod if implements import in interface let local main modifies module
  new null original product removes return skip suspend then this throw try catch finally True False
  type when while`.split(/\s+/),
);

const abs = StreamLanguage.define({
  startState: () => ({ isComment: false }),
  token(stream, state) {
    if (state.isComment || stream.match("/*")) {
      state.isComment = !stream.match(/^.*?\*\//);
      if (state.isComment) stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^\/\/.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^\d+(\.\d+)?/)) return "number";
    const word = stream.match(/^[A-Za-z_][\w']*/);
    if (word) return ABS_WORDS.has(word[0]) ? "keyword" : /^[A-Z]/.test(word[0]) ? "typeName" : null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
});

const setHere = StateEffect.define();
const here = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setHere)) continue;
      const { doc } = transaction.state;
      if (effect.value < 1 || effect.value > doc.lines) return Decoration.none;
      return Decoration.set([Decoration.line({ class: "here" }).range(doc.line(effect.value).from)]);
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Make an editor in an element; `changed` is called whenever the text changes. */
window.treadleEditor = (parent, changed) => {
  const language = new Compartment();
  const languageOf = (file) => (file.endsWith(".abs") ? abs : python());
  const view = new EditorView({
    parent,
    extensions: [
      basicSetup,
      keymap.of([indentWithTab]), // Escape, then Tab, leaves the editor
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      lintGutter(),
      here,
      language.of(python()),
      syntaxHighlighting(classHighlighter),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "Program", "aria-describedby": "mistake" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
    ],
  });
  const lineAt = (number) => view.state.doc.line(Math.max(1, Math.min(number, view.state.doc.lines)));
  const scroll = (number) => EditorView.scrollIntoView(lineAt(number).from, { y: "center" });
  return {
    get text() { return view.state.doc.toString(); },
    /** @param {string} text @param {string} file */
    open(text, file) {
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: 0 },
        effects: language.reconfigure(languageOf(file)),
        scrollIntoView: true,
      });
    },
    /** @param {string} file */
    is(file) { view.dispatch({ effects: language.reconfigure(languageOf(file)) }); },
    /** Mark the line that is looked at; 0: none. @param {number} line */
    show(line) { view.dispatch({ effects: line ? [setHere.of(line), scroll(line)] : setHere.of(0) }); },
    /** Mark what is wrong; line 0: nothing is. @param {number} line @param {string} message */
    complain(line, message, isShown = false) {
      const found = line ? [{ ...span(lineAt(line)), severity: "error", message }] : [];
      view.dispatch(setDiagnostics(view.state, found));
      if (line && isShown) view.dispatch({ effects: scroll(line) });
    },
  };
};

/** From the first letter of a line to its end. */
function span(line) {
  const indented = line.text.length - line.text.trimStart().length;
  return { from: line.from + indented, to: line.to };
}
