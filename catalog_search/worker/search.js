// search --------------------------------------------------------------------------------------------------------

const MAX_CHARACTERS = 1_000;
const MAX_WORDS = 64;
const LONGEST_TITLE = 500;
const LONGEST_SHOWN = 60;
const NAMED = 8;
const PAGE = 10;

// What search answers: its members, as [name, JSON text].
async function search(env, { query, limit = PAGE, offset = 0 }) {
  const { catalog, sql, say, ...language } = await known(env);
  const { raw, cuts } = cut(query);
  const notes = cuts.map((key) => say(key, { limit: MAX_CHARACTERS }));
  if (stripped(raw) === "") {
    return [["results", "[]"], ["notes", JSON.stringify([...notes, say("empty_query")])]];
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
      notes.push(say("no_match", { question: shortened(stripped(raw), LONGEST_SHOWN) }));
    }
    const nowhere = lacking("");
    if (nowhere.length) {
      notes.push(say("unknown_words", { words: named(nowhere, say) }));
    }
  }
  if (offset >= PAGE && rows.length === PAGE) {
    notes.push(told("first_only", { limit: PAGE }));
  }
  const results = rows.slice(offset, offset + limit).map(({ id, title, url }) => ({
    id,
    title: shortened(title, LONGEST_TITLE, true),
    url: webAddress(url),
  }));
  const members = [["results", JSON.stringify(results)]];
  if (relaxed) {
    members.push(["relaxed", "true"]);
  }
  if (notes.length) {
    members.push(["notes", JSON.stringify([...new Set(notes)])]);
  }
  return members;
}

// An address that a reader can open, "" for any other.
function webAddress(url) {
  return /^https?:\/\/[^\s/?#]+\S*$/i.test(url) ? url : "";
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
  const names = words.slice(0, NAMED).map((word) => `“${shortened(word, LONGEST_SHOWN)}”`);
  return listing(words.length > NAMED ? [...names, "…"] : names, say("list_and"));
}
