// Reads the stream of an AgentCore agent by the rules of package wire/agentcore. Parts that
// cannot be read do not end the reading.

const KNOWN = [
  [/search_documentation/, "🔍", "AWS Documentation Search"],
  [/read_documentation/, "📖", "AWS Documentation Reader"],
  [/recommend/, "💡", "AWS Documentation Recommendations"],
];

// label returns a tool's icon and display name.
export function label(name) {
  if (!name) return ["🔧", "Unknown Tool"];
  if (name.startsWith("aws___")) {
    for (const [pattern, icon, title] of KNOWN) if (pattern.test(name)) return [icon, title];
  }
  return ["🔧", name];
}

// Frames splits server-sent events, or values one per line, from the bytes.
export class Frames {
  #rest = "";
  #data = null;
  #event = "";
  #decoder = new TextDecoder();

  // push takes bytes and returns [event, data] of each frame that they complete.
  push(bytes) {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    return this.#lines(false);
  }

  // end returns the last frame, whose blank line may be missing.
  end() {
    this.#rest += this.#decoder.decode();
    const frames = this.#lines(true);
    this.#close(frames);
    return frames;
  }

  #lines(all) {
    const frames = [];
    for (;;) {
      const at = this.#rest.search(/[\r\n]/);
      if (at < 0 || (!all && this.#rest[at] === "\r" && at + 1 === this.#rest.length)) break;
      const line = this.#rest.slice(0, at);
      this.#rest = this.#rest.slice(at + (this.#rest.startsWith("\r\n", at) ? 2 : 1));
      this.#line(line, frames);
    }
    if (all && this.#rest) {
      this.#line(this.#rest, frames);
      this.#rest = "";
    }
    return frames;
  }

  #line(line, frames) {
    const field = /^(data|event|id|retry):? ?/.exec(line);
    if (line === "") this.#close(frames);
    else if (line.startsWith(":")) return;
    else if (field?.[1] === "data") {
      const value = line.slice(field[0].length);
      this.#data = this.#data === null ? value : this.#data + "\n" + value;
    } else if (field?.[1] === "event") this.#event = line.slice(field[0].length);
    else if (!field) frames.push(["", line]);
  }

  #close(frames) {
    if (this.#data !== null) frames.push([this.#event, this.#data]);
    this.#data = null;
    this.#event = "";
  }
}

// parse reads JSON as Python writes it: NaN and the infinities are null.
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|-?\b(?:NaN|Infinity)\b/gs, (_, string) => string ?? "null"));
  }
}

// Answer folds frames into what the page shows. It reports each change to the listener by name:
// text, thinking, tool, usage, result, error, anomaly.
export class Answer {
  tools = [];
  text = "";
  usage = { input: 0, output: 0, total: 0 };
  latency = 0;
  cycles = 0;
  stop = "";
  ended = false;
  loop = false; // the stream tells of an agent's loop, and so of its end

  #tell;
  #streamed = false; // this message was shown in pieces
  #raw = false; // the pieces came as raw chunks: their copies are not shown again
  #thought = false;
  #announced = []; // cards that no toolUseId is known of
  #blocks = new Map();

  constructor(tell) {
    this.#tell = tell;
  }

  // take reads one frame.
  take([event, data]) {
    let value;
    try {
      value = parse(data);
    } catch {
      if (/^\s*</.test(data)) return this.#tell("anomaly", "html");
      if (/^\s*[[{"]/.test(data)) return this.#tell("anomaly", "not_json");
      return event === "error" ? this.#fail(data) : this.#say(data);
    }
    if (typeof value === "string") {
      if (value.includes("'MCPAgentTool' object")) return this.#tell("anomaly", "mcp_agent_tool");
      if (!value.startsWith("{'")) this.#say(value); // printed Python repeats what came before it
      return;
    }
    if (Array.isArray(value)) {
      for (const one of value) this.take([event, typeof one === "string" ? one.replace(/^data: /, "") : JSON.stringify(one)]);
      return;
    }
    if (value === null || typeof value !== "object") return;
    if (event === "error" || typeof value.error === "string") return this.#fail(value.error ?? value.message ?? data, value.error_type);
    if (value.init_event_loop || value.start || value.start_event_loop) this.loop = true;
    if (value.event && typeof value.event === "object") return this.#chunk(value.event);
    if (value.message?.content) return this.#message(value.message);
    if (value.type === "tool_use" && value.tool_name !== undefined) return this.#announce(value);
    if (typeof value.data === "string" && value.delta) {
      if (!this.#raw) this.#say(value.data);
      return;
    }
    if (typeof value.reasoningText === "string") {
      if (!this.#thought) this.#think(value.reasoningText);
      return;
    }
    if (value.tool_stream_event?.tool_use && typeof value.tool_stream_event.data === "string") {
      const tool = this.#tool(value.tool_stream_event.tool_use.toolUseId, value.tool_stream_event.tool_use.name);
      tool.progress = value.tool_stream_event.data;
      return this.#tell("tool", tool);
    }
    if (value.force_stop) return this.#fail(String(value.force_stop_reason ?? "the agent stopped"));
    if ("result" in value) {
      this.ended = true;
      if (!this.text && typeof value.result === "string") this.#say(value.result);
      return this.#tell("result", value.result);
    }
    if (typeof value.text === "string") this.#say(value.text);
  }

  #say(text) {
    this.text += text;
    this.#streamed = true;
    this.#tell("text", text);
  }

  #think(text) {
    this.#tell("thinking", text);
  }

  #fail(message, type) {
    this.ended = true;
    this.#tell("error", { message: String(message), type });
  }

  #chunk(chunk) {
    this.loop = true;
    const delta = chunk.contentBlockDelta?.delta;
    if (chunk.messageStart) {
      this.#streamed = this.#raw = this.#thought = false;
      if (this.text && !this.text.endsWith("\n\n")) this.#gap();
    } else if (chunk.contentBlockStart?.start?.toolUse) {
      const use = chunk.contentBlockStart.start.toolUse;
      this.#blocks.set(chunk.contentBlockStart.contentBlockIndex, this.#tool(use.toolUseId, use.name));
    } else if (typeof delta?.text === "string") {
      this.#raw = true;
      this.#say(delta.text);
    } else if (typeof delta?.reasoningContent?.text === "string") {
      this.#thought = true;
      this.#think(delta.reasoningContent.text);
    } else if (chunk.messageStop) {
      this.stop = chunk.messageStop.stopReason ?? "";
      if (this.stop && this.stop !== "tool_use") this.ended = true;
    } else if (chunk.metadata) {
      const u = chunk.metadata.usage ?? {};
      this.usage.input += u.inputTokens ?? 0;
      this.usage.output += u.outputTokens ?? 0;
      this.usage.total += u.totalTokens ?? 0;
      this.latency += chunk.metadata.metrics?.latencyMs ?? 0;
      this.cycles++;
      this.#tell("usage");
    } else if (chunk.redactContent) {
      this.#tell("replaced", chunk.redactContent.redactAssistantContentMessage ?? "");
    }
  }

  #gap() {
    this.text += "\n\n";
    this.#tell("text", "\n\n");
  }

  // tool returns the one record of a toolUseId, whichever frame mentions it.
  #tool(id, name) {
    let tool = id ? this.tools.find((t) => t.id === id) : undefined;
    if (!tool && id) {
      tool = this.#announced.shift();
      if (tool) tool.id = id;
    }
    if (!tool) {
      tool = { id, name: name ?? "", title: "" };
      this.tools.push(tool);
    }
    if (name) tool.name = name;
    this.#tell("tool", tool);
    return tool;
  }

  #announce(value) {
    const uses = (value.debug_data?.message?.content ?? []).filter((c) => c?.toolUse).map((c) => c.toolUse);
    if (uses.length === 0) {
      const tool = { id: "", name: "", title: String(value.tool_name || "") };
      this.tools.push(tool);
      this.#announced.push(tool);
      return this.#tell("tool", tool);
    }
    for (const use of uses) this.#use(use);
  }

  #use(use) {
    const tool = this.#tool(use.toolUseId, use.name);
    tool.input = use.input;
    this.#tell("tool", tool);
  }

  #message(message) {
    for (const part of message.content) {
      if (part?.toolUse) this.#use(part.toolUse);
      else if (part?.toolResult) {
        const tool = this.#tool(part.toolResult.toolUseId);
        tool.failed = part.toolResult.status === "error";
        tool.result = (part.toolResult.content ?? []).map((c) => c.text ?? (c.json !== undefined ? JSON.stringify(c.json) : "")).join("\n");
        this.#tell("tool", tool);
      } else if (typeof part?.text === "string" && message.role === "assistant" && !this.#streamed) this.#say(part.text);
    }
    if (message.role === "assistant") this.#streamed = false;
  }
}
