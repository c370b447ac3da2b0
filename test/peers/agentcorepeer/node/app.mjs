// AWS's runtime app for JavaScript with a Strands agent inside: a server that Braid did
// not write. What the prompt begins with chooses how the author's program speaks. It
// answers /ping when it is ready. app.mjs MODULES PORT
const [modules, port] = process.argv.slice(2);
const { BedrockAgentCoreApp } = await import(modules + "/bedrock-agentcore/dist/src/runtime/index.js");
const { Agent, Model, tool } = await import(modules + "/@strands-agents/sdk/dist/src/index.node.js");
const { z } = await import(modules + "/zod/index.js");

// Scripted is a model that asks for two tools and then answers.
class Scripted extends Model {
  getConfig() {
    return { modelId: "scripted" };
  }
  updateConfig() {}
  async *stream(messages) {
    const results = messages.at(-1).content.some((b) => b.type === "toolResultBlock");
    yield { type: "modelMessageStartEvent", role: "assistant" };
    const blocks = results
      ? [{ text: "答えは " }, { text: "42 です。" }]
      : [{ text: "調べます。" }, { use: ["t1", "multiply", { a: 6, b: 7 }] }, { use: ["t2", "aws___read_documentation", { url: "x" }] }];
    for (const block of blocks) {
      if (block.use) {
        const [toolUseId, name, input] = block.use;
        yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId } };
        yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: JSON.stringify(input) } };
      } else {
        yield { type: "modelContentBlockStartEvent" };
        yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: block.text } };
      }
      yield { type: "modelContentBlockStopEvent" };
    }
    yield { type: "modelMessageStopEvent", stopReason: results ? "endTurn" : "toolUse" };
    yield { type: "modelMetadataEvent", usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110 }, metrics: { latencyMs: 5 } };
  }
}

const tools = [
  tool({ name: "multiply", description: "Multiplies.", inputSchema: z.object({ a: z.number(), b: z.number() }), callback: ({ a, b }) => String(a * b) }),
  tool({ name: "aws___read_documentation", description: "Reads.", inputSchema: z.object({ url: z.string() }), callback: () => "a page" }),
];

const app = new BedrockAgentCoreApp({
  config: { logging: { enabled: false } },
  invocationHandler: {
    requestSchema: z.object({ prompt: z.string() }),
    process: async function* (request, context) {
      const agent = new Agent({ model: new Scripted(), tools, printer: false });
      const how = request.prompt.split(" ")[0];
      if (how === "session") yield context.sessionId;
      if (how === "late") {
        yield "some ";
        throw new Error("it broke");
      }
      if (how === "session" || how === "late") return;
      for await (const event of agent.stream(request.prompt)) {
        const inner = event.type === "modelStreamUpdateEvent" ? event.event : event;
        const text = inner.type === "modelContentBlockDeltaEvent" && inner.delta?.type === "textDelta" ? inner.delta.text : "";
        if (how === "events") yield event;
        if (how === "quick" && text) yield { event: "message", data: { text } };
        if (how === "strings" && text) yield text;
        if (how === "lines" && text) yield text + "\n" + text;
        if (how === "dicts" && text) yield { data: text, delta: { text } };
      }
    },
  },
});
app.run({ port: Number(port), host: "127.0.0.1" });
