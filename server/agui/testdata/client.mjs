// AG-UI's own client against the handler: the stories that failed, as a JSON list. client.mjs MODULES URL TOKEN
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [modules, url, token] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { HttpAgent, randomUUID } = require("@ag-ui/client");

const agent = (more = {}) => new HttpAgent({ url, headers: { Authorization: `Bearer ${token}` }, ...more });
// say has the agent answer, and gives the events that it sent.
async function run(a, parameters = {}) {
  const events = [];
  const result = await a.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return { events, result, types: events.map((e) => e.type) };
}
const say = (a, content, parameters) => {
  a.addMessage({ id: randomUUID(), role: "user", content });
  return run(a, parameters);
};
const last = (list) => list[list.length - 1];

const stories = {
  async text() {
    const a = agent();
    const { events, types } = await say(a, "hello");
    assert.equal(types[0], "RUN_STARTED");
    assert.equal(events[0].protocolVersion, "1.0");
    assert.equal(last(a.messages).content, "you said hello");
    assert.deepEqual(last(events).outcome, { type: "success" });
    assert.deepEqual(last(events).usage, [{ model: "test:scripted", inputTokens: 7, outputTokens: 3, totalTokens: 10 }]);
    await say(a, "again");
    assert.equal(last(a.messages).content, "you said again");
    assert.equal(a.messages.length, 4);
  },
  async parts() {
    const a = agent();
    await say(a, [{ type: "text", text: "a picture" }, { type: "image", source: { type: "data", value: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", mimeType: "image/gif" } }]);
    assert.match(last(a.messages).content, /^you said a picture/);
  },
  async tools() {
    const a = agent();
    await say(a, "use clock");
    assert.deepEqual(a.messages.map((m) => m.role), ["user", "reasoning", "assistant", "tool", "assistant"]);
    const [, thinking, call, result, answer] = a.messages;
    assert.equal(thinking.content, "まず");
    assert.equal(call.content, "I look.");
    assert.deepEqual(call.toolCalls[0].function, { name: "clock", arguments: "{}" });
    assert.equal(result.toolCallId, call.toolCalls[0].id);
    assert.equal(result.content, "noon");
    assert.equal(answer.content, "it is noon");
    await say(a, "use clock clock"); // the model gives its calls the same ids again
    assert.equal(new Set(a.messages.flatMap((m) => (m.toolCalls ?? []).map((c) => c.id))).size >= 2, true);
    assert.equal(last(a.messages).content, "it is noon");
  },
  async subagent() {
    const a = agent();
    const { events, types } = await say(a, 'use helper={"input":"hello"}');
    const started = events.find((e) => e.type === "SUBAGENT_STARTED");
    assert.equal(started.name, "helper");
    assert.ok(types.includes("SUBAGENT_FINISHED"));
    const inside = a.messages.filter((m) => m.subagentRunId === started.subagentRunId);
    assert.deepEqual(inside.map((m) => m.content), ["you said hello"]);
    assert.equal(started.parentToolCallId, a.messages.find((m) => m.toolCalls).toolCalls[0].id);
  },
  async error() {
    const { events } = await say(agent(), "break");
    assert.equal(last(events).type, "RUN_ERROR");
    assert.match(last(events).message, /the provider gave up/);
    assert.equal(last(events).code, "SDK_ERROR");
  },
  async state() {
    const a = agent();
    await say(a, "use keep");
    assert.deepEqual(a.state, { "a/b": [1] });
    await say(a, "use drop");
    assert.deepEqual(a.state, {});
    const none = agent({ initialState: null, threadId: randomUUID() });
    await say(none, "use keep");
    assert.deepEqual(none.state, { "a/b": [1] });
  },
  async approval() {
    const a = agent();
    const { events } = await say(a, "use ask");
    const [q] = last(events).outcome.interrupts;
    assert.equal(q.reason, "tool_call");
    assert.equal(q.message, "May I?");
    assert.equal(q.toolCallId, a.messages.find((m) => m.toolCalls).toolCalls[0].id);
    assert.equal(a.pendingInterrupts.length, 1);
    const more = await run(a, { resume: [{ interruptId: q.id, status: "resolved", payload: true }] });
    assert.equal(more.events[0].type, "RUN_STARTED");
    assert.deepEqual(a.pendingInterrupts, []);
    assert.deepEqual(a.messages.map((m) => m.role), ["user", "reasoning", "assistant", "tool", "assistant"]);
    assert.equal(last(a.messages).content, "it is true");
    assert.deepEqual(last(more.events).outcome, { type: "success" });
    assert.equal(last(more.events).usage[0].totalTokens, 10); // that of its own part
  },
  async denied() {
    const a = agent();
    const { events } = await say(a, "use ask");
    const resume = [{ interruptId: last(events).outcome.interrupts[0].id, status: "cancelled" }];
    await run(a, { resume });
    assert.equal(last(a.messages).content, "it is false");
  },
  async abandoned() {
    const a = agent();
    const { events } = await say(a, "use name");
    const [q] = last(events).outcome.interrupts;
    assert.equal(q.reason, "input_required");
    assert.equal(q.responseSchema.type, "string");
    const more = await run(a, { resume: [{ interruptId: q.id, status: "cancelled" }] });
    assert.deepEqual(last(more.events).outcome, { type: "cancelled" });
    await say(a, "hello");
    assert.equal(last(a.messages).content, "you said hello");
  },
  async twoQuestions() {
    const a = agent();
    const { events } = await say(a, "use ask name");
    const list = last(events).outcome.interrupts;
    assert.equal(list.length, 2);
    const payload = (q) => (q.reason === "tool_call" ? true : "Ann");
    await run(a, { resume: list.map((q) => ({ interruptId: q.id, status: "resolved", payload: payload(q) })) });
    assert.match(last(a.messages).content, /^it is/);
  },
  async stop() {
    const a = agent();
    const stopped = say(a, "wait");
    await new Promise((done) => setTimeout(done, 300));
    a.abortRun();
    await stopped;
    await say(a, "hello"); // which ends what is still running
    assert.equal(last(a.messages).content, "you said hello");
  },
  async twice() {
    const runId = randomUUID();
    const a = agent();
    const first = await say(a, "use clock", { runId });
    const had = structuredClone(a.messages);
    const again = await run(a, { runId });
    assert.deepEqual(a.messages.filter((m) => m.content), had);
    assert.deepEqual(last(again.events), last(first.events));
    const cut = agent({ threadId: a.threadId, initialMessages: [had[0], had[1], { ...had[2], content: "I l" }] });
    await run(cut, { runId });
    assert.deepEqual(cut.messages.filter((m) => m.content).map((m) => m.content).sort(), had.map((m) => m.content).sort());
  },
  async refused() {
    for (const [a, code] of [
      [agent({ headers: { Authorization: "Bearer no" } }), 401],
      [agent({ threadId: "conv_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }), 404],
    ]) {
      a.addMessage({ id: "1", role: "user", content: "hello" });
      await assert.rejects(() => a.runAgent(), (e) => e.status === code && typeof e.payload.error.message === "string");
    }
    await assert.rejects(() => say(agent(), "x", { tools: [{ name: "t", description: "", parameters: {} }] }), /call no tools of the client/);
  },
};

console.error = () => {}; // the client also prints the errors that it throws
const failed = [];
for (const [name, story] of Object.entries(stories)) {
  try {
    await Promise.race([story(), new Promise((_, no) => setTimeout(() => no(new Error("it hangs")), 10_000).unref())]);
  } catch (e) {
    failed.push(`${name}: ${e.stack}`);
  }
}
console.log(JSON.stringify(failed));
process.exit();
