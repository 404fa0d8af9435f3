/** The secrets of a local run. A deployed gateway gets its own with `wrangler secret put`. */
import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";

/**
 * Writes random secrets for a local run, readable by this user only. A file that exists is never touched.
 *
 * @param {string} path where `.dev.vars` belongs
 * @returns {Promise<"created" | "kept">}
 */
export async function ensureDevVars(path) {
  try {
    await writeFile(path, makeDevVars(), { flag: "wx", mode: 0o600 });
    return "created";
  } catch (error) {
    if (error.code === "EEXIST") return "kept";
    throw error;
  }
}

function makeDevVars() {
  const people = ["op1", "op2"].map((id) => ({ id, secret: randomBytes(32).toString("base64url") }));
  const operators = people.map(({ id, secret }) => {
    const sha256 = createHash("sha256").update(secret).digest("hex");
    return { id, sha256, roles: ["read", "resolve"] };
  });
  return `# Random secrets of this machine, for local runs only. Delete the file to get new ones: answers and keys stored
# under the old ones can then no longer be found or read.
NAMING_KEY="${makeKey()}"
SEALING_KEY="${makeKey()}"
ORIGIN_EVIDENCE_KEY="${makeKey()}"
# The tokens of two operators, in the clear, since resolving an unknown outcome takes two:
${people.map(({ id, secret }) => `#   Authorization: Bearer ${id}.${secret}`).join("\n")}
OPERATOR_TOKENS='${JSON.stringify(operators)}'
`;
}

const makeKey = () => randomBytes(32).toString("base64");
