// The database --------------------------------------------------------------------------------------------------

// A database that this Worker cannot use.
class Unfit extends Error {}

// Milliseconds for which the sentences and statements of the database are kept.
const KNOWN_FOR = 60_000;

let kept = { at: -Infinity, from: null, value: null };

// What the database says of itself: the catalogue, its statements, its sentences and the rules of its language.
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
      [ABOUT.indexed],
    ]);
  } catch (problem) {
    if (/no such table: documents_fts/.test(String(problem))) {
      throw new Unfit("its full-text index is missing; load the rest of seed.sql, or seed.index.sql after seed.data.sql");
    }
    if (/no such (table|column)/.test(String(problem))) {
      console.error(String(problem));
      throw new Unfit("it holds no catalogue; load seed.sql into it");
    }
    throw problem;
  }
  const [catalog, statements, sentences, spellings] = rows.slice(0, 4).map((ones) => {
    return new Map(ones.map((one) => Object.values(one)));
  });
  if (catalog.get("format_version") !== ABOUT.formatVersion) {
    throw new Unfit("it has another format version than this Worker; export the catalogue anew");
  }
  // An index that was never filled finds nothing, which would look like an answer.
  if (!rows[5][0].indexed) {
    throw new Unfit("its full-text index is empty; load the rest of seed.sql, or seed.index.sql after seed.data.sql");
  }
  const value = {
    catalog,
    sql: (name) => statements.get(name),
    say: (key, values = {}) => filled(sentences.get(key), values),
    spellings,
    rules: rows[4],
  };
  kept = { at: now, from: env.DB, value };
  return value;
}

// The rows of several statements, in one call, from the nearest copy of the database.
async function all(env, statements) {
  const session = env.DB.withSession("first-unconstrained");
  const prepared = statements.map(([sql, ...parameters]) => session.prepare(sql).bind(...parameters));
  return (await session.batch(prepared)).map((one) => one.results);
}
