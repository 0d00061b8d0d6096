// A search server of the TypeScript SDK, for a front to stand before:
//
//     node upstream.mjs sse|json     over Streamable HTTP with sessions; prints {"port": …}
//     node upstream.mjs stdio        over standard input and output
//
// Its tool vendor_search takes {q, count?} and nothing else. Each answer is one text: JSON of what the call was, whose
// Authorization it had, the session's, and how many calls there were before. Some questions make it do other things.
// GET /log gives what was received; POST /expire forgets all sessions, POST /expire?status=400 likewise, with another
// status for whoever comes with one of them.

import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const [mode] = process.argv.slice(2);
const sessions = new Map(); // id → {transport, authorization}
const log = [];
let expiredStatus = 404;
let calls = 0;

const inputSchema = {
  type: "object",
  properties: { q: { type: "string" }, count: { type: "integer" } },
  required: ["q"],
  additionalProperties: false,
};

function makeServer() {
  const server = new Server({ name: "vendor", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: "vendor_search", inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const number = calls++;
    const authorization = extra.requestInfo?.headers.authorization ?? null;
    const opened = sessions.get(extra.sessionId)?.authorization ?? null;
    log.push({ call: params, authorization, opened, session: extra.sessionId ?? null });
    const args = params.arguments ?? {};
    const odd = Object.keys(args).filter((key) => !(key in inputSchema.properties));
    if (params.name !== "vendor_search" || typeof args.q !== "string" || odd.length) {
      throw new McpError(-32602, `this is no call of mine: ${JSON.stringify(params)}`);
    }
    const cancelled = log.some((one) => one.cancelled);
    const text = JSON.stringify({ ...args, authorization, opened, session: extra.sessionId ?? null, number, cancelled });
    const content = [{ type: "text", text }];
    switch (args.q) {
      case "die":
        process.exit(3);
      case "slow":
        await new Promise((resolve) => setTimeout(resolve, 1500));
        return { content };
      case "never":
        await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
        log.push({ cancelled: true });
        return { content };
      case "fail":
        return { content: [{ type: "text", text: "the index is being rebuilt" }], isError: true };
      case "structured":
        return { content, structuredContent: { results: [{ id: "1" }], total: 1 } };
      case "blocks":
        return {
          content: [
            { type: "resource_link", uri: "https://example.org/1", name: "One" },
            { type: "audio", data: "AAAA", mimeType: "audio/wav" },
          ],
          _meta: { "vendor/spent": 3 },
        };
      case "nothing":
        return { content: [] };
      case "long":
        return { content: [{ type: "text", text: "x".repeat(3_000_000) }] };
      case "ping":
        await extra.sendRequest({ method: "ping" }, (await import("zod")).z.object({}).passthrough());
        return { content };
      default:
        await extra.sendNotification({ method: "notifications/message", params: { level: "info", data: "searching" } });
        return { content };
    }
  });
  return server;
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (pathname === "/log") {
    return response.end(JSON.stringify(log));
  }
  if (pathname === "/expire") {
    expiredStatus = Number(searchParams.get("status") ?? 404);
    sessions.clear();
    return response.end();
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
  const { authorization = null, "mcp-session-id": id, cookie = null } = request.headers;
  if (request.method === "DELETE" || body?.method !== "tools/call") {
    log.push({ method: body?.method ?? request.method, authorization, session: id ?? null, cookie });
  }
  if (authorization === "Bearer refused") {
    response.writeHead(401, { "www-authenticate": "Bearer", "content-type": "application/json" });
    return response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "who is this?" } }));
  }
  response.setHeader("set-cookie", `caller=${authorization}; Path=/`);
  let transport = sessions.get(id)?.transport;
  if (!transport && id !== undefined) {
    response.writeHead(expiredStatus, { "content-type": "application/json" });
    const error = { code: -32001, message: "Session not found" };
    return response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
  }
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: mode === "json",
      onsessioninitialized: (given) => sessions.set(given, { transport, authorization }),
      onsessionclosed: (given) => sessions.delete(given),
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response, body);
}

if (mode === "stdio") {
  await makeServer().connect(new StdioServerTransport());
} else {
  const http = createServer((request, response) => {
    answer(request, response).catch((problem) => {
      console.error(problem);
      response.destroy();
    });
  });
  http.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: http.address().port })));
}
