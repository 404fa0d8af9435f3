/** The few arguments of `wrangler dev` that a start has to know of; all of them reach wrangler as they were given. */

export const PORT_MAX = 65_535;

/** Options that mean nothing without a value. */
const WITH_VALUE = [
  "--port",
  "--ip",
  "--persist-to",
  "--persistTo",
  "--var",
  "--config",
  "-c",
  "--env-file",
  "--local-protocol",
  "--log-level",
];

/** Options that npm takes for its own when no `--` stands before them, as npm names them in the environment. */
const KEPT_BY_NPM = ["port", "ip", "persist_to", "var"];

/**
 * The value of `--name value` or `--name=value`, the last one winning.
 *
 * @param {readonly string[]} args
 * @param {readonly string[]} names with their dashes, e.g. `["--persist-to", "--persistTo"]`
 * @returns {string | null}
 */
export function readOption(args, names) {
  return readOptions(args, names).at(-1) ?? null;
}

/**
 * Every value of an option that may be given several times, in order.
 *
 * @param {readonly string[]} args
 * @param {readonly string[]} names with their dashes
 * @returns {string[]}
 */
export function readOptions(args, names) {
  return args.flatMap((arg, index) => {
    const [name, inline] = splitOnce(arg, "=");
    if (!names.includes(name)) return [];
    const value = inline ?? args[index + 1];
    return value === undefined ? [] : [value];
  });
}

/**
 * The value of a Worker variable given as `--var NAME:value` (one `--var` may be followed by several).
 *
 * @param {readonly string[]} args
 * @param {string} name
 * @returns {string | null}
 */
export function readVar(args, name) {
  const given = listVars(args).map((text) => splitOnce(text, ":"));
  const found = given.findLast(([key]) => key === name);
  return found === undefined ? null : (found[1] ?? "");
}

function listVars(args) {
  let inVars = false;
  return args.flatMap((arg) => {
    const [option, inline] = splitOnce(arg, "=");
    if (arg.startsWith("-")) inVars = option === "--var";
    const text = arg.startsWith("-") ? inline : arg;
    return inVars && text !== null ? [text] : [];
  });
}

/**
 * What is wrong with the arguments, as one line for the person who gave them.
 *
 * @param {readonly string[]} args
 * @param {Readonly<Record<string, string | undefined>>} env npm leaves there what it kept for itself
 * @returns {string | null} null when nothing is
 */
export function findMistake(args, env) {
  const kept = findKept(args, env);
  if (kept !== null) return `Without -- before them npm keeps the arguments for itself: npm start -- ${kept}`;
  const bare = args.find((arg, index) => isBare(arg, args[index - 1]));
  if (bare !== undefined) return `${bare} stands there without its option: npm start -- --port ${bare}`;
  const empty = WITH_VALUE.find((name) => args.some((arg, index) => lacksValue(name, arg, args[index + 1])));
  if (empty === "--port") return "--port needs a value: npm start -- --port 8788";
  if (empty !== undefined) return `${empty} needs a value.`;
  const unnamed = listVars(args).find((text) => !/^[^=:\s]+:/.test(text));
  if (unnamed !== undefined) return `--var takes NAME:value, not ${unnamed}`;
  const port = readOption(args, ["--port"]);
  const isPort = port === null || (/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= PORT_MAX);
  return isPort ? null : `--port is a number from 1 to ${PORT_MAX}.`;
}

/** The arguments that npm kept, as they were meant. It leaves the value of `--port 8899` behind as a bare argument. */
function findKept(args, env) {
  if (env.npm_lifecycle_event === undefined) return null;
  const name = KEPT_BY_NPM.find((candidate) => env[`npm_config_${candidate}`] !== undefined);
  if (name === undefined) return null;
  const value = env[`npm_config_${name}`];
  const left = args.find((arg, index) => isLoose(arg, args[index - 1]));
  const option = `--${name.replaceAll("_", "-")}`;
  return `${option} ${value === "true" ? (left ?? "VALUE") : value}`;
}

const isLoose = (arg, before) => !arg.startsWith("-") && !(before ?? "").startsWith("-");

const isBare = (arg, before) => /^\d+$/.test(arg) && isLoose(arg, before);

function lacksValue(name, arg, next) {
  if (arg === `${name}=`) return true;
  return arg === name && (next === undefined || next === "" || next.startsWith("-"));
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + separator.length)];
}
