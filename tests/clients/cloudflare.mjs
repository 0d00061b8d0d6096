// A piece of Cloudflare on this machine, workerd's own D1 behind all of it:
//
//     node cloudflare.mjs TOKEN [worker.js]
//
// First it prints {"api": the base URL of an API that answers as D1's does, "worker": the address of that Worker}. Then
// it takes JSON lines, {"batch": ["CREATE TABLE …", …]} or {"sql": "SELECT …?1", "params": ["…"]}, and answers each by
// {"ok": true, "results": …, "meta": …} or {"ok": false, "error": …}. It ends with its input; nothing is kept.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";

const [token, exported] = process.argv.slice(2);

const harness = `
function envelope(status, success, errors, result) {
  return Response.json({ result, success, errors, messages: [] }, { status });
}
async function api(request, env) {
  const { pathname } = new URL(request.url);
  if (request.headers.get("Authorization") !== "Bearer " + env.TOKEN) {
    return envelope(401, false, [{ code: 10000, message: "Authentication error" }], null);
  }
  if (pathname !== "/client/v4/accounts/account/d1/database/catalogue/query" || request.method !== "POST") {
    return envelope(404, false, [{ code: 7404, message: "The database was not found" }], null);
  }
  const { batch, sql, params } = await request.json();
  try {
    const given = (batch ?? [{ sql, params }]).map((one) => env.DB.prepare(one.sql).bind(...(one.params ?? [])));
    const result = (await env.DB.batch(given)).map(({ results, meta }) => ({ success: true, results, meta }));
    return envelope(200, true, [], result);
  } catch (problem) {
    const message = String(problem.message ?? problem).replace(/^D1_ERROR: /, "");
    return envelope(400, false, [{ code: 7500, message }], []);
  }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname.startsWith("/client/v4/")) {
      return api(request, env);
    }
    const { sql, params, batch } = await request.json();
    try {
      if (batch) {
        await env.DB.batch(batch.map((one) => env.DB.prepare(one)));
        return Response.json({ ok: true });
      }
      const { results, meta } = await env.DB.prepare(sql).bind(...(params ?? [])).all();
      return Response.json({ ok: true, results, meta });
    } catch (problem) {
      return Response.json({ ok: false, error: String(problem.message ?? problem) });
    }
  },
};`;

const shared = { modules: true, d1Databases: { DB: "catalogue" }, compatibilityDate: "2026-04-01" };
const direct = { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] };
const workers = [{ ...shared, ...direct, name: "harness", script: harness, bindings: { TOKEN: token } }];
if (exported) {
  workers.push({ ...shared, ...direct, name: "exported", script: readFileSync(exported, "utf8") });
}
const miniflare = new Miniflare({ workers });
try {
  await miniflare.ready;
  const api = new URL("/client/v4", await miniflare.unsafeGetDirectURL("harness"));
  const worker = exported ? await miniflare.unsafeGetDirectURL("exported") : null;
  process.stdout.write(JSON.stringify({ api, worker }) + "\n");
  for await (const body of createInterface({ input: process.stdin })) {
    const answer = await miniflare.dispatchFetch("http://harness/", { method: "POST", body });
    process.stdout.write((await answer.text()) + "\n");
  }
} finally {
  await miniflare.dispose();
}
