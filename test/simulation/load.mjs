/**
 * How the product's code gets into a simulation: as it is, with a stand-in for the runtime's own module. A mutant, or a later build, is the
 * same code with some texts replaced by others as they are read; the whole product is then loaded once more, under that name.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

const STAND_IN = new URL("world/cloudflare.ts", import.meta.url).href;
const ROOT = new URL("../../", import.meta.url).href;
const MUTABLE = [`${ROOT}src/`, new URL("world/deployment.ts", import.meta.url).href];

/** By name: which file, and which texts of it stand for which others. */
const mutants = new Map();

export function prepareMutant(mutant) {
  mutants.set(mutant.name, mutant);
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "cloudflare:workers") return { url: STAND_IN, shortCircuit: true };
    const found = next(specifier, context);
    const name = mutantIn(context.parentURL ?? "");
    const isMutable = MUTABLE.some((beginning) => found.url.startsWith(beginning));
    if (name === null || !isMutable || mutantIn(found.url) !== null) return found;
    return { ...found, url: `${found.url}?mutant=${encodeURIComponent(name)}` };
  },
  load(url, context, next) {
    const name = mutantIn(url);
    if (name === null) return next(url, context);
    const [plain = ""] = url.split("?");
    const path = fileURLToPath(plain).slice(fileURLToPath(ROOT).length);
    return {
      format: "module-typescript",
      source: mutate(name, path, readFileSync(fileURLToPath(plain), "utf8")),
      shortCircuit: true,
    };
  },
});

function mutantIn(url) {
  const [, name] = /\?mutant=([^&]*)/.exec(url) ?? [];
  return name === undefined ? null : decodeURIComponent(name);
}

/** A text that is not there exactly once is an error: the code has changed and the mutant has to follow. */
function mutate(name, path, source) {
  const mutant = mutants.get(name);
  let changed = source;
  for (const { file, from, to } of mutant?.changes ?? []) {
    if (file !== path) continue;
    if (changed.split(from).length !== 2)
      throw new Error(`mutant "${name}": ${file} has this text not once: ${from}`);
    changed = changed.replace(from, () => to);
  }
  return changed;
}
