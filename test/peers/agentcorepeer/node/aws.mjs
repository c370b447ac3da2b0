// AWS's own client against braid serve --agentcore: what came of each story, as one JSON
// object. aws.mjs MODULES URL ARN KEYID SECRET
import http from "node:http";
import { createRequire } from "node:module";

const [modules, url, arn, accessKeyId, secretAccessKey] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { BedrockAgentCoreClient, InvokeAgentRuntimeCommand, StopRuntimeSessionCommand, GetAgentCardCommand } = await import(
  require.resolve("@aws-sdk/client-bedrock-agentcore"),
);

const client = (endpoint = url, secret = secretAccessKey, more = {}) =>
  new BedrockAgentCoreClient({ region: "us-east-1", endpoint, credentials: { accessKeyId, secretAccessKey: secret }, ...more });
const invoke = (c, prompt, more = {}) =>
  c.send(
    new InvokeAgentRuntimeCommand({
      agentRuntimeArn: arn, qualifier: "DEFAULT", contentType: "application/json", accept: "text/event-stream",
      payload: JSON.stringify({ prompt }), ...more,
    }),
  );
const text = (stream) => stream.transformToString();
const session = (name) => name.padEnd(40, "-0123456789");

const stories = {
  // The answer comes in pieces, as the model says it, and names its session.
  async pieces() {
    const begun = Date.now();
    const out = await invoke(client(), "count", { runtimeSessionId: session("pieces") });
    const head = Date.now() - begun;
    const at = [];
    let all = "";
    for await (const chunk of out.response) {
      at.push(Date.now() - begun);
      all += Buffer.from(chunk).toString();
    }
    return { status: out.statusCode, type: out.contentType, session: out.runtimeSessionId, request: out.$metadata.requestId, head, at, all };
  },
  // A session that the caller does not name has a name all the same.
  async unnamed() {
    const out = await invoke(client(), "hello");
    await text(out.response);
    return { session: out.runtimeSessionId };
  },
  // Two turns of one session are one conversation.
  async turns() {
    const all = [];
    for (const prompt of ["first", "second"]) {
      const out = await invoke(client(), prompt, { runtimeSessionId: session("turns") });
      all.push(await text(out.response));
    }
    return { all };
  },
  // One JSON instead of a stream.
  async whole() {
    const out = await invoke(client(), "hello", { accept: "application/json" });
    return { type: out.contentType, body: JSON.parse(await text(out.response)) };
  },
  async short() {
    return refused(() => invoke(client(), "hello", { runtimeSessionId: "short" }));
  },
  async unknown() {
    return refused(() => invoke(client(), "hello", { agentRuntimeArn: arn + "x" }));
  },
  async signature() {
    return refused(() => invoke(client(url, secretAccessKey + "x"), "hello"));
  },
  async badJSON() {
    return refused(() => invoke(client(), "", { payload: '{"prompt": ' }));
  },
  async failed() {
    return refused(() => invoke(client(), "fail", { accept: "application/json" }));
  },
  // The answer to the first attempt is lost on its way: the client asks again by itself.
  async retry() {
    let requests = 0;
    const proxy = http.createServer((req, res) => {
      const first = ++requests === 1;
      const on = http.request(url + req.url, { method: req.method, headers: req.headers }, (answer) => {
        if (first) {
          answer.resume();
          answer.on("end", () => res.destroy());
          return;
        }
        res.writeHead(answer.statusCode, answer.headers);
        answer.pipe(res);
      });
      req.pipe(on);
    });
    await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
    try {
      // The signature covers the host that it is sent to: the server's own, through the proxy.
      const c = client(`http://127.0.0.1:${proxy.address().port}`);
      c.middlewareStack.add(
        (next) => (args) => {
          args.request.headers.host = new URL(url).host;
          return next(args);
        },
        { step: "build", priority: "low" },
      );
      const out = await invoke(c, "hello", { runtimeSessionId: session("retry") });
      return { requests, attempts: out.$metadata.attempts, all: await text(out.response), session: out.runtimeSessionId };
    } finally {
      proxy.close();
      proxy.closeAllConnections();
    }
  },
  // Who leaves cancels the run: the session is free at once.
  async leaves() {
    const runtimeSessionId = session("leaves");
    const out = await invoke(client(), "endless", { runtimeSessionId });
    for await (const chunk of out.response) {
      if (Buffer.from(chunk).toString().includes("contentBlockDelta")) break;
    }
    out.response.destroy();
    const begun = Date.now();
    for (;;) {
      try {
        const again = await invoke(client(url, secretAccessKey, { maxAttempts: 1 }), "hello", { runtimeSessionId });
        return { free: Date.now() - begun, all: await text(again.response) };
      } catch (err) {
        if (err.name !== "RetryableConflictException" || Date.now() - begun > 20000) throw err;
        await new Promise((r) => setTimeout(r, 50));
      }
    }
  },
  async busy() {
    const runtimeSessionId = session("busy");
    const out = await invoke(client(), "endless", { runtimeSessionId });
    const second = await refused(() => invoke(client(url, secretAccessKey, { maxAttempts: 1 }), "hello", { runtimeSessionId }));
    out.response.destroy();
    return second;
  },
  async stop() {
    const runtimeSessionId = session("stop");
    const out = await invoke(client(), "endless", { runtimeSessionId });
    const stopped = await client().send(new StopRuntimeSessionCommand({ agentRuntimeArn: arn, qualifier: "DEFAULT", runtimeSessionId }));
    const begun = Date.now();
    const all = await text(out.response).catch((err) => String(err));
    return { status: stopped.statusCode, session: stopped.runtimeSessionId, ended: Date.now() - begun, all };
  },
  async card() {
    const out = await client().send(new GetAgentCardCommand({ agentRuntimeArn: arn, runtimeSessionId: session("card") }));
    return { status: out.statusCode, card: out.agentCard };
  },
};

async function refused(ask) {
  try {
    const out = await ask();
    return { name: "", status: out.statusCode, all: await text(out.response) };
  } catch (err) {
    return { name: err.name, status: err.$metadata?.httpStatusCode, attempts: err.$metadata?.attempts, message: err.message };
  }
}

const all = {};
for (const [name, story] of Object.entries(stories)) {
  try {
    all[name] = await story();
  } catch (err) {
    all[name] = { problem: String(err.stack ?? err) };
  }
}
console.log(JSON.stringify(all));
