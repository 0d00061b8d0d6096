// A call in any shape → the call that was meant -----------------------------------------------------------------
//
// The rules are those of catalog_search/server/calls.py, which says them; the tables are in ABOUT.

const DEEPEST = 6;
const LONGEST_KEY = 60;
const KEYS_NAMED = 8;
const LONGEST_EXAMPLE = 200;

// {tool, arguments, usable, remarks}: arguments by canonical keys, remarks as [kind, values].
function readCall(name, given) {
  const shape = toolOf(name, given);
  const remarks = [];
  if (typeof name !== "string" || stripped(name) === "") {
    remarks.push(["nameless", { tool: shape.tool }]);
  } else if (name !== shape.tool) {
    remarks.push(["tool", { asked: shown(name), tool: shape.tool }]);
  }
  const found = mainOf(shape, given);
  if (found === null) {
    remarks.push(["missing", { key: shape.main }], ...leftover(shape, given, new Set(), null));
    return { shape, arguments: {}, usable: false, remarks };
  }
  const read = { [shape.main]: found.text };
  remarks.push(...saidOfMain(shape, given, found));
  const places = [...found.places.toReversed(), given].filter(isObject);
  const used = new Set(found.path);
  for (const [key, schema] of Object.entries(shape.hidden)) {
    option(shape, key, schema, places, read, used, remarks);
  }
  remarks.push(...leftover(shape, given, used, found));
  return { shape, arguments: read, usable: true, remarks };
}

// How the call is written rightly: the tool, and arguments as JSON.
function canonical({ shape, arguments: read, usable }) {
  const own = usable ? { [shape.main]: read[shape.main] } : shape.example;
  for (const one of [own, shape.example, { [shape.main]: "…" }]) {
    const text = spacedJson(one);
    if (Object.keys(one).length && [...text].length <= LONGEST_EXAMPLE) {
      return `${shape.tool} ${text}`;
    }
  }
  return `${shape.tool} {}`;
}

// The tool

function toolOf(name, given) {
  const { shapes, keys: aliases } = ABOUT;
  const offered = shapes.find((shape) => shape.tool === name);
  if (offered) {
    return offered;
  }
  const found = typeof name === "string" ? byName(name) : null;
  const keys = new Set(isObject(given) ? Object.keys(given) : []);
  if (found === null) {
    return shapes.find((shape) => [shape.main, ...aliases[shape.main]].some((key) => keys.has(key))) ?? shapes[0];
  }
  if (keys.size && ![found.main, ...aliases[found.main]].some((key) => keys.has(key))) {
    return shapes.find((shape) => keys.has(shape.main)) ?? found;
  }
  return found;
}

function byName(name) {
  const { shapes, toolNames, verbs } = ABOUT;
  const knownNames = new Map();
  const add = (words, shape) => knownNames.has(words) || knownNames.set(words, shape);
  shapes.forEach((shape) => add(wordsOf(shape.tool).join("_"), shape));
  shapes.forEach((shape) => toolNames[shape.tool].forEach((alias) => add(wordsOf(alias).join("_"), shape)));
  const start = [...name].slice(0, 1_000).join("");
  const part = partsOf(start).find((one) => knownNames.has(one));
  if (part !== undefined) {
    return knownNames.get(part);
  }
  for (const word of wordsOf(start)) {
    const shape = shapes.find(({ main }) => verbs[main].includes(word));
    if (shape) {
      return shape;
    }
  }
  return null;
}

// What may be the tool's own name in one that has others around it: prefixes of hosts, numbers.
function partsOf(name) {
  const found = [wordsOf(name).join("_")];
  found.push(...name.split(/__|[.:/]/).toReversed().map((segment) => wordsOf(segment).join("_")));
  const words = wordsOf(name).slice(-8);
  for (let start = 1; start < words.length; start++) {
    found.push(words.slice(start).join("_"));
  }
  for (let end = words.length - 1; end > 0; end--) {
    found.push(words.slice(0, end).join("_"));
  }
  return found;
}

// The words of a name in any of the usual spellings.
function wordsOf(name) {
  const words = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\p{Nd}+|(?:(?![a-zA-Z\p{Nd}])[\p{L}\p{N}])+/gu;
  return (name.match(words) ?? []).map((word) => word.toLowerCase());
}

// The main argument: {text, path, places}; path are the keys that lead to it, places the objects on the way.

function mainOf(shape, given) {
  const text = isObject(given) && Object.hasOwn(given, shape.main) ? given[shape.main] : null;
  if (typeof text === "string" && stripped(text) !== "") {
    const inner = decoded(stripped(text));
    if (isObject(inner) || (Array.isArray(inner) && !shape.literal)) {
      const found = dig(inner, shape, 1);
      if (found !== null) {
        return { text: found.text, path: [shape.main, ...found.path], places: [given, ...found.places] };
      }
    }
    return { text, path: [shape.main], places: [given] };
  }
  return dig(given, shape, 0);
}

function dig(value, shape, depth, lone = true) {
  if (depth > DEEPEST) {
    return null;
  }
  if (typeof value === "string") {
    const text = stripped(value);
    const inner = decoded(text);
    if (inner !== null) {
      return dig(inner, shape, depth + 1, lone);
    }
    // What begins as JSON and is none was cut off: nobody asks for its brackets.
    return text !== "" && !"{[".includes(text[0]) ? { text, path: [], places: [] } : null;
  }
  if (typeof value === "number") {
    return { text: String(value), path: [], places: [] };
  }
  if (Array.isArray(value)) {
    const found = value.slice(0, 100).map((item) => dig(item, shape, depth + 1)).filter((one) => one !== null);
    if (shape.literal || found.length < 2) {
      return found[0] ?? null;
    }
    return { text: found.map(({ text }) => text).join(" "), path: [], places: [] };
  }
  return isObject(value) ? digObject(value, shape, depth, lone) : null;
}

function digObject(value, shape, depth, lone) {
  const under = (key, alone) => {
    const found = dig(value[key], shape, depth + 1, alone);
    return found && { text: found.text, path: [key, ...found.path], places: [value, ...found.places] };
  };
  for (const key of keysFor(shape.main, value)) {
    const found = under(key, true);
    if (found) {
      return found;
    }
  }
  const { wrappers } = ABOUT;
  const inner = wrappers.filter((key) => Object.hasOwn(value, key));
  inner.push(...Object.keys(value).filter((key) => !inner.includes(key) && !ofKind(key)).sort(byCodePoint));
  for (const key of inner) {
    const one = value[key];
    const wrapper = wrappers.includes(key);
    if (wrapper || (typeof one === "object" && one !== null) || typeof (decoded(one) ?? 0) === "object") {
      const found = under(key, wrapper);
      if (found) {
        return found;
      }
    }
  }
  if (!lone) {
    return null;
  }
  const texts = Object.keys(value).filter((key) => {
    return typeof value[key] === "string" && stripped(value[key]) !== "" && !ofKind(key);
  });
  return texts.length === 1 ? under(texts[0], true) : null;
}

// The keys of an object that name an argument, the surest first.
function keysFor(main, value) {
  const names = [main, ...(ABOUT.keys[main] ?? [])];
  const found = names.filter((name) => Object.hasOwn(value, name));
  const spelled = new Map(Object.keys(value).sort(byCodePoint).map((key) => [wordsOf(key).join(""), key]));
  for (const name of names) {
    const key = spelled.get(wordsOf(name).join(""));
    if (key !== undefined && !names.includes(key)) {
      found.push(key);
    }
  }
  return found;
}

function ofKind(key) {
  const words = wordsOf(key);
  return words.some((word) => ABOUT.kinds.includes(word)) || ABOUT.kinds.includes(words.join(""));
}

// The JSON inside a text: an object, a list, a text in quotes; null if it is a text like any other.
function decoded(text) {
  if (typeof text !== "string" || text === "" || !'{["'.includes(text[0])) {
    return null;
  }
  for (const candidate of [text, `{${text}}`]) {
    const found = parsed(candidate);
    if (typeof found === "string" || (typeof found === "object" && found !== null)) {
      return found;
    }
  }
  return null;
}

function saidOfMain(shape, given, { text, path }) {
  if (!isObject(given)) {
    return [["shape", { key: shape.main, tool: shape.tool }]];
  }
  if (path.length !== 1 || path[0] !== shape.main) {
    return [["key", { asked: shown(path.join(".")), key: shape.main, tool: shape.tool }]];
  }
  return given[shape.main] === text ? [] : [["value", { key: shape.main, value: shown(text), tool: shape.tool }]];
}

// The optional arguments, none of which a schema names

function option(shape, key, schema, places, read, used, remarks) {
  const taken = [shape.main, ...Object.keys(shape.hidden)].filter((one) => one !== key);
  for (const place of places) {
    for (const name of keysFor(key, place)) {
      if (used.has(name) || taken.includes(name)) {
        continue;
      }
      const value = fitted(place[name], schema);
      if (value === null) {
        if (place[name] === null) {
          used.add(name); // clients send null for what they leave out
        }
        continue;
      }
      used.add(name);
      read[key] = value;
      const said = shown(typeof value === "string" ? value : spacedJson(value));
      remarks.push(["hidden", { asked: shown(name), key, value: said, tool: shape.tool }]);
      return;
    }
  }
}

// A value as a schema has it, within its bounds; null if it cannot be made so.
function fitted(value, schema) {
  if (schema.type === "array") {
    const inner = typeof value === "string" ? decoded(stripped(value)) ?? value : value;
    const known = schema.items?.enum;
    let items = (Array.isArray(inner) ? inner : [inner]).map((item) => fitted(item, schema.items ?? {}));
    items = known ? items.filter((item) => known.includes(item)) : items;
    return items.length && !items.includes(null) ? items : null;
  }
  if (schema.type === "string") {
    const alone = Array.isArray(value) && value.length === 1 ? value[0] : value;
    const text = typeof alone === "number" ? String(alone) : alone;
    return typeof text === "string" && stripped(text) !== "" ? text : null;
  }
  const number = typeof value === "string" && /^\s*-?\d{1,15}\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || Math.abs(number) >= 1e15) {
    return null;
  }
  return Math.max(Math.min(number, schema.maximum ?? number), schema.minimum ?? number);
}

// What is left over

function leftover(shape, given, used, found) {
  const keys = [given, ...(found?.places ?? [])].filter(isObject).flatMap((one) => Object.keys(one));
  const ignored = [...new Set(keys)].filter((key) => !used.has(key) && (found || key !== shape.main));
  return ignored.length ? [["ignored", { keys: shownKeys(ignored), tool: shape.tool }]] : [];
}

function shownKeys(keys) {
  return [...keys.slice(0, KEYS_NAMED).map(shown), ...(keys.length > KEYS_NAMED ? ["…"] : [])].join(", ");
}

// A caller's word on one line and not too long, to be repeated to them.
function shown(text) {
  const start = [...text].slice(0, 4 * LONGEST_KEY).join("");
  const line = [...start.replace(/[\p{C}\p{Z}]/gu, " ").split(BLANKS).filter(Boolean).join(" ")];
  return line.length <= LONGEST_KEY ? line.join("") : `${line.slice(0, LONGEST_KEY).join("")}…`;
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
