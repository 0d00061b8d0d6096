// Calls ---------------------------------------------------------------------------------------------------------

// An error whose message is for the caller.
class Refused extends Error {}

// The members of a result, as JSON text: the object, and the same as text in one block.
async function called({ name, arguments: given = null }, env) {
  const call = readCall(name, given);
  const warnings = call.remarks.map(([kind, values]) => told(`read_${kind}`, values));
  if (warnings.length) {
    warnings.push(told("canonical", { call: canonical(call) }));
  }
  try {
    let members = call.shape.blank;
    if (call.usable) {
      const answer = call.shape.tool === "search" ? search : fetched;
      members = await answer(env, call.arguments);
    }
    const found = object(warnings.length ? [...members, ["warnings", JSON.stringify(warnings)]] : members);
    return `"content":[{"type":"text","text":${JSON.stringify(found)}}],"structuredContent":${found},"isError":false`;
  } catch (problem) {
    const text = [problem instanceof Refused ? problem.message : failed(problem), ...warnings].join(" ");
    return inside({ content: [{ type: "text", text }], isError: true });
  }
}

// An object as JSON text, of members that are [name, JSON text].
function object(members) {
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

// A text of the contract, about tools and calls.
function told(key, values) {
  return filled(ABOUT.texts[key], values);
}

function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (found, name) => (Object.hasOwn(values, name) ? String(values[name]) : found));
}

// What to say of a fault that is not the caller's; the log has the rest.
function failed(problem) {
  if (problem instanceof Unfit) {
    return told("database_failed", { problem: problem.message });
  }
  console.error(String(problem?.stack ?? problem));
  return told("failed", {});
}
