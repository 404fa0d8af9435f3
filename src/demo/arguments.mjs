/** The few arguments of `wrangler dev` that a start has to know of; all of them reach wrangler as they were given. */

/**
 * The value of `--name value` or `--name=value`, the last one winning.
 *
 * @param {readonly string[]} args
 * @param {readonly string[]} names with their dashes, e.g. `["--persist-to", "--persistTo"]`
 * @returns {string | null}
 */
export function readOption(args, names) {
  let value = null;
  for (const [index, arg] of args.entries()) {
    const [name, inline] = splitOnce(arg, "=");
    if (!names.includes(name)) continue;
    value = inline ?? args[index + 1] ?? null;
  }
  return value;
}

/**
 * The value of a Worker variable given as `--var NAME:value` (one `--var` may be followed by several).
 *
 * @param {readonly string[]} args
 * @param {string} name
 * @returns {string | null}
 */
export function readVar(args, name) {
  let value = null;
  let inVars = false;
  for (const arg of args) {
    const [option, inline] = splitOnce(arg, "=");
    if (arg.startsWith("-")) inVars = option === "--var";
    const text = arg.startsWith("-") ? inline : arg;
    if (!inVars || text === null) continue;
    const [key, given] = splitOnce(text, ":");
    if (key === name) value = given ?? "";
  }
  return value;
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + separator.length)];
}
