// The client of @modelcontextprotocol/sdk 1.x over a stdio child, or over HTTP:
//
//     node sdk.mjs '[{"name": "search", "arguments": {"query": "labor"}}, …]' COMMAND ARGUMENT…
//     node sdk.mjs '[…]' http://127.0.0.1:8787/mcp
//
// Prints {server, instructions, tools, results} as JSON. The client checks each result against the output schema
// that was listed, and throws if it does not satisfy it.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "catalog-search-tests", version: "1" });
const strays = [];
client.onerror = (error) => strays.push(String(error));
const transport = /^https?:/.test(command)
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of JSON.parse(calls)) {
  results.push(await client.callTool(call));
}
const server = client.getServerVersion();
const instructions = client.getInstructions();
await client.close();
console.log(JSON.stringify({ server, instructions, tools, results, strays }));
