// A local Cloudflare D1, workerd's own, over JSON lines on stdin and stdout:
//
//     node d1.mjs
//     {"sql": "SELECT ?1", "params": ["a"]}   →   {"ok": true, "results": [{"?1": "a"}], "meta": {"rows_read": …}}
//     {"sql": "SELECT ?1", "each": [["a"], ["b"]]}   →   {"ok": true, "each": [{"results": …, "meta": …}, …]}
//     {"batch": ["CREATE TABLE …", "INSERT …"]}   →   {"ok": true, "rows_written": …}     (one transaction)
//
// A statement that D1 refuses gives {"ok": false, "error": its message}. Nothing is kept when it ends.
//
//     node d1.mjs TOKEN [worker.js]
//
// also serves, on loopback, an API that answers as Cloudflare's does, for the account `account` and its database
// `catalogue`, and that Worker, both over the same D1. The first line it prints says where:
//     {"api": the base URL, "worker": the address}

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";

const [token, exported] = process.argv.slice(2);

// The calls are made inside a Worker, so that errors and meta are those of the binding.
const harness = `
function envelope(status, errors, result) {
  return Response.json({ result, success: errors.length === 0, errors, messages: [] }, { status });
}
async function api(request, env) {
  if (request.headers.get("Authorization") !== "Bearer " + env.TOKEN) {
    return envelope(401, [{ code: 10000, message: "Authentication error" }], null);
  }
  const { pathname } = new URL(request.url);
  if (pathname !== "/client/v4/accounts/account/d1/database/catalogue/query" || request.method !== "POST") {
    return envelope(404, [{ code: 7404, message: "The database was not found" }], null);
  }
  const { batch, sql, params } = await request.json();
  try {
    const prepared = (batch ?? [{ sql, params }]).map((one) => env.DB.prepare(one.sql).bind(...(one.params ?? [])));
    const done = await env.DB.batch(prepared);
    return envelope(200, [], done.map(({ results, meta }) => ({ success: true, results, meta })));
  } catch (problem) {
    const message = String(problem.message ?? problem).replace(/^D1_ERROR: /, "");
    return envelope(400, [{ code: 7500, message }], []);
  }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname.startsWith("/client/v4/")) {
      return api(request, env);
    }
    const { sql, params, batch, each } = await request.json();
    try {
      if (each) {
        const statement = env.DB.prepare(sql);
        return Response.json({ ok: true, each: await env.DB.batch(each.map((one) => statement.bind(...one))) });
      }
      if (batch) {
        const done = await env.DB.batch(batch.map((one) => env.DB.prepare(one)));
        return Response.json({ ok: true, rows_written: done.reduce((sum, one) => sum + one.meta.rows_written, 0) });
      }
      const { results, meta } = await env.DB.prepare(sql).bind(...(params ?? [])).all();
      return Response.json({ ok: true, results, meta });
    } catch (problem) {
      return Response.json({ ok: false, error: String(problem.message ?? problem) });
    }
  },
};`;

const shared = { modules: true, d1Databases: { DB: "catalogue" }, compatibilityDate: "2026-04-01" };
const served = token ? { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] } : {};
const workers = [{ ...shared, ...served, name: "harness", script: harness, bindings: { TOKEN: token ?? "" } }];
if (exported) {
  workers.push({ ...shared, ...served, name: "exported", script: readFileSync(exported, "utf8") });
}
const miniflare = new Miniflare({ workers });
try {
  await miniflare.ready;
  if (token) {
    const api = new URL("/client/v4", await miniflare.unsafeGetDirectURL("harness"));
    const worker = exported ? await miniflare.unsafeGetDirectURL("exported") : null;
    process.stdout.write(JSON.stringify({ api, worker }) + "\n");
  }
  for await (const body of createInterface({ input: process.stdin })) {
    const answer = await miniflare.dispatchFetch("http://harness/", { method: "POST", body });
    process.stdout.write((await answer.text()) + "\n");
  }
} finally {
  await miniflare.dispose();
}
