/** Which JSON texts have one reading, told by `JSON.parse` and the text itself. */

const NESTING_MAX = 128;

/** Member names of each object in a text that is JSON, by the text alone: objects are told from arrays by what opens them. */
function hasTwice(text: string): boolean {
  const open: (Set<string> | null)[] = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:[ \n\r\t]*:)?|[{}[\]]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const name: string = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1));
      const names = open.at(-1);
      if (names?.has(name)) return true;
      names?.add(name);
    }
  }
  return false;
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** One JSON text without a member that is there twice, without lone surrogates, nested no deeper than the product reads. */
export function isOneJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return !hasTwice(text) && isWellFormed(value) && depthOf(value) <= NESTING_MAX;
  } catch {
    return false;
  }
}
