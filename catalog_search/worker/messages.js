// JSON-RPC messages ---------------------------------------------------------------------------------------------

const HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN = "2026-07-28";
const META = "io.modelcontextprotocol";
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;
// Milliseconds for which a client may keep the list of tools.
const LISTED_FOR = 300_000;
const LONGEST_BATCH = 20;

const NOTHING = { status: 202, text: null };

// Answer a message, or a list of them as 2025-03-26 had it: {status, text}; text is null if nothing is owed.
async function exchange(message, headers, env) {
  if (!Array.isArray(message)) {
    return one(repaired(message), headers, env);
  }
  if (message.length === 0) {
    return refusal(null, INVALID_REQUEST, "The list of messages is empty.");
  }
  if (message.length > LONGEST_BATCH) {
    return refusal(null, INVALID_REQUEST, `A list holds at most ${LONGEST_BATCH} messages.`);
  }
  const answers = [];
  for (const each of message) {
    const { text } = await one(repaired(each), headers, env);
    if (text !== null) {
      answers.push(text);
    }
  }
  return answers.length ? { status: 200, text: `[${answers.join(",")}]` } : NOTHING;
}

async function one(message, headers, env) {
  if (!isObject(message)) {
    return refusal(null, INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message, which is an object.");
  }
  if (!("method" in message) && ("result" in message || "error" in message)) {
    return NOTHING;
  }
  if (!("id" in message) && typeof message.method === "string") {
    return NOTHING;
  }
  const { id, method } = message;
  if (typeof id !== "string" && !Number.isInteger(id)) {
    return refusal(null, INVALID_REQUEST, "The id of a request is a text or a whole number.");
  }
  if (typeof method !== "string" || !isObject(message.params ?? {})) {
    return refusal(id, INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.");
  }
  const named = headers.get("MCP-Protocol-Version");
  const params = message.params ?? {};
  return named === null || HANDSHAKES.includes(named)
    ? withHandshake(id, method, params, env)
    : modern(id, method, params, headers, env);
}

// A message with what is missing from its form: a version, or the names of a call's parameters.
function repaired(message) {
  if (!isObject(message) || message.method !== "tools/call" || !("id" in message)) {
    return message;
  }
  let { params } = message;
  if (typeof params === "string" && /^\s*[{[]/.test(params)) {
    const inner = parsed(params);
    if (inner === undefined) {
      return { ...message, params: { arguments: { params } } };
    }
    params = isObject(inner) ? { ...inner, arguments: { params: inner.arguments ?? null } } : inner;
  }
  if (Array.isArray(params)) {
    params = { name: params[0] ?? null, arguments: { params: params[1] ?? null } };
  }
  return { ...message, params: isObject(params) ? params : { name: params ?? null } };
}

// The versions with a handshake, of which nothing is kept: each request is answered by itself.
async function withHandshake(id, method, params, env) {
  switch (method) {
    case "initialize": {
      const wanted = params.protocolVersion;
      if (typeof wanted !== "string") {
        return { ...refusal(id, INVALID_PARAMS, "Invalid request parameters"), status: 200 };
      }
      return success(id, JSON.stringify({
        protocolVersion: HANDSHAKES.includes(wanted) ? wanted : HANDSHAKES.at(-1),
        capabilities: ABOUT.capabilities,
        serverInfo: ABOUT.serverInfo,
        instructions: ABOUT.instructions,
      }));
    }
    case "ping":
      return success(id, "{}");
    case "tools/list":
      if (!["string", "undefined"].includes(typeof params.cursor)) {
        return { ...refusal(id, INVALID_PARAMS, "Invalid request parameters"), status: 200 };
      }
      return success(id, JSON.stringify({ tools: ABOUT.tools }));
    case "tools/call":
      return success(id, `{${await called(params, env)}}`);
    default:
      return { ...refusal(id, METHOD_NOT_FOUND, "Method not found", method), status: 200 };
  }
}

// The version without a handshake: a request says in its headers and in _meta what it is.
async function modern(id, method, params, headers, env) {
  const meta = isObject(params._meta) ? params._meta : {};
  const missing = ["protocolVersion", "clientCapabilities"].map((key) => `${META}/${key}`).filter((key) => !(key in meta));
  if (missing.length) {
    return refusal(id, INVALID_PARAMS, `params._meta lacks ${missing.join(" and ")}.`);
  }
  const version = meta[`${META}/protocolVersion`];
  const wanted = [["MCP-Protocol-Version", version], ["Mcp-Method", method]];
  if (method === "tools/call" && params.name !== undefined && params.name !== null) {
    wanted.push(["Mcp-Name", params.name]);
  }
  for (const [header, value] of wanted) {
    if (decodedHeader(headers.get(header)) !== value) {
      return refusal(id, HEADER_MISMATCH, `The header ${header} does not say what the body says.`);
    }
  }
  if (version !== MODERN) {
    return refusal(id, UNSUPPORTED_VERSION, "Unsupported protocol version", { supported: [MODERN], requested: version });
  }
  const about = JSON.stringify({ [`${META}/serverInfo`]: ABOUT.serverInfo });
  const complete = (members) => success(id, `{${members},"resultType":"complete","_meta":${about}}`);
  const listed = { ttlMs: LISTED_FOR, cacheScope: "public" };
  switch (method) {
    case "server/discover": {
      const { capabilities, instructions } = ABOUT;
      return complete(inside({ supportedVersions: [MODERN], capabilities, instructions, ...listed }));
    }
    case "tools/list":
      return complete(inside({ tools: ABOUT.tools, ...listed }));
    case "tools/call":
      return complete(await called(params, env));
    default:
      return refusal(id, METHOD_NOT_FOUND, "Method not found", method);
  }
}

// Results are JSON text already: an object of JavaScript would move members whose names are numbers to the front.
function success(id, result) {
  return { status: 200, text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}` };
}

function refusal(id, code, message, data) {
  return { status: code === METHOD_NOT_FOUND ? 404 : 400, text: failure(id, code, message, data) };
}

function failure(id, code, message, data) {
  const error = data === undefined ? { code, message } : { code, message, data };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function inside(value) {
  return JSON.stringify(value).slice(1, -1);
}

// The value of JSON text, undefined if it is none or has a number beyond all bounds. Halves of characters, which no text
// can hold, become U+FFFD.
function parsed(text) {
  try {
    return JSON.parse(text, (_, value) => {
      if (value === Infinity || value === -Infinity) {
        throw new RangeError();
      }
      return typeof value === "string" ? value.toWellFormed() : value;
    });
  } catch {
    return undefined;
  }
}

// A header's value; what is not ASCII comes as =?base64?…?=.
function decodedHeader(value) {
  const found = /^=\?base64\?(.*)\?=$/i.exec(value ?? "");
  if (!found) {
    return value;
  }
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(found[1]), (sign) => sign.charCodeAt(0)));
  } catch {
    return null;
  }
}
