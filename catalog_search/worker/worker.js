// A catalogue as an MCP server: search and fetch over Streamable HTTP, from Cloudflare D1.
//
//     POST /mcp       JSON-RPC 2.0; every answer is one JSON object, there are no sessions and no streams
//     GET  /healthz   {"ok": true, "version": "…"}
//
// The search is the database's: its statement `ask`, and those beside it, with one parameter each. What is here reads
// a call, runs statements and writes the answer; the sentences are the database's too, in the catalogue's language.

const ABOUT = null;

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
// Milliseconds for which the sentences and statements of the database are kept.
const KNOWN_FOR = 60_000;
const LONGEST_BODY = 1_000_000;
const MOST_MESSAGES = 20;
const MAX_CHARACTERS = 1_000;
const MAX_WORDS = 64;
const LONGEST_ID = 100;
const LONGEST_SHOWN = 60;
const NAMED = 8;
const PAGE = 10;

export default {
  async fetch(request, env) {
    const { pathname, host } = new URL(request.url);
    const origin = request.headers.get("Origin");
    if (origin !== null && hostOf(origin) !== host) {
      return said(403, "This server is not for pages of other origins.");
    }
    if (pathname === "/healthz") {
      return health(env);
    }
    if (pathname !== "/mcp") {
      return said(404, "There is nothing here; MCP is spoken at /mcp.");
    }
    if (request.method !== "POST") {
      return said(405, "MCP is spoken by POST here.", { Allow: "POST" });
    }
    const accepted = request.headers.get("Accept") ?? "*/*";
    if (!/application\/(json|\*)|\*\/\*/i.test(accepted)) {
      return said(406, "The answer is application/json.");
    }
    if (!/^application\/json\b/i.test(request.headers.get("Content-Type") ?? "")) {
      return said(415, "The body must be application/json.");
    }
    const body = await bodyOf(request);
    if (body === null) {
      return said(413, `The body is longer than ${LONGEST_BODY} bytes.`);
    }
    let message;
    try {
      message = JSON.parse(body);
    } catch {
      return reply(400, failure(null, PARSE_ERROR, "The body is not JSON."));
    }
    const version = request.headers.get("MCP-Protocol-Version");
    if (version === null || HANDSHAKES.includes(version)) {
      return withHandshake(message, env);
    }
    return modern(message, request.headers, env);
  },
};

// HTTP ----------------------------------------------------------------------------------------------------------

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

// JSON-RPC ------------------------------------------------------------------------------------------------------

// Results are JSON text already: an object of JavaScript would move members whose names are numbers to the front.
function success(id, result) {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

function failure(id, code, message, data) {
  const error = data === undefined ? { code, message } : { code, message, data };
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRequest(message) {
  return isObject(message) && message.jsonrpc === "2.0" && typeof message.method === "string" &&
    (typeof message.id === "string" || Number.isInteger(message.id)) &&
    (message.params === undefined || isObject(message.params));
}

// A notification, or an answer to a question that nobody asked: neither is answered.
function isUnanswered(message) {
  return isObject(message) && message.jsonrpc === "2.0" &&
    (("method" in message && !("id" in message)) || "result" in message || "error" in message);
}

function refused(message) {
  const id = isObject(message) && ["string", "number"].includes(typeof message.id) ? message.id : null;
  return failure(id, INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.");
}

// The versions with a handshake, of which nothing is kept: each request is answered by itself.
async function withHandshake(message, env) {
  if (!Array.isArray(message)) {
    if (isUnanswered(message)) {
      return new Response(null, { status: 202 });
    }
    return isRequest(message) ? reply(200, await answered(message, env)) : reply(400, refused(message));
  }
  // Several at once, as 2025-03-26 had it.
  if (message.length === 0 || message.length > MOST_MESSAGES) {
    return reply(400, failure(null, INVALID_REQUEST, `A batch holds 1 to ${MOST_MESSAGES} messages.`));
  }
  const answers = [];
  for (const one of message.filter((one) => !isUnanswered(one))) {
    answers.push(isRequest(one) ? await answered(one, env) : refused(one));
  }
  return answers.length ? reply(200, `[${answers.join(",")}]`) : new Response(null, { status: 202 });
}

async function answered({ id, method, params = {} }, env) {
  switch (method) {
    case "initialize": {
      const wanted = params.protocolVersion;
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
      return success(id, JSON.stringify({ tools: ABOUT.tools }));
    case "tools/call":
      return success(id, `{${await called(params, env)}}`);
    default:
      return failure(id, METHOD_NOT_FOUND, "Method not found", method);
  }
}

// The version without a handshake: a request says in its headers and in _meta what it is.
async function modern(message, headers, env) {
  if (isUnanswered(message)) {
    return new Response(null, { status: 202 });
  }
  if (!isRequest(message)) {
    return reply(400, refused(message));
  }
  const { id, method, params = {} } = message;
  const meta = isObject(params._meta) ? params._meta : {};
  const missing = ["protocolVersion", "clientCapabilities"].map((key) => `${META}/${key}`).filter((key) => !(key in meta));
  if (missing.length) {
    return reply(400, failure(id, INVALID_PARAMS, `params._meta lacks ${missing.join(" and ")}.`));
  }
  const version = meta[`${META}/protocolVersion`];
  const wanted = [["MCP-Protocol-Version", version], ["Mcp-Method", method]];
  if (method === "tools/call" && typeof params.name === "string") {
    wanted.push(["Mcp-Name", params.name]);
  }
  for (const [header, value] of wanted) {
    if (decoded(headers.get(header)) !== value) {
      return reply(400, failure(id, HEADER_MISMATCH, `The header ${header} does not say what the body says.`));
    }
  }
  if (version !== MODERN) {
    const data = { supported: [MODERN], requested: version };
    return reply(400, failure(id, UNSUPPORTED_VERSION, "Unsupported protocol version", data));
  }
  const about = JSON.stringify({ [`${META}/serverInfo`]: ABOUT.serverInfo });
  const complete = (members) => reply(200, success(id, `{${members},"resultType":"complete","_meta":${about}}`));
  switch (method) {
    case "server/discover":
      return complete(inside({
        supportedVersions: [MODERN],
        capabilities: ABOUT.capabilities,
        instructions: ABOUT.instructions,
        ttlMs: LISTED_FOR,
        cacheScope: "public",
      }));
    case "tools/list":
      return complete(inside({ tools: ABOUT.tools, ttlMs: LISTED_FOR, cacheScope: "public" }));
    case "tools/call":
      return complete(await called(params, env));
    default:
      return reply(404, failure(id, METHOD_NOT_FOUND, "Method not found", method));
  }
}

function inside(value) {
  return JSON.stringify(value).slice(1, -1);
}

// A header's value; what is not ASCII comes as =?base64?…?=.
function decoded(value) {
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

// Calls ---------------------------------------------------------------------------------------------------------

// A call that cannot be answered; its message says what to do.
class Refused extends Error {}

// The members of a result, as JSON text: the object, and the same as text in one block.
async function called({ name, arguments: given }, env) {
  try {
    let found;
    if (name === "search") {
      const { value, ignored } = argument("query", given);
      found = await search(env, value, ignored);
    } else if (name === "fetch") {
      const { value, ignored } = argument("id", given);
      found = await fetched(env, value, ignored);
    } else {
      throw new Refused("There is no tool of that name. The tools are search and fetch.");
    }
    return `"content":[{"type":"text","text":${JSON.stringify(found)}}],"structuredContent":${found},"isError":false`;
  } catch (problem) {
    const text = problem instanceof Refused ? problem.message : failed(problem);
    return inside({ content: [{ type: "text", text }], isError: true });
  }
}

// What to say of a fault that is not the caller's; the log has the rest.
function failed(problem) {
  if (problem instanceof Unfit) {
    return problem.message;
  }
  console.error(String(problem?.stack ?? problem));
  return "The catalogue's database failed, so nothing was looked up. The Worker's log says why.";
}

// The one argument of a tool, and the notes on what else was given.
function argument(key, given) {
  const values = isObject(given) ? given : {};
  const value = Object.hasOwn(values, key) ? values[key] : undefined;
  if (typeof value !== "string" && !Number.isSafeInteger(value)) {
    throw new Refused(`The call needs the argument "${key}", a text: {"${key}": "…"}.`);
  }
  const others = Object.keys(values).filter((one) => one !== key).sort(byCodePoint);
  const listed = [...others.join(", ")].slice(0, 200).join("");
  return { value: String(value), ignored: others.length ? [`Ignored: ${listed}; the only argument is "${key}".`] : [] };
}

function byCodePoint(one, other) {
  const [first, second] = [[...one], [...other]];
  for (let place = 0; place < Math.min(first.length, second.length); place++) {
    const difference = first[place].codePointAt(0) - second[place].codePointAt(0);
    if (difference) {
      return difference;
    }
  }
  return first.length - second.length;
}

// The database --------------------------------------------------------------------------------------------------

// A database that this Worker cannot use.
class Unfit extends Error {}

let kept = { at: -Infinity, from: null, value: null };

// What the database says of itself: the catalogue, its statements and its sentences.
async function known(env, within = KNOWN_FOR) {
  const now = Date.now();
  if (kept.from === env.DB && now - kept.at < within) {
    return kept.value;
  }
  let rows;
  try {
    rows = await all(env, [
      ["SELECT key, value FROM catalog"],
      ["SELECT name, sql FROM statements"],
      ["SELECT key, sentence FROM messages"],
      ["SELECT word, spelled FROM spellings"],
      ["SELECT kind, form FROM rules WHERE kind IN ('elision', 'possessive') ORDER BY position"],
    ]);
  } catch (problem) {
    if (/no such (table|column)/.test(String(problem))) {
      console.error(String(problem));
      throw new Unfit("The database holds no catalogue yet, so nothing was looked up. Load seed.sql into it.");
    }
    throw problem;
  }
  const [catalog, statements, sentences, spellings] = rows.slice(0, 4).map((ones) => new Map(ones.map((one) => Object.values(one))));
  if (catalog.get("format_version") !== ABOUT.formatVersion) {
    throw new Unfit("The database has another format version than this Worker, so nothing was looked up. Export both.");
  }
  const say = (key, values = {}) =>
    sentences.get(key).replace(/\{(\w+)\}/g, (found, name) => (Object.hasOwn(values, name) ? String(values[name]) : found));
  const value = { catalog, sql: (name) => statements.get(name), say, spellings, rules: rows[4] };
  kept = { at: now, from: env.DB, value };
  return value;
}

// The rows of several statements, in one call, from the nearest copy of the database.
async function all(env, statements) {
  const session = env.DB.withSession("first-unconstrained");
  const prepared = statements.map(([sql, ...parameters]) => session.prepare(sql).bind(...parameters));
  return (await session.batch(prepared)).map((one) => one.results);
}

// search --------------------------------------------------------------------------------------------------------

// What search answers, as JSON text.
async function search(env, asked, ignored) {
  const { catalog, sql, say, ...language } = await known(env);
  const { raw, cuts } = cut(asked);
  const notes = cuts.map((key) => say(key, { limit: MAX_CHARACTERS }));
  if (stripped(raw) === "") {
    return JSON.stringify({ results: [], notes: [...notes, say("empty_query"), ...ignored] });
  }
  const statements = [
    [sql("ask"), raw],
    [sql("ask_terms"), raw],
    [sql("folding_by_key"), JSON.stringify(foldingKeys(raw))],
  ];
  if (raw.length > MAX_WORDS) {
    statements.push([sql("ask_words"), raw]);
  }
  const [rows, [{ terms: listed }], folds, counted] = await all(env, statements);
  if (counted && counted[0].words > MAX_WORDS) {
    notes.push(say("cut_words", { limit: MAX_WORDS }));
  }
  const terms = unique(JSON.parse(listed));
  const folding = new Map(folds.map(({ key, signs }) => [key, signs]));
  const unknown = unknownLetters(raw, terms, folding);
  const typed = typing(raw, folding, unknown, language);
  for (const { asked, sources } of terms) {
    const written = [...new Set(sources.filter(([pattern]) => pattern !== asked).map(([, source]) => source))];
    if (written.length) {
      const source = listing(written, say("list_or"));
      notes.push(say("translated", { asked: typed(asked), source, source_name: catalog.get("source_name") }));
    }
  }
  if (unknown.length) {
    notes.push(say("unknown_characters", { characters: unknown.join(" ") }));
  }
  const relaxed = rows.length > 0 && rows[0].relaxed === 1;
  if (rows.length === 0 && terms.length === 0) {
    notes.push(say("no_words"));
  } else if (rows.length === 0 || relaxed) {
    const matches = JSON.stringify(terms.map(({ fts }) => fts[2]));
    const [held] = await all(env, [[sql("terms_held"), matches, JSON.stringify(rows.map(({ id }) => id))]]);
    const lacking = (id) =>
      terms.filter((_, place) => !held.some((one) => one.term === place && one.id === id)).map(({ asked }) => typed(asked));
    if (relaxed) {
      const dropped = lacking(rows[0].id);
      notes.push(dropped.length ? say("relaxed", { dropped: named(dropped, say) }) : say("relaxed_all"));
    } else {
      notes.push(say("no_match", { question: shortened(stripped(raw)) }));
    }
    const nowhere = lacking("");
    if (nowhere.length) {
      notes.push(say("unknown_words", { words: named(nowhere, say) }));
    }
  }
  const found = { results: rows.slice(0, PAGE).map(({ id, title, url }) => ({ id, title, url })) };
  if (relaxed) {
    found.relaxed = true;
  }
  if (notes.length + ignored.length) {
    found.notes = [...notes, ...ignored];
  }
  return JSON.stringify(found);
}

// A question to its first NUL and after so many characters, halves of code points as spaces; and what was cut.
function cut(question) {
  const cuts = [];
  let raw = question;
  if (raw.includes("\0")) {
    raw = raw.slice(0, raw.indexOf("\0"));
    cuts.push("cut_nul");
  }
  if (raw.length > MAX_CHARACTERS) {
    const characters = [...raw.slice(0, 2 * MAX_CHARACTERS + 2)];
    if (characters.length > MAX_CHARACTERS) {
      raw = characters.slice(0, MAX_CHARACTERS).join("");
      cuts.push("cut_characters");
    }
  }
  return { raw: raw.replace(/\p{Surrogate}/gu, " "), cuts };
}

// Terms that are met in the same way are one.
function unique(terms) {
  const seen = new Set();
  return terms.filter(({ fts }) => !seen.has(fts[2]) && seen.add(fts[2]));
}

// The keys of the folding table that a question needs: its code points that are not ASCII, alone and as seconds.
function foldingKeys(raw) {
  const keys = new Set();
  let before = "";
  for (const sign of raw) {
    if (sign > "\x7f") {
      keys.add(sign).add(before + sign);
    }
    before = sign;
  }
  return [...keys];
}

// Letters that no document has: each was searched as a word that stands for it.
function unknownLetters(raw, terms, folding) {
  const words = new Set(terms.flatMap(({ asked }) => asked.split(" ")));
  return [...new Set(raw)].filter((one) => words.has(standIn(one)) && !folding.has(one)).sort(byCodePoint);
}

function standIn(letter) {
  return `u${letter.codePointAt(0).toString(16)}`;
}

// Returns what gives a term, which is a normal form, as it was typed.
function typing(raw, folding, unknown, { spellings, rules }) {
  const words = raw.split(BLANKS).filter(Boolean).flatMap((chunk) => {
    const marked = markedWords(chunk, folding, unknown, spellings);
    const bare = marked.length === 1 ? chunk.replace(QUOTED, "") : "";
    return marked.map((word) => ({ asked: bare || plain(word), plain: plain(withoutEnds(word, rules)) }));
  });
  const asTyped = (term) => {
    for (let first = 0; first < words.length; first++) {
      let found = "";
      for (let last = first; last < words.length && found.length < term.length; last++) {
        found = `${found} ${words[last].plain}`.trim();
        if (found === term) {
          return words.slice(first, last + 1).map(({ asked }) => asked).join(" ");
        }
      }
    }
    return term;
  };
  return (term) => unknown.reduce((text, letter) => text.replaceAll(standIn(letter), letter), asTyped(term));
}

// The words of a chunk in marked form, as the statement `ask` makes them.
function markedWords(chunk, folding, unknown, spellings) {
  const signs = [...chunk];
  let folded = "";
  for (let place = 0; place < signs.length; place++) {
    const sign = signs[place];
    const pair = folding.get(sign + signs[place + 1]);
    if (pair !== undefined) {
      folded += pair;
      place++;
    } else if (sign > "\x7f") {
      folded += folding.get(sign) ?? (unknown.includes(sign) ? ` ${standIn(sign)} ` : " ");
    } else {
      folded += /[a-z0-9.+#]/i.test(sign) ? sign.toLowerCase() : /[-'_&]/.test(sign) ? "-" : " ";
    }
  }
  return folded.split(" ").flatMap((word) => {
    const bare = word.replace(/(?<![a-z0-9])\^+/g, "").replace(/^-+|[-.]+$/g, "");
    const spelled = spellings.get(bare);
    const parts = spelled === undefined ? bare.replace(/[+#]/g, " ").replaceAll(".", "-").split(" ") : [spelled];
    return parts.map((part) => part.replace(/-{2,}/g, "-").replace(/^-|-$/g, "")).filter(Boolean);
  });
}

// A marked word without elision and possessive.
function withoutEnds(word, rules) {
  const elision = rules.find(({ kind, form }) => kind === "elision" && word.startsWith(form) &&
    /^[aeiouyh][^-]/.test(word.slice(form.length)));
  const bare = elision ? word.slice(elision.form.length) : word;
  const possessive = rules.find(({ kind, form }) => kind === "possessive" && bare.endsWith(form) &&
    bare.length - form.length > 1 && bare.at(-form.length - 2) !== "-");
  return possessive ? bare.slice(0, -possessive.form.length) : bare;
}

function plain(marked) {
  return marked.replaceAll("-", " ").replaceAll("^", "");
}

function listing(words, conjunction) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}` : words.join("");
}

function named(words, say) {
  const names = words.slice(0, NAMED).map((word) => `“${shortened(word)}”`);
  return listing(words.length > NAMED ? [...names, "…"] : names, say("list_and"));
}

function shortened(text) {
  const signs = [...text];
  return signs.length <= LONGEST_SHOWN ? text : `${signs.slice(0, LONGEST_SHOWN - 1).join("")}…`;
}

// fetch ---------------------------------------------------------------------------------------------------------

const PROVENANCE = ["publisher", "licence", "source_url", "revision", "retrieved_at"];

// What fetch answers, as JSON text.
async function fetched(env, asked, ignored) {
  const { catalog, sql, say } = await known(env);
  const id = asked.toWellFormed();
  const [[row]] = await all(env, [[sql("document_by_id"), id]]);
  if (!row) {
    throw new Refused(await notFound(env, id, sql, say));
  }
  const provenance = new Map([["catalog", catalog.get("title")]]);
  for (const name of PROVENANCE.filter((name) => catalog.get(name))) {
    provenance.set(name, catalog.get(name));
  }
  const keywords = membersOf(row.keywords).map(([, word]) => JSON.parse(word));
  const fields = membersOf(row.metadata);
  const metadata = new Map(keywords.length ? [["keywords", keywords.join("; ")]] : []);
  for (const name of ["path", "heading", "first_line", "last_line"]) {
    if (row[name] !== null) {
      metadata.set(name, String(row[name]));
    }
  }
  for (const [name, value] of fields) {
    if (value === "null") {
      metadata.delete(name);
    } else {
      metadata.set(name, plainly(value));
    }
  }
  for (const [name, value] of provenance) {
    metadata.set(name, value);
  }
  const members = [
    ["id", JSON.stringify(row.id)],
    ["title", JSON.stringify(row.title)],
    ["text", JSON.stringify(markdown(row, keywords, fields, provenance, say))],
    ["url", JSON.stringify(row.url)],
    ["metadata", `{${[...metadata].map((pair) => pair.map((one) => JSON.stringify(one)).join(":")).join(",")}}`],
    ...(ignored.length ? [["notes", JSON.stringify(ignored)]] : []),
  ];
  return `{${members.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

async function notFound(env, id, sql, say) {
  const [[{ plain }]] = await all(env, [[sql("ask_terms"), id]]);
  const [near] = await all(env, [[sql("nearest_ids"), id, plain]]);
  const signs = [...id];
  const shown = signs.length <= LONGEST_ID ? id : `${signs.slice(0, LONGEST_ID).join("")}…`;
  const found = near.map((one) => one.id).join(", ");
  return say("not_found", { id: shown }) + (found ? ` ${say("nearest_ids", { ids: found })}` : "");
}

// A document to be read: title, fields, text, source and url. What the catalogue says cannot end the Markdown around
// it: single lines are escaped, and the text stands in a fence longer than any in it.
function markdown(row, keywords, fields, provenance, say) {
  const lines = [`# ${escaped(row.title)}`, "", `- ${say("label_id")}: ${code(row.id)}`];
  if (keywords.length) {
    lines.push(`- ${say("label_keywords")}: ${escaped(keywords.join("; "))}`);
  }
  for (const [name, value] of fields) {
    lines.push(`- ${escaped(name)}: ${escaped(plainly(value))}`);
  }
  if (stripped(row.text) !== "") {
    const text = row.text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replace(CONTROLS, " ");
    const longest = Math.max(2, ...Array.from(row.text.matchAll(/`{3,}/g), ([run]) => run.length));
    const fence = "`".repeat(longest + 1);
    lines.push("", `${fence}text`, text.replace(/\n+$/, ""), fence, "");
  }
  const get = (name) => provenance.get(name) ?? "";
  const source = [get("catalog"), get("source_url")].filter(Boolean).join(" ");
  for (const [label, value] of [
    ["source", source],
    ["publisher", get("publisher")],
    ["licence", get("licence")],
    ["revision", get("revision")],
    ["retrieved", get("retrieved_at")],
    ["url", row.url],
  ]) {
    if (value) {
      lines.push(`- ${say(`label_${label}`)}: ${escaped(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const BLANKS = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const ENDS = new RegExp(`^${BLANKS.source}|${BLANKS.source}$`, "g");
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const SPECIAL = /([\\`*_[\]<>#|~&])/g;
const QUOTED = /^["'“”‘’«»()[\]{}.,;:!?¿¡…]+|["'“”‘’«»()[\]{}.,;:!?¿¡…]+$/g;

function stripped(text) {
  return text.replace(ENDS, "");
}

function oneLine(text) {
  return text.replace(CONTROLS, " ").split(BLANKS).filter(Boolean).join(" ");
}

function escaped(text) {
  const line = oneLine(text);
  return /^https?:\/\/[^ <>]+$/.test(line) ? `<${line}>` : line.replace(SPECIAL, "\\$1");
}

function code(text) {
  const line = oneLine(text);
  const fence = "`".repeat(1 + Math.max(0, ...Array.from(line.matchAll(/`+/g), ([run]) => run.length)));
  return fence.length > 1 ? `${fence} ${line} ${fence}` : `\`${line}\``;
}

// JSON text, read piece by piece: an object of JavaScript keeps neither the order of its members nor long numbers.
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

// The members of an object as [name, JSON text], those of a list as [undefined, JSON text].
function membersOf(json) {
  const tokens = json.match(TOKENS) ?? [];
  const members = [];
  let depth = 0;
  let start = 1;
  let name;
  tokens.forEach((token, place) => {
    if (depth === 1 && token === ":") {
      name = JSON.parse(tokens[place - 1]);
      start = place + 1;
    }
    depth += token === "{" || token === "[" ? 1 : token === "}" || token === "]" ? -1 : 0;
    if ((depth === 1 && token === ",") || depth === 0) {
      if (place > start) {
        members.push([name, tokens.slice(start, place).join("")]);
      }
      start = place + 1;
    }
  });
  return members;
}

// A value on one line: text as it is, a list of texts joined by semicolons, anything nested as JSON.
function plainly(json) {
  if (json.startsWith('"')) {
    return JSON.parse(json);
  }
  if (json.startsWith("[")) {
    const items = membersOf(json).map(([, item]) => item);
    if (items.every((item) => item.startsWith('"'))) {
      return items.map((item) => JSON.parse(item)).join("; ");
    }
  }
  const spaced = (token) => (token === "," || token === ":" ? `${token} ` : token);
  return json.match(TOKENS).map((token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : spaced(token))).join("");
}
