// The page sends prompts in one session and shows each answer as it arrives.

import { Answer, Frames, label } from "./stream.js";

const $ = (id) => document.getElementById(id);
const SESSION = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id";
const KEPT = 200; // characters of a string among the raw events

const store = sessionStorage;
const hash = new URLSearchParams(location.hash.slice(1));
if (hash.has("token")) {
  store.setItem("token", hash.get("token"));
  history.replaceState(null, "", location.pathname + location.search); // the token must not stay in the address
}
$("token").value = store.getItem("token") ?? "";
$("token").addEventListener("input", () => store.setItem("token", $("token").value.trim()));
$("session").value = store.getItem("session") ?? newSession();
$("session").addEventListener("change", () => store.setItem("session", $("session").value.trim()));
$("fresh").addEventListener("click", () => {
  $("session").value = newSession();
  $("talk").replaceChildren();
  $("prompt").focus();
});
$("raw").addEventListener("change", () => document.body.classList.toggle("raw", $("raw").checked));

function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  const id = "page-" + Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  store.setItem("session", id);
  return id;
}

const prompt = $("prompt");
prompt.addEventListener("input", grow);
prompt.addEventListener("keydown", (e) => {
  // While an input method composes, Enter accepts its suggestion.
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $("ask").requestSubmit();
  }
});

function grow() {
  prompt.rows = Math.min(8, prompt.value.split("\n").length);
}

let running = null;
$("stop").addEventListener("click", () => running?.abort());
$("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = prompt.value.trim();
  if (!text || running) return;
  prompt.value = "";
  grow();
  ask(text);
});

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

async function ask(text) {
  $("talk").append(element("div", "said", text));
  const view = new View();
  $("talk").append(view.root);
  running = new AbortController();
  busy(true);
  const begun = performance.now();
  const answer = new Answer((what, value) => view.show(what, value, answer));
  try {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream, application/json", [SESSION]: $("session").value.trim() };
    const token = $("token").value.trim();
    if (token) headers.Authorization = "Bearer " + token;
    const res = await fetch("invocations", { method: "POST", headers, body: JSON.stringify({ prompt: text }), signal: running.signal });
    if (!res.ok) {
      view.fail(await refusal(res));
      if (res.status === 401 || res.status === 403) $("settings").open = true;
      return;
    }
    const frames = new Frames();
    const take = (list) => {
      for (const frame of list) {
        view.raw(frame[1]);
        answer.take(frame);
      }
    };
    const reader = res.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      take(done ? frames.end() : frames.push(value));
      if (done) break;
    }
    const streams = (res.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
    if (answer.loop && !answer.ended && streams) view.fail("The stream ended before the agent finished.");
  } catch (err) {
    view.fail(err.name === "AbortError" ? "Stopped." : "The connection was lost: " + err.message);
  } finally {
    view.end(answer, performance.now() - begun);
    running = null;
    busy(false);
  }
}

async function refusal(res) {
  const text = await res.text();
  let said = "";
  try {
    const body = JSON.parse(text);
    said = body.message ?? body.Message ?? body.error?.message ?? body.error ?? "";
    if (body.details) said += ": " + body.details;
    if (body.error?.hint) said += " (" + body.error.hint + ")";
  } catch {
    // not JSON: show only the status
  }
  const exception = (res.headers.get("x-amzn-errortype") ?? "").split(":")[0];
  return `${res.status} ${exception || res.statusText}${said ? ": " + said : ""}`;
}

function busy(on) {
  $("send").hidden = on;
  $("stop").hidden = !on;
  document.body.classList.toggle("busy", on);
  if (!on) prompt.focus();
}

// View is one answer on the page.
class View {
  root = element("article", "answer");
  #events = element("ol", "events");
  #usage = element("footer", "usage");
  #cards = new Map();
  #text = null;
  #thinking = null;

  constructor() {
    this.root.append(this.#events, this.#usage);
  }

  #add(e) {
    const down = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    this.root.insertBefore(e, this.#events);
    if (down) scrollTo(0, document.documentElement.scrollHeight);
    return e;
  }

  show(what, value, answer) {
    switch (what) {
      case "text":
        this.#thinking = null;
        this.#text ??= this.#add(element("div", "text"));
        if (!this.#text.hasChildNodes() && !value.trim()) break;
        this.#text.append(value);
        break;
      case "replaced":
        this.#text?.classList.add("takenback");
        this.#text = null;
        if (value) this.show("text", value, answer);
        break;
      case "thinking":
        this.#text = null;
        if (!this.#thinking) {
          const box = this.#add(element("details", "thinking"));
          box.append(element("summary", "", "Thinking"));
          this.#thinking = box.appendChild(element("div"));
        }
        this.#thinking.append(value);
        break;
      case "tool":
        this.#text = this.#thinking = null;
        this.#card(value);
        break;
      case "usage":
        this.#count(answer);
        break;
      case "error":
        this.fail((value.type ? value.type + ": " : "") + value.message);
        break;
      case "anomaly":
        this.#add(element("div", "note", "Part of the stream cannot be read: " + value));
        break;
    }
  }

  #card(tool) {
    let card = this.#cards.get(tool);
    if (!card) {
      card = this.#add(element("section", "tool"));
      card.append(element("h2"), element("pre", "input"), element("pre", "result"));
      this.#cards.set(tool, card);
    }
    const [icon, title] = tool.name ? label(tool.name) : ["🔧", tool.title || "Unknown Tool"];
    const [head, input, result] = card.children;
    head.textContent = `${icon} ${title}`;
    head.title = tool.name;
    input.textContent = tool.input === undefined ? "" : JSON.stringify(tool.input, null, 2);
    result.textContent = tool.result ?? tool.progress ?? "";
    card.classList.toggle("failed", Boolean(tool.failed));
    card.classList.toggle("done", tool.result !== undefined);
  }

  #count(answer, took) {
    const n = (v) => v.toLocaleString("en");
    const parts = [`${n(answer.usage.input)} in`, `${n(answer.usage.output)} out`, `${n(answer.usage.total)} tokens`, `model ${n(answer.latency)} ms`];
    if (took !== undefined) parts.push(`${(took / 1000).toFixed(1)} s total`);
    this.#usage.textContent = parts.join(" · ");
  }

  raw(data) {
    const cut = data.length > KEPT && /^"/.test(data) ? data.slice(0, KEPT) + `… (${data.length} characters)` : data;
    this.#events.append(element("li", "", cut));
  }

  fail(message) {
    this.#add(element("div", "error", message)).setAttribute("role", "alert");
  }

  end(answer, took) {
    this.root.classList.add("ended");
    if (answer.cycles > 0) this.#count(answer, took);
  }
}
