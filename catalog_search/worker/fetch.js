// fetch ---------------------------------------------------------------------------------------------------------

const PROVENANCE = ["publisher", "licence", "source_url", "revision", "retrieved_at"];
const LONGEST_ID = 100;
const LONGEST_VALUE = 2_000;
const LONGEST_FIELDS = 10_000;
const MOST_SCANNED = 20_000;
// UTF-8 of a document's text in one part.
const PART_BYTES = 40_000;

// What fetch answers: its members, as [name, JSON text].
async function fetched(env, { id, from_line: line = 1 }) {
  const { catalog, sql, say } = await known(env);
  const found = await place(env, id, line, catalog, sql);
  if (!found) {
    throw new Refused(await notFound(env, id, sql, say));
  }
  const { row } = found;
  const part = partOf(row.text, found.line, found.character);
  if (part === null) {
    throw new Refused(told("ends_before", { id: shortened(row.id, LONGEST_TITLE, true), line: found.line }));
  }
  const provenance = new Map([["catalog", catalog.get("title")]]);
  for (const name of PROVENANCE.filter((name) => catalog.get(name))) {
    provenance.set(name, catalog.get(name));
  }
  row.title = shortened(row.title, LONGEST_TITLE, true);
  const { keywords, fields, cut } = shortenedFields(row);
  const metadata = new Map(keywords.length ? [["keywords", keywords.join("; ")]] : []);
  for (const name of ["path", "heading", "first_line", "last_line"].filter((name) => row[name] !== null)) {
    metadata.set(name, String(row[name]));
  }
  for (const [name, value] of fields) {
    if (value === "null") {
      metadata.delete(name);
    } else {
      metadata.set(name, plainly(value));
    }
  }
  // Provenance is the maintainer's word; a column of the source of the same name stays in the text.
  for (const [name, value] of provenance) {
    metadata.set(name, value);
  }
  metadata.set("untrusted", "true");
  let text = markdown(row, part.text, keywords, fields, provenance, say);
  if (!part.whole) {
    const [first, last, lines] = [part.first, part.last, part.lines].map((one) => one.toLocaleString("en-US"));
    text += `\nlines ${first}–${last} of ${lines}`;
  }
  if (part.next) {
    const next = `${row.id}#${part.next}`;
    metadata.set("next", next);
    text += `; continues: fetch ${code(next)}`;
  }
  return [
    ["id", JSON.stringify(row.id)],
    ["title", JSON.stringify(row.title)],
    ["text", JSON.stringify(text)],
    ["url", JSON.stringify(webAddress(row.url))],
    ["metadata", object([...metadata].map(([name, value]) => [name, JSON.stringify(value)]))],
    ...(cut.length ? [["notes", JSON.stringify([told("shortened", { fields: shownKeys(cut) })])]] : []),
  ];
}

// Keywords and fields without what is too long to be read beside the text, and the names of what was cut.
function shortenedFields(row) {
  const cut = [];
  let keywords = membersOf(row.keywords).map(([, word]) => JSON.parse(word));
  const joined = shortened(keywords.join("; "), LONGEST_VALUE, true);
  if (keywords.length && joined.endsWith("…")) {
    keywords = [joined];
    cut.push("keywords");
  }
  const fields = [];
  let left = LONGEST_FIELDS;
  for (const [name, value] of membersOf(row.metadata)) {
    const text = plainly(value);
    const kept = shortened(text, LONGEST_VALUE, true);
    left -= [...name].length + [...kept].length;
    if (left >= 0) {
      fields.push([name, kept === text ? value : JSON.stringify(kept)]);
    }
    if (left < 0 || kept !== text) {
      cut.push(name);
    }
  }
  return { keywords, fields, cut };
}

// The document that an id means, and the line and character at which it is to be read. What search returned comes
// first, then the same behind the catalogue's name, then a document's url; then each as that of a part, ID#L401 or
// ID#L1C40001.
async function place(env, id, line, catalog, sql) {
  const part = /^(.+)#L([1-9]\d{0,8})(?:C([1-9]\d{0,8}))?$/s.exec(id);
  const tries = [{ id, line, character: 1 }];
  if (part) {
    tries.push({ id: part[1], line: Number(part[2]), character: Number(part[3] ?? 1) });
  }
  const name = `${catalog.get("name")}:`;
  for (const one of tries) {
    const readings = one.id.startsWith(name) ? [one.id, one.id.slice(name.length)] : [one.id];
    const rows = await all(env, readings.map((reading) => [sql("document_by_id"), reading]));
    const row = rows.flat()[0] ?? (await byUrl(env, one.id, catalog, sql));
    if (row) {
      return { ...one, row };
    }
  }
  return null;
}

// The document that has a url, if there is one and no other. It is looked for from the first to the last, and D1 bills
// each, so that a large catalogue has its documents by id alone.
async function byUrl(env, url, catalog, sql) {
  if (!/^https?:\/\//.test(url) || Number(catalog.get("documents")) > MOST_SCANNED) {
    return undefined;
  }
  const [found] = await all(env, [["SELECT id FROM documents WHERE url = ?1 LIMIT 2", url]]);
  return found.length === 1 ? (await all(env, [[sql("document_by_id"), found[0].id]]))[0][0] : undefined;
}

async function notFound(env, id, sql, say) {
  const [[{ plain }]] = await all(env, [[sql("ask_terms"), id]]);
  const [near] = await all(env, [[sql("nearest_ids"), id, plain]]);
  const found = near.map((one) => one.id).join(", ");
  const missing = say("not_found", { id: shortened(id, LONGEST_ID, true) });
  return found ? `${missing} ${say("nearest_ids", { ids: found })}` : missing;
}

// The part of a text that begins at a line and a character of it, both counted from 1; null if it has no such line.
function partOf(whole, line, character) {
  const lines = whole.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
  if (lines.length > 1 && lines.at(-1) === "") {
    lines.pop();
  }
  const begin = line <= lines.length ? placeOf(lines[line - 1], character - 1) : -1;
  if (begin < 0) {
    return null;
  }
  const taken = [];
  const of = (last, next) => ({ text: taken.join("\n"), first: line, last, lines: lines.length, next, whole: false });
  let room = PART_BYTES;
  for (let number = line; number <= lines.length; number++) {
    const rest = number === line ? lines[number - 1].slice(begin) : lines[number - 1];
    const { units, characters, bytes } = startOf(rest, room);
    if (units < rest.length || bytes > room) {
      if (taken.length) {
        return of(number - 1, `L${number}`);
      }
      taken.push(rest.slice(0, units));
      return of(number, `L${number}C${(number === line ? character - 1 : 0) + characters + 1}`);
    }
    taken.push(rest);
    room -= bytes + 1;
  }
  return { ...of(lines.length, ""), whole: line === 1 && character === 1 };
}

// Where a text's character number so many stands, from 0; -1 if it has no such one.
function placeOf(text, characters) {
  let units = 0;
  for (let count = 0; count < characters; count++) {
    if (units >= text.length) {
      return -1;
    }
    units += text.codePointAt(units) > 0xffff ? 2 : 1;
  }
  return characters > 0 && units >= text.length ? -1 : units;
}

// How much of a text is within so many bytes of UTF-8.
function startOf(text, room) {
  let [units, characters, bytes] = [0, 0, 0];
  while (units < text.length) {
    const point = text.codePointAt(units);
    const size = point > 0xffff ? 4 : point > 0x7ff ? 3 : point > 0x7f ? 2 : 1;
    if (bytes + size > room) {
      break;
    }
    units += point > 0xffff ? 2 : 1;
    characters++;
    bytes += size;
  }
  return { units, characters, bytes };
}

// A document to be read: title, fields, text, source and url. What the catalogue says cannot end the Markdown around
// it: single lines are escaped, and the text stands in a fence longer than any in it.
function markdown(row, part, keywords, fields, provenance, say) {
  const lines = [`# ${escaped(row.title)}`, "", `- ${say("label_id")}: ${code(row.id)}`];
  if (keywords.length) {
    lines.push(`- ${say("label_keywords")}: ${escaped(keywords.join("; "))}`);
  }
  if (row.path) {
    lines.push(`- ${say("label_file")}: ${code(`${row.path}:${row.first_line}-${row.last_line}`)}`);
  }
  for (const [name, value] of fields) {
    lines.push(`- ${escaped(name)}: ${escaped(plainly(value))}`);
  }
  if (stripped(part) !== "") {
    const text = part.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replace(CONTROLS, " ");
    const fence = "`".repeat(1 + longestRun(text, /`{3,}/g, 2));
    lines.push("", `${fence}text`, withoutLastLineEnds(text), fence, "");
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
