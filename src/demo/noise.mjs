/** Which of wrangler's lines say something to somebody who only wants a gateway. */

/** wrangler's own talk at a start and its line per request; whatever the Worker or an error says is none of these. */
const NOISE = [
  /^\s*$/,
  /^\[wrangler:info\] /,
  /^\s*⎔ /,
  /^Using (secrets|vars) defined in /,
  /^Your Worker has access to the following bindings:/,
  /^Binding\s+Resource(\s+Mode)?\s*$/,
  /^env\.\w+ \(.*\)\s+\S.*\slocal( \[(not )?connected\])?\s*$/,
  /^env\.\w+\s+Worker Version Metadata\s/,
  /^Service bindings, Durable Object bindings, and Tail consumers connect to other /,
  /Scheduled Workers are not automatically triggered/,
  /^\s*To manually trigger a scheduled event, run:/,
  /^\s*curl "http:\/\/[^"]*\/cdn-cgi\/local\/scheduled"/,
  /^\s*For more details, see https:\/\/developers\.cloudflare\.com\/workers\/configuration\/cron-triggers\//,
  /^\s*Resource location: /,
  /^\s*Use --remote if you want to access the remote instance/,
  /^\s*If you think this is a bug,? /,
];

/**
 * @param {string} line without colours and without its end
 * @returns {boolean} true when nobody misses it
 */
export function isNoise(line) {
  return NOISE.some((pattern) => pattern.test(line));
}

/**
 * The lines of a text that are no noise.
 *
 * @param {string} text
 * @returns {string} without an end of line at its end
 */
export function dropNoise(text) {
  return text
    .split(/\r?\n/)
    .filter((line) => !isNoise(line))
    .join("\n");
}
