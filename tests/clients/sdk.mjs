// The clients of @modelcontextprotocol/sdk 1.x and of @modelcontextprotocol/client 2.x, over a stdio child or HTTP:
//
//     node sdk.mjs 1 '[{"name": "search", "arguments": {"query": "labor"}}, …]' COMMAND ARGUMENT…
//     node sdk.mjs 2-auto '[…]' http://127.0.0.1:8787/mcp
//
// Prints {server, version, instructions, tools, results, strays} as JSON. "2" shakes hands, "2-auto" speaks the
// newest version that both know. The client checks each result against the output schema that was listed, and throws
// if it does not satisfy it.

const [kind, calls, target, ...args] = process.argv.slice(2);
const about = { name: "catalog-search-tests", version: "1" };
const from = async (one, two) => import(kind === "1" ? one : two);

const { Client } = await from("@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/client");
const options = kind === "2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client(about, options);
const strays = [];
client.onerror = (error) => strays.push(String(error));
if (target.startsWith("http:")) {
  const { StreamableHTTPClientTransport } = await from(
    "@modelcontextprotocol/sdk/client/streamableHttp.js",
    "@modelcontextprotocol/client",
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(target)));
} else {
  const { StdioClientTransport } = await from(
    "@modelcontextprotocol/sdk/client/stdio.js",
    "@modelcontextprotocol/client/stdio",
  );
  await client.connect(new StdioClientTransport({ command: target, args }));
}
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) {
  results.push(await client.callTool(call));
}
const server = client.getServerVersion();
const instructions = client.getInstructions();
const version = client.getNegotiatedProtocolVersion?.();
await client.close();
console.log(JSON.stringify({ server, version, instructions, tools, results, strays }));
