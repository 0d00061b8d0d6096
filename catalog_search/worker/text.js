// Text ----------------------------------------------------------------------------------------------------------

// What Python's str.split takes for a blank.
const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANKS = new RegExp(`[${BLANK}]+`);
const IS_BLANK = new RegExp(`[${BLANK}]`);
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const SPECIAL = /([\\`*_[\]<>#|~&])/g;
const QUOTED = /^["'“”‘’«»()[\]{}.,;:!?¿¡…]+|["'“”‘’«»()[\]{}.,;:!?¿¡…]+$/g;

// Without blanks at either end; a loop, since a pattern would look at a run of blanks once for each of them.
function stripped(text) {
  let start = 0;
  let end = text.length;
  while (start < end && IS_BLANK.test(text[start])) {
    start++;
  }
  while (end > start && IS_BLANK.test(text[end - 1])) {
    end--;
  }
  return text.slice(start, end);
}

function withoutLastLineEnds(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") {
    end--;
  }
  return text.slice(0, end);
}

function oneLine(text) {
  return text.replace(CONTROLS, " ").split(BLANKS).filter(Boolean).join(" ");
}

// Text as one line of Markdown that shows it as it is; a web address stays one.
function escaped(text) {
  const line = oneLine(text);
  return /^https?:\/\/[^ <>]+$/.test(line) ? `<${line}>` : line.replace(SPECIAL, "\\$1");
}

// Text as a code span of Markdown, to be copied as it is.
function code(text) {
  const line = oneLine(text);
  const fence = "`".repeat(1 + longestRun(line, /`+/g, 0));
  return fence.length > 1 ? `${fence} ${line} ${fence}` : `\`${line}\``;
}

function longestRun(text, runs, least) {
  let longest = least;
  for (const [run] of text.matchAll(runs)) {
    longest = Math.max(longest, run.length);
  }
  return longest;
}

// The first so many characters of a text, with dots if there are more.
function shortened(text, most, dotsBeside = false) {
  const signs = [...text.slice(0, 2 * most + 2)];
  if (signs.length <= most) {
    return text;
  }
  return `${signs.slice(0, dotsBeside ? most : most - 1).join("")}…`;
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
  return spaced(json);
}

// JSON text with a blank after each comma and colon, as Python writes it.
function spaced(json) {
  return json.match(TOKENS).map((token) => {
    if (token.startsWith('"')) {
      return JSON.stringify(JSON.parse(token));
    }
    return token === "," || token === ":" ? `${token} ` : token;
  }).join("");
}

function spacedJson(value) {
  return spaced(JSON.stringify(value));
}
