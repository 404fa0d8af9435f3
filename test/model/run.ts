/** The property that every machine is held to. */
import * as fc from "fast-check";
import { commandsArb, type Model, termsArb } from "./commands.ts";
import type { Step } from "./history.ts";
import { type Judging, World } from "./world.ts";

const COMMANDS_MAX = 60;
const CASE = fc.tuple(termsArb, termsArb).chain((terms) => commandsArb(terms, COMMANDS_MAX));

/**
 * Up to 60 commands on one key, then the end of all faults. Throws a `Violation` at the first thing that the
 * rules forbid. `watch` sees each world at its end.
 */
export function check(
  step: Step,
  judging: Judging,
  watch: (world: World) => void,
): fc.IPropertyWithHooks<[Iterable<fc.Command<Model, World>>]> {
  return fc.property(CASE, (commands) => {
    const world = new World(step, judging);
    fc.modelRun(() => ({ model: {}, real: world }), commands);
    if (judging.by === "all") world.heal();
    watch(world);
  });
}
