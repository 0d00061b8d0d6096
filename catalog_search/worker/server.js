// A catalogue as an MCP server: search and fetch over Streamable HTTP, from Cloudflare D1.
//
//     POST /mcp       JSON-RPC 2.0; every answer is one JSON object, there are no sessions and no streams
//     GET  /healthz   {"ok": true, "version": "…"}
//
// The search is the database's: its statement `ask`, and those beside it, with one parameter each. What is here reads
// a call, runs statements and writes the answer; the sentences are the database's too, in the catalogue's language.

const ABOUT = null;

const LONGEST_BODY = 1_000_000;

export default {
  async fetch(request, env) {
    const { pathname, host } = new URL(request.url);
    const origin = request.headers.get("Origin");
    if (origin !== null && hostOf(origin) !== host) {
      return said(403, "This server is not for pages of other origins.");
    }
    if (pathname === "/healthz") {
      return request.method === "GET" ? health(env) : said(405, "It is read by GET.", { Allow: "GET" });
    }
    if (pathname !== "/mcp") {
      return said(404, "There is nothing here; MCP is spoken at /mcp.");
    }
    if (request.method !== "POST") {
      return said(405, "MCP is spoken by POST here.", { Allow: "POST" });
    }
    const body = await bodyOf(request);
    if (body === null) {
      return said(413, `The body is longer than ${LONGEST_BODY} bytes.`);
    }
    const message = parsed(body);
    if (message === undefined) {
      return reply(400, failure(null, PARSE_ERROR, "The body is not JSON."));
    }
    const { status, text } = await exchange(message, request.headers, env);
    return text === null ? new Response(null, { status }) : reply(status, text);
  },
};

function said(status, text, headers = {}) {
  return new Response(`${text}\n`, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } });
}

function reply(status, text) {
  return new Response(text, { status, headers: { "Content-Type": "application/json" } });
}

function hostOf(origin) {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

// The body as text, null if it is too long.
async function bodyOf(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.byteLength;
    if (size > LONGEST_BODY) {
      return null;
    }
    pieces.push(piece);
  }
  return new TextDecoder().decode(await new Blob(pieces).arrayBuffer());
}

async function health(env) {
  const version = ABOUT.serverInfo.version;
  try {
    await known(env, 0);
    return reply(200, JSON.stringify({ ok: true, version }));
  } catch (problem) {
    return reply(503, JSON.stringify({ ok: false, version, error: failed(problem) }));
  }
}
