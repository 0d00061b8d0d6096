// A local Cloudflare D1, workerd's own, over JSON lines on stdin and stdout:
//
//     node d1.mjs
//     {"sql": "SELECT ?1", "params": ["a"]}   →   {"ok": true, "results": [{"?1": "a"}], "meta": {"rows_read": …}}
//     {"batch": ["CREATE TABLE …", "INSERT …"]}   →   {"ok": true, "rows_written": …}     (one transaction)
//
// A statement that D1 refuses gives {"ok": false, "error": its message}. Nothing is kept when it ends.

import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";

// The calls are made inside a Worker, so that errors and meta are those of the binding.
const worker = `
export default {
  async fetch(request, env) {
    const { sql, params, batch } = await request.json();
    try {
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
const miniflare = new Miniflare({
  modules: true,
  script: worker,
  d1Databases: { DB: "catalogue" },
  compatibilityDate: "2026-04-01",
});
try {
  await miniflare.ready;
  for await (const body of createInterface({ input: process.stdin })) {
    const answer = await miniflare.dispatchFetch("http://worker/", { method: "POST", body });
    process.stdout.write((await answer.text()) + "\n");
  }
} finally {
  await miniflare.dispose();
}
